package guide_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/e2e/guide"
)

const codeFence = "```"

// fenced is Markdown in which ”' stands for the fence.
func fenced(text string) string { return strings.ReplaceAll(text, "'''", codeFence) }

func TestTheBlocksOfAGuideAreReadInOrderWithWhatTheyPrint(t *testing.T) {
	got, err := guide.Blocks(fenced(`# Guide
'''sh
one
two
'''
It says, for example:
'''text
1
'''
1. In a list:

   '''sh retry
   three <<EOF
     indented
   EOF
   '''

   '''text
   3
   '''
'''console
$ not run
'''
`))
	want := []guide.Block{
		{Line: 3, Commands: "one\ntwo\n", Shows: "1\n"},
		{Line: 13, Commands: "three <<EOF\n  indented\nEOF\n", Retry: true, Shows: "3\n"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestAGuideThatWouldNotBeRunAsItsWriterThinksIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"# No commands\n":                          "no block is marked sh",
		"'''sh\none\n":                             "line 2: the block has no end",
		"'''text\n1\n'''\n":                        "line 2: output of no block",
		"'''sh\none\n'''\n'''sh again\ntwo\n'''":   "line 5: a block marked \"sh again\" is not run",
		"'''sh\none\n'''\n'''bash\ntwo\n'''":       "line 5: a block marked \"bash\" is not run",
		"'''sh retry\none\n'''\n'''sh\ntwo\n'''\n": "line 2: the block is to be run until it prints something",
	} {
		if _, err := guide.Blocks(fenced(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestWhatIsPrintedIsComparedButForWhatChangesEachTime(t *testing.T) {
	for _, c := range []struct{ name, shown, printed, want string }{
		{"the same", "a\nb", "a\nb\n", ""},
		{"blanks of tables", "NAME   AGE\nw1     5m", "NAME  AGE\nw1    6m30s  \n", ""},
		{"a hash that looks like an age", "job-train-12abc runs", "job-train-2746d runs", ""},
		{
			"times, stamps, hashes, versions and addresses", "job-train-12abc at 2026-11-21T12:00:00Z 20261121-120000 v1.36.3 https://w1:6443",
			"job-train-9ffff at 2027-01-02T03:04:05Z 20270102-030405 v1.37.0 https://127.0.0.1:34567", "",
		},
		{"lines left out", "a\n...\nd", "a\nb\nc\nd", ""},
		{"no line left out", "a\n...\nd", "a\nd", ""},
		{"a part of a line left out", "job ... ends", "job train-(1) ends", ""},
		{"another word", "a\nb\nc", "a\nx\nc", "this shown line was not printed where it is expected: b"},
		{"another number", "2 jobs", "3 jobs", "this shown line was not printed where it is expected: 2 jobs"},
		{"something missing", "a\n...\nb", "a", "this shown line was not printed where it is expected: b"},
		{"something more", "a", "a\nb", "more was printed than is shown"},
		{"no pattern", "a.c [1]", "abc 1", "this shown line was not printed where it is expected: a.c [1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := guide.Differs(c.shown, c.printed); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestABlockEndsAtItsFirstCommandThatFails(t *testing.T) {
	shell := guide.Shell{Dir: t.TempDir(), Env: os.Environ()}
	printed, err := shell.Run(t.Context(), guide.Block{Line: 7, Commands: "echo one\nfalse | cat\necho two"})
	if printed != "one\n" || err == nil || !strings.Contains(err.Error(), "line 7") {
		t.Errorf("%q, %v", printed, err)
	}
}

func TestABlockThatPrintsSomethingElseFails(t *testing.T) {
	shell := guide.Shell{Dir: t.TempDir(), Env: os.Environ()}
	if printed, err := shell.Run(t.Context(), guide.Block{Commands: "echo two", Shows: "one"}); printed != "two\n" || err == nil {
		t.Errorf("%q, %v", printed, err)
	}
}

func TestARetriedBlockIsRunUntilItPrintsWhatIsShownOrNobodyWaitsAnyMore(t *testing.T) {
	shell := guide.Shell{Dir: t.TempDir(), Env: os.Environ()}
	counts := guide.Block{Commands: "echo -n x >>count\ncat count", Retry: true, Shows: "xxx"}
	if printed, err := shell.Run(t.Context(), counts); printed != "xxx" || err != nil {
		t.Errorf("%q, %v", printed, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := shell.Run(ctx, guide.Block{Commands: "echo no", Retry: true, Shows: "yes"}); err == nil {
		t.Error("it never printed what is shown")
	}
}

func TestTheDeskShowsProgramsAndTree(t *testing.T) {
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "file"), []byte("content\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shell, err := guide.CommandEnv{Tree: tree, Shows: []string{"file"}, Programs: map[string]string{"say": "/bin/echo"}}.Setup(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	printed, err := shell.Run(t.Context(), guide.Block{Commands: "say hello; cat file; test -f \"$KUBECONFIG\"; echo x >made; test -O \"$HOME\""})
	if printed != "hello\ncontent\n" || err != nil {
		t.Errorf("%q, %v", printed, err)
	}
	if _, err := os.Stat(filepath.Join(tree, "made")); !os.IsNotExist(err) {
		t.Error("a reader writes into the source tree:", err)
	}
}
