package guide

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

var (
	quoted = regexp.MustCompile("`([^`\n]+)`")
	word   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	// goName is a name that only code has: a capital within, or a dot between words.
	goName = regexp.MustCompile(`^(?:[a-z]\w*\.)?[A-Za-z]\w*(?:\.[A-Za-z]\w*)*(?:\(\))?$`)
	inner  = regexp.MustCompile(`[a-z0-9][A-Z]|^[a-z]\w*\.[A-Z]|^[A-Z]\w*\.\w|\(\)$`)
	// fileName is a file of the tree, or several.
	fileName = regexp.MustCompile(`^[\w./*-]+\.(?:go|md|sh|yaml|txt|tsv|golden|mk)$`)
)

// TestNamesInDesignNotesExist: what a design note, a decision or the glossary names in backquotes is found in the code.
func TestNamesInDesignNotesExist(t *testing.T) {
	words, files := map[string]bool{}, []string{}
	walk(t, func(path, content string) {
		files = append(files, path)
		if filepath.Ext(path) == ".md" && !strings.HasPrefix(path, "apis/kueue/") && filepath.Base(path) != "multikueue.md" {
			return
		}
		for _, w := range word.FindAllString(content, -1) {
			words[w] = true
		}
	})
	checked := 0
	walk(t, func(path, content string) {
		if base := filepath.Base(path); base != "DESIGN.md" && base != "DECISIONS.md" && path != "admissioncheck/multikueue/README.md" {
			return
		}
		for _, m := range quoted.FindAllStringSubmatch(content, -1) {
			switch name := m[1]; {
			case fileName.MatchString(name):
				checked++
				if !slices.ContainsFunc(files, func(f string) bool { return isFile(f, filepath.Dir(path), name) }) {
					t.Errorf("%s: there is no file `%s`", path, name)
				}
			case goName.MatchString(name) && inner.MatchString(name):
				checked++
				for _, w := range word.FindAllString(name, -1) {
					if !words[w] {
						t.Errorf("%s: nothing is named `%s`", path, name)
						break
					}
				}
			}
		}
	})
	if checked < 300 {
		t.Errorf("only %d names were checked", checked)
	}
}

// isFile reports whether a note in dir means the file by name: from there, from the root, or by the end of its path.
func isFile(file, dir, name string) bool {
	for _, pattern := range []string{filepath.Join(dir, name), filepath.Clean(name)} {
		if matched, err := filepath.Match(pattern, file); err == nil && matched {
			return true
		}
	}
	return strings.HasSuffix(file, "/"+name)
}

// walk calls visit with every text of the tree, by its path from the root.
func walk(t *testing.T, visit func(path, content string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !d.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		visit(rel, string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
