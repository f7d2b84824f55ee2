package jsonweight

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func weightOf(text string, pieces int) int64 {
	s := Scanner{Weights: Measure(batchv1.JobList{})}
	for len(text) > 0 {
		n := min(pieces, len(text))
		s.Feed([]byte(text[:n]))
		text = text[n:]
	}
	return s.weight
}

func TestElementsWeighWhatTheirTypeTakes(t *testing.T) {
	w := Measure(batchv1.JobList{}, &corev1.PodList{})
	for field, least := range map[string]int64{"items": 1000, "containers": 400, "args": elementWeight, "unheard of": elementWeight} {
		if got := w.element([]byte(field), true); got < least || got > 4096 {
			t.Errorf("an element of %s weighs %d", field, got)
		}
	}
	if got := w.element(nil, false); got != w.largest || got < 1000 {
		t.Errorf("an element of a list that has no name weighs %d", got)
	}
}

func TestTheWeightIsThatOfTheStructureNotOfTheTexts(t *testing.T) {
	quoted := `{"items":[{"metadata":{"name":"` + strings.Repeat(`[{,\"`, 100) + `"}}]}`
	plain := `{"items":[{"metadata":{"name":"` + strings.Repeat("xxxxx", 100) + `"}}]}`
	if got, want := weightOf(quoted, 1000), weightOf(plain, 1000); got != want {
		t.Errorf("%d with structure in a text, %d without", got, want)
	}
	if one, two := weightOf(`{"items":[{}]}`, 100), weightOf(`{"items":[{},{}]}`, 100); two-one < 1000 {
		t.Errorf("a second job weighs %d", two-one)
	}
	if a, b := weightOf(`{"x":"items","y":[1,2,3]}`, 100), weightOf(`{"x":"itemz","y":[1,2,3]}`, 100); a != b {
		t.Errorf("a text counts as the name of a field: %d and %d", a, b)
	}
}

// FuzzWeight holds that it does not matter in which pieces a text comes, and that nothing weighs less than its bytes.
func FuzzWeight(f *testing.F) {
	f.Add(`{"items":[{"a":"b\"c"},{}],"x":{"y":[1,2]}}`, 3)
	f.Add(`{"it\u0065ms":[[[{}],{}]]}{"items":[]}`, 1)
	f.Fuzz(func(t *testing.T, text string, pieces int) {
		pieces = 1 + max(pieces, 0)%16
		whole := weightOf(text, max(len(text), 1))
		if got := weightOf(text, pieces); got != whole {
			t.Errorf("%q weighs %d in pieces of %d, %d as a whole", text, got, pieces, whole)
		}
		if whole < 2*int64(len(text)) && strings.Count(text, "]")+strings.Count(text, "}") == 0 && len(text) < MaxDepth {
			t.Errorf("%q weighs %d", text, whole)
		}
	})
}
