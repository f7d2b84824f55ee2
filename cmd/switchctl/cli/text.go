package cli

import (
	"bufio"
	"fmt"
	"strings"

	"switchyard.dev/worker/kube"
)

// Printf tells what was done; warn what the user should know although nothing failed.
func (a *App) Printf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Out, format+"\n", sanitizeText(args)...)
}

// Warnf says on the error stream what the user should know although nothing failed.
func (a *App) Warnf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.ErrOut, "warning: "+format+"\n", sanitizeText(args)...)
}

// AskConfirmation asks a person; without one, the answer is no.
func (a *App) AskConfirmation(format string, args ...any) bool {
	_, _ = fmt.Fprintf(a.ErrOut, format+" [y/N] ", sanitizeText(args)...)
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// sanitizeText are values fit for a terminal: names, texts and errors may be those of a cluster that lies.
func sanitizeText(args []any) []any {
	list := make([]any, len(args))
	for i, arg := range args {
		switch is := arg.(type) {
		case string:
			list[i] = PrintableLines(is)
		case error:
			list[i] = PrintableLines(is.Error())
		case fmt.Stringer:
			list[i] = PrintableLines(is.String())
		default:
			list[i] = arg
		}
	}
	return list
}

// PrintableLines is kube.SanitizeForTerminal line by line, for texts of which some of ours have several.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = kube.SanitizeForTerminal(lines[i])
	}
	return strings.Join(lines, "\n")
}
