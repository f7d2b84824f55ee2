package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen shows the rows as they change: a table that is redrawn in place on a terminal, lines elsewhere.
type screen struct {
	out      io.Writer
	terminal *os.File // nil if out is none
	began    time.Time
	drawn    int // lines on the terminal that the next table replaces
	last     []row
}

// plainWidth keeps a log readable: reasons can be long.
const plainWidth = 160

func newScreen(out io.Writer, began time.Time) *screen {
	s := &screen{out: out, began: began}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		s.terminal = file
	}
	return s
}

func (s *screen) show(rows []row, now time.Time) {
	elapsed := now.Sub(s.began)
	if s.terminal == nil {
		for _, line := range changes(s.last, rows, elapsed) {
			fmt.Fprintln(s.out, clip(line, plainWidth))
		}
		s.last = rows
		return
	}
	width, height, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil {
		width, height = 120, 40
	}
	// The last line of the terminal stays free: writing there would scroll what is to be replaced.
	s.redraw(table(rows, elapsed, width, height-1))
}

func (s *screen) redraw(lines []string) {
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	// Line by line: a screen cleared as a whole flickers, and some terminals keep it in their history.
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	fmt.Fprint(s.out, b.String())
	s.drawn = len(lines)
}
