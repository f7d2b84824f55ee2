package show

import (
	"strings"
)

// ConditionText leaves of what is there only that about which something is said: of maps the keys, of lists of the same length the
// elements' keys. So defaults and other people's fields are no differences.
func ConditionText(said, there any) any {
	switch s := said.(type) {
	case map[string]any:
		t, ok := there.(map[string]any)
		if !ok {
			return there
		}
		kept := map[string]any{}
		for key, value := range s {
			if found, ok := t[key]; ok {
				kept[key] = ConditionText(value, found)
			}
		}
		return kept
	case []any:
		t, ok := there.([]any)
		if !ok || len(t) != len(s) {
			return there
		}
		kept := make([]any, len(s))
		for i := range s {
			kept[i] = ConditionText(s[i], t[i])
		}
		return kept
	}
	return there
}

// Diff is the difference of two texts, line by line: a blank, "-" or "+" before each line. Empty if there is none.
func Diff(before, after string) string {
	if before == after {
		return ""
	}
	a, b := splitLines(before), splitLines(after)
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out.WriteString("  " + a[i] + "\n")
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			out.WriteString("- " + a[i] + "\n")
			i++
		default:
			out.WriteString("+ " + b[j] + "\n")
			j++
		}
	}
	return out.String()
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
