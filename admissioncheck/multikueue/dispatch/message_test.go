package dispatch

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestALongMessageIsCutAtARune(t *testing.T) {
	for _, c := range []struct {
		name, message string
		whole         bool
	}{
		{"one that fits is left alone", strings.Repeat("a", messageLimit), true},
		{"one byte more is too long", strings.Repeat("a", messageLimit+1), false},
		{"runes are kept whole", "a" + strings.Repeat("é", messageLimit), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := truncate(c.message)
			if whole := got == c.message; whole != c.whole {
				t.Errorf("whole: %v", whole)
			}
			if len(got) > messageLimit || len(got) < messageLimit-len("é") || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
			}
			if !c.whole && !strings.HasSuffix(got, "...") {
				t.Error("does not say that it was cut")
			}
		})
	}
}

func TestAStateNamesEveryClusterItMentionsOnce(t *testing.T) {
	s := parseState(t, "epoch 3; bound w2; owed w1@1 w2@2")
	if got, want := s.Names(), []string{"w1", "w2"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
