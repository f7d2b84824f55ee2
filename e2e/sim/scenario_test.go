package sim

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every testdata/*.txt is a story; its golden file is what happens. VIOLATION in a golden file is never right.
func TestScenarios(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range scripts {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			script, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Trace(RealParts(), string(script))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got, "VIOLATION") {
				t.Errorf("an invariant is broken:\n%s", got)
			}
			compareGolden(t, strings.TrimSuffix(path, ".txt")+".golden", got)
		})
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the story differs from its golden file (-want +got); after reading it, run with -update:\n%s", diff)
	}
}
