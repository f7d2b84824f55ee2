// Package contracttest holds the texts that clients of the public API see, as facts: which program says what in which
// situation (texts.tsv). A package that says some of them has a test that brings about each situation of a section, and
// compares what its code says then with the table.
package contracttest

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Said is what was said in one situation.
type Said struct {
	// Kind is how it is said: type, status and reason of a condition; type and reason of an event; path and type of a field
	// error; empty for a text that stands alone.
	Kind string
	// Text is what people read.
	Text string
}

//go:embed texts.tsv
var texts string

// Section returns the table of one section by situation. Each line of the table has section, situation, kind and text,
// separated by tabs; lines that begin with # are comments.
func Section(tb testing.TB, section string) map[string]Said {
	tb.Helper()
	table := map[string]Said{}
	for line := range strings.Lines(texts) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			tb.Fatalf("texts.tsv: a line has %d columns instead of 4: %q", len(fields), line)
		}
		if fields[0] != section {
			continue
		}
		if _, twice := table[fields[1]]; twice {
			tb.Fatalf("texts.tsv: section %s has %q twice", section, fields[1])
		}
		table[fields[1]] = Said{Kind: fields[2], Text: fields[3]}
	}
	if len(table) == 0 {
		tb.Fatalf("texts.tsv has no section %s", section)
	}
	return table
}

// Compare fails unless the situations are those of the section, each with what the table says.
func Compare(tb testing.TB, section string, got map[string]Said) {
	tb.Helper()
	if diff := cmp.Diff(Section(tb, section), got); diff != "" {
		tb.Errorf("section %s of texts.tsv: -public +ours:\n%s", section, diff)
	}
}
