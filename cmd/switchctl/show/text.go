package show

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"switchyard.dev/worker/kube"
)

// textBuilder is lines under one another, some of them further in. What clusters say cannot leave its line, nor steer a terminal.
type textBuilder struct {
	out   *strings.Builder
	depth int
}

func (t *textBuilder) indented() *textBuilder {
	t.ensureBlankLine()
	return &textBuilder{out: t.out, depth: t.depth + 1}
}

func (t *textBuilder) ensureBlankLine() {
	if t.out == nil {
		t.out = &strings.Builder{}
	}
}

func (t *textBuilder) writeLine(format string, args ...any) {
	t.ensureBlankLine()
	line := strings.Repeat("  ", t.depth) + kube.SanitizeForTerminal(fmt.Sprintf(format, args...))
	t.out.WriteString(strings.TrimRight(line, " ") + "\n")
}

// writeColumns writes rows with every column but the last as wide as its widest cell.
func (t *textBuilder) writeColumns(rows [][]string) {
	for _, cells := range rows {
		for i := range cells {
			cells[i] = kube.SanitizeForTerminal(cells[i])
		}
	}
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range rows {
		var b strings.Builder
		for i, cell := range cells {
			b.WriteString(cell)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3))
			}
		}
		t.writeLine("%s", b.String())
	}
}

// writePair writes a name and a value, as descriptions do.
func (t *textBuilder) writePair(name, value string) {
	t.writeLine("%-20s %s", name+":", value)
}

// String is all lines.
func (t *textBuilder) String() string {
	t.ensureBlankLine()
	return t.out.String()
}
