package all_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"switchyard.dev/worker/job/all"
)

var taken = regexp.MustCompile(`proven\((\w+)\.(\w*)Kind\(\), (\w+)\.(\w*)Examples\(\)\)`)

// A kind is taken up with its examples, without which the list does not compile. That they are put to the proof is seen here.
func TestEveryKindIsProvenByItsOwnExamples(t *testing.T) {
	list, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := taken.FindAllStringSubmatch(string(list), -1)
	if len(kinds) != len(all.Kinds()) {
		t.Fatalf("%d kinds are taken up as %q, of %d", len(kinds), taken, len(all.Kinds()))
	}
	for _, k := range kinds {
		if k[1] != k[3] || k[2] != k[4] {
			t.Errorf("%s is taken up with the examples of another", k[0])
		}
		verify := regexp.MustCompile(`jobtest\.Verify\(t, ` + k[1] + `\.` + k[2] + `Kind\(\), ` + k[1] + `\.` + k[2] + `Examples\(\)\)`)
		tests, err := filepath.Glob(filepath.Join("..", k[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tests, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && verify.Match(text)
		}) {
			t.Errorf("no test of %s calls %s", k[1], verify)
		}
	}
}

func TestEveryKindHasANameOfItsOwn(t *testing.T) {
	names, gvks := map[string]bool{}, map[string]bool{}
	for _, kind := range all.Kinds() {
		if names[kind.Name()] || gvks[kind.GVK().String()] {
			t.Errorf("%s (%s) is there twice", kind.Name(), kind.GVK())
		}
		names[kind.Name()], gvks[kind.GVK().String()] = true, true
	}
}
