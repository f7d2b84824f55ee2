package guide

import (
	"fmt"
	"regexp"
	"strings"
)

// changing is what is another one each time, and what stands for it while lines are compared.
var changing = []struct {
	pattern *regexp.Regexp
	is      string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?`), "<time>"},
	{regexp.MustCompile(`\b\d{8}-\d{6}\b`), "<stamp>"},
	{regexp.MustCompile(`\bhttps://[\w.-]+(:\d+)?`), "<address>"},
	{regexp.MustCompile(`\bv\d+\.\d+\.\d+\b`), "<version>"},
	{regexp.MustCompile(`-[0-9a-f]{5}\b`), "-<hash>"}, // before ages: 2746d is both
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|[smhdy]))+\b`), "<age>"},
	{regexp.MustCompile(`\s+`), " "},
}

// plain is a line without what is another one each time.
func plain(line string) string {
	for _, c := range changing {
		line = c.pattern.ReplaceAllString(line, c.is)
	}
	return strings.TrimSpace(line)
}

// lines are those of a text that are not empty.
func lines(text string) []string {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = plain(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// Differs says what was printed otherwise than shown; empty if nothing was. A shown line "..." stands for any number of
// lines, and "..." in a line for any text. Times, ages, versions, addresses, hashes at the end of names, blanks and empty
// lines may differ.
func Differs(shown, printed string) string {
	want, got := lines(shown), lines(printed)
	if matches(want, got) {
		return ""
	}
	for i, w := range want { // the first that cannot be found behind those before it
		if !matches(append(append([]string{}, want[:i+1]...), "..."), got) {
			return fmt.Sprintf("this shown line was not printed where it is expected: %s", w)
		}
	}
	return "more was printed than is shown"
}

func matches(want, got []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] == "...":
		return matches(want[1:], got) || len(got) > 0 && matches(want, got[1:])
	default:
		return len(got) > 0 && matchesPattern(want[0], got[0]) && matches(want[1:], got[1:])
	}
}

// matchesPattern tells whether a line is as shown.
func matchesPattern(shown, line string) bool {
	parts := strings.Split(shown, "...")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(line)
}
