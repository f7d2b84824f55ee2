package kube

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// terminalEscapes are sequences that steer a terminal instead of being shown.
var terminalEscapes = regexp.MustCompile(`\x1b(\[[0-9:;<=>?]*[ !"#$%&'()*+,\-./]*[@A-Z\[\\\]^_\x60a-z{|}~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@A-Z\\\-_])`)

// Sanitize makes a text from outside fit to be shown as ours: at most limit bytes of one line of valid UTF-8, without what
// would steer a terminal, hide or turn around what follows, or be read as markup. It costs no more than a text of some times
// limit does, however long the text is.
func Sanitize(text string, limit int) string {
	if len(text) <= limit && isSanitized(text) {
		return text
	}
	const leeway = 4 // for what goes
	cut := len(text) > leeway*limit
	if cut {
		text = strings.TrimSuffix(Truncate(text, leeway*limit), truncationMark)
	}
	text = terminalEscapes.ReplaceAllString(strings.ToValidUTF8(text, "?"), "")
	text = strings.TrimSpace(strings.Join(strings.Fields(strings.Map(sanitizeRune, text)), " "))
	if cut && len(text) <= limit {
		text += truncationMark
	}
	return Truncate(text, limit)
}

// SanitizeForTerminal makes a text from outside fit for a terminal, on one line: without what would steer it, hide or turn
// around what follows. Unlike Sanitize it keeps blanks and what is markup elsewhere, and cuts nothing.
func SanitizeForTerminal(text string) string {
	if isPrintable(text) {
		return text
	}
	text = terminalEscapes.ReplaceAllString(strings.ToValidUTF8(text, "?"), "")
	return strings.Map(func(r rune) rune {
		if r == '<' || r == '>' {
			return r
		}
		return sanitizeRune(r)
	}, text)
}

func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// sanitizeRune is what is shown of a rune: a space for a control character, nothing for one that has no look of its own.
func sanitizeRune(r rune) rune {
	switch {
	case r == '<':
		return '‹'
	case r == '>':
		return '›'
	case unicode.IsControl(r), unicode.IsSpace(r):
		return ' '
	case r == utf8.RuneError:
		return '?'
	case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	}
	return r
}

// isSanitized tells of most texts that nothing has to be done about them.
func isSanitized(text string) bool {
	space := true // right before
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == '<' || c == '>' || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return !space || text == ""
}
