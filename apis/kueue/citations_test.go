// Package kueue_test holds the contract, which lies beside it, against the code that cites it.
package kueue_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// documents are the files of the contract, by the name that citations give them.
var documents = map[string]string{
	"kueue-api.md":  "kueue-api.md",
	"messages.md":   "messages.md",
	"job-kinds.md":  "job-kinds.md",
	"multikueue.md": root + "/admissioncheck/multikueue/multikueue.md",
}

var (
	heading = regexp.MustCompile(`(?m)^#{2,} (\d+(?:\.\d+)*)\.? `)
	// numbered are the places that only the state machine has: "1." and "3a." open a case, "P1" a step of the prelude.
	numbered = regexp.MustCompile(`(?m)^ *(?:(\d+[a-z]?)\. |(P\d) )`)
	// lineBreak is where a sentence goes on behind a comment's marker.
	lineBreak = regexp.MustCompile(`\s*\n\s*(?://+|#+|>|\*)?\s*`)

	section  = `(?:\d+(?:\.\d+)*(?: case \d+[a-z]?| P\d)?)`
	citation = regexp.MustCompile(`\b([a-z][a-z-]*\.md) (` + section + `(?:(?:, | and | to |, and )` + section + `\b)*)`)
	parts    = regexp.MustCompile(section)
	// unnamed cites a section without saying of what.
	unnamed = regexp.MustCompile(`\bcontract:? \d+\.\d+`)
)

// sections returns what can be cited of a document: "4.6", in a state machine "4 case 6b" and "4 P3", of a list "10.17".
func sections(t *testing.T, path string) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	text := string(content)
	places := heading.FindAllStringSubmatchIndex(text, -1)
	for i, place := range places {
		number, end := text[place[2]:place[3]], len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		all[number] = true
		for _, m := range numbered.FindAllStringSubmatch(text[place[1]:end], -1) {
			if m[2] != "" {
				all[number+" "+m[2]] = true
			} else {
				all[number+" case "+m[1]], all[number+"."+m[1]] = true, true
			}
		}
	}
	return all
}

// cited returns the sections that a text cites, by document.
func cited(text string) map[string][]string {
	all := map[string][]string{}
	for _, m := range citation.FindAllStringSubmatch(lineBreak.ReplaceAllString(text, " "), -1) {
		all[m[1]] = append(all[m[1]], parts.FindAllString(m[2], -1)...)
	}
	return all
}

// texts calls visit with every file of the tree that may cite something.
func texts(t *testing.T, visit func(path, content string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "bin" || name == "testdata" || strings.HasPrefix(name, ".") && path != root) {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Base(path) == "citations_test.go" || !slices.Contains([]string{".go", ".md", ".sh", ".yaml", ".tpl"}, filepath.Ext(path)) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil {
			visit(path, string(content))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryCitationOfTheContractLeadsToASection(t *testing.T) {
	known := map[string]map[string]bool{}
	for name, path := range documents {
		known[name] = sections(t, path)
	}
	count := 0
	texts(t, func(path, content string) {
		for document, places := range cited(content) {
			if known[document] == nil {
				t.Errorf("%s cites %s, which is none of %v", path, document, slices.Sorted(maps.Keys(documents)))
				continue
			}
			for _, place := range places {
				if count++; !known[document][place] {
					t.Errorf("%s cites %s %s: there is no such section", path, document, place)
				}
			}
		}
		for _, m := range unnamed.FindAllString(lineBreak.ReplaceAllString(content, " "), -1) {
			t.Errorf("%s cites %q: say which file of the contract", path, m)
		}
	})
	if count < 300 {
		t.Errorf("only %d citations were found: the pattern does not read them any more", count)
	}
}

func TestCitationsAreRead(t *testing.T) {
	for text, want := range map[string][]string{
		"(contract: messages.md 1.2)":                         {"1.2"},
		"(contract:\n\t// messages.md 1.2, 4.13 and 5)":       {"1.2", "4.13", "5"},
		"messages.md 4 case 6b; messages.md 4 P3, without it": {"4 case 6b", "4 P3"},
		"messages.md holds texts":                             nil,
		"messages.md 4.1 to 4.17":                             {"4.1", "4.17"},
	} {
		if got := cited(text)["messages.md"]; !slices.Equal(got, want) {
			t.Errorf("%q cites %q, want %q", text, got, want)
		}
	}
}

func TestSectionsOfTheStateMachineCanBeCited(t *testing.T) {
	known := sections(t, documents["multikueue.md"])
	for _, place := range []string{"0", "4", "4 P1", "4 P6", "4 case 1", "4 case 3a", "4 case 6b", "4 case 8", "11"} {
		if !known[place] {
			t.Errorf("%s cannot be cited", place)
		}
	}
	if known["4 case 9"] || known["12"] {
		t.Error("what is not there can be cited")
	}
}
