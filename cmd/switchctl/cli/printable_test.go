package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestWhatIsToldOfClustersDoesNotSteerATerminal(t *testing.T) {
	var out, errOut bytes.Buffer
	a := &App{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}}
	a.Printf("%s is %v at %d", "w\x1b[2J1", errors.New("lost\u009b8m"), 3)
	a.Warnf("%v", errors.New("\x1b]0;owned\x07gone"))
	if out.String() != "w1 is lost 8m at 3\n" || errOut.String() != "warning: gone\n" {
		t.Errorf("told %q and %q", out.String(), errOut.String())
	}
	if text := PrintableLines("one\ntwo\r\x1b[1A"); strings.ContainsAny(text, "\r\x1b") || !strings.Contains(text, "\n") {
		t.Errorf("lines become %q", text)
	}
}
