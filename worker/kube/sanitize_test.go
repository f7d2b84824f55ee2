package kube

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSanitize(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                      {"", ""},
		"words":                        {"no room: 3 of 4", "no room: 3 of 4"},
		"words of others":              {"kein Platz für müde Jobs", "kein Platz für müde Jobs"},
		"lines":                        {"a\r\n\tb\n", "a b"},
		"colours":                      {"\x1b[1;31mred\x1b[0m", "red"},
		"a title for the terminal":     {"a\x1b]0;owned\x07b", "ab"},
		"a title that never ends":      {"a\x1b]0;owned", "a"},
		"a lone escape":                {"a\x1bZb\x1b", "ab"},
		"controls of the other kind":   {"a\u009b31mb\u0085c", "a 31mb c"},
		"text that runs backwards":     {"a\u202egpj.exe", "agpj.exe"},
		"marks of no width":            {"a\u200bb\ufeffc", "abc"},
		"what is no UTF-8":             {"a\xff\xfeb", "a?b"},
		"markup":                       {"<script>x()</script>", "‹script›x()‹/script›"},
		"line and paragraph separator": {"a\u2028b\u2029c", "a b c"},
		"a long text":                  {strings.Repeat("x", 100), strings.Repeat("x", 36) + " ..."},
		"a long text of long letters":  {strings.Repeat("ü", 100), strings.Repeat("ü", 18) + " ..."},
		"a gigantic text of nothing":   {strings.Repeat("\u200b", 1<<20), " ..."},
	} {
		if got := Sanitize(c.text, 40); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("a\x1b[31m <b>\xff\u202e\n", 10)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 3 + max(limit, 0)%2000
		got := Sanitize(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "<>\n\r\t\x00\x1b\x7f\u202e\u200b") {
			t.Errorf("%q becomes %q", text, got)
		}
		if again := Sanitize(got, limit); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}

func TestSanitizeForTerminalKeepsBlanksAndDropsEscapes(t *testing.T) {
	for text, want := range map[string]string{
		"a  <none>  b":              "a  <none>  b",
		"a\x1b[31mred\x1b[0m":       "ared",
		"\x1b]0;title\x07x":         "x",
		"one\nFINISHED: two\tthree": "one FINISHED: two three",
		"a\u202egpj.exe\u200b":      "agpj.exe",
		"a\u009b31mb\x7f":           "a 31mb ",
		"\xff":                      "?",
		"größe 大":                   "größe 大",
	} {
		if got := SanitizeForTerminal(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
