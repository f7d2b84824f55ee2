package profile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// What a provider's program writes to the hub's log is neither endless nor steers the reader's terminal.
func TestWhatAProgramComplainsOfIsShortAndCleanLineByLine(t *testing.T) {
	log := &bytes.Buffer{}
	c := &stderrLog{logger: log, remaining: stderrLimit}
	for _, part := range []string{"a \x1b[2", "Jb\nE1122 forged\rover", "written\n", "no end"} {
		if n, err := fmt.Fprint(c, part); n != len(part) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	c.flush()
	if want := "a b\nE1122 forged overwritten\nno end\n"; log.String() != want {
		t.Errorf("logged %q, want %q", log, want)
	}
	for range 1000 {
		_, _ = fmt.Fprintln(c, strings.Repeat("x", 1000))
	}
	c.flush()
	if log.Len() > stderrLimit+100 {
		t.Errorf("%d bytes were logged", log.Len())
	}
}
