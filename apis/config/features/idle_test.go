package features_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"switchyard.dev/apis/config/features"
)

// TestEveryGateIsReadOrSaysWhyNot looks for every gate in the code of the programs. A gate that a part reads and then forgets is
// for the part's own tests to find.
func TestEveryGateIsReadOrSaysWhyNot(t *testing.T) {
	read := map[string]string{}
	for _, dir := range []string{"admissioncheck", "apis", "cmd", "hub", "worker"} {
		gatesReadIn(t, filepath.Join("..", "..", "..", dir), read)
	}
	for _, name := range features.Names() {
		where, why := read[string(name)], features.Idle(name)
		switch {
		case where == "" && why == "":
			t.Errorf("%s is accepted, and nothing reads it", name)
		case where != "" && why != "":
			t.Errorf("%s is said to change nothing (%s), and %s reads it", name, why, where)
		}
	}
}

// gatesReadIn notes in which file each gate is read last, tests left out.
func gatesReadIn(t *testing.T, root string, read map[string]string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if from, ok := selector.X.(*ast.Ident); ok && from.Name == "features" {
					read[selector.Sel.Name] = path
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASetNamesTheGatesThatWereSetInVain(t *testing.T) {
	set, err := features.New(map[string]bool{
		"TASProfileMixed": false, "TASMultiLayerTopology": true, "PartialAdmission": false, "SchedulerLibraryIntegration": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Unheeded(), []features.Name{"SchedulerLibraryIntegration", "TASProfileMixed"}; !slices.Equal(got, want) {
		t.Errorf("set in vain are %v, want %v", got, want)
	}
}
