package show

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADifferenceKeepsWhatIsCommon(t *testing.T) {
	got := Diff("a\nb\nc\nd\n", "a\nc\nx\nd\ne\n")
	if diff := cmp.Diff("  a\n- b\n  c\n+ x\n  d\n+ e\n", got); diff != "" {
		t.Error(diff)
	}
	if got := Diff("a\n", "a\n"); got != "" {
		t.Errorf("equal texts differ: %q", got)
	}
	if got := Diff("", "a\n"); got != "+ a\n" {
		t.Errorf("%q", got)
	}
}

func TestOnlyWhatIsSaidIsCompared(t *testing.T) {
	said := map[string]any{"list": []any{map[string]any{"name": "a"}}, "more": []any{"x"}, "new": "n"}
	there := map[string]any{
		"list": []any{map[string]any{"name": "b", "defaulted": true}}, "more": []any{"x", "y"}, "status": "s",
	}
	want := map[string]any{"list": []any{map[string]any{"name": "b"}}, "more": []any{"x", "y"}}
	if diff := cmp.Diff(any(want), ConditionText(said, there)); diff != "" {
		t.Error(diff)
	}
}
