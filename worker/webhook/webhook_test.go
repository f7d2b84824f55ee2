package webhook

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"switchyard.dev/apis/config/features"
)

// byDefault are the gates of a configuration that names none.
func byDefault() Gates { return NewGates(features.Set{}) }

// read decodes a manifest strictly; an empty one is nil.
func read[T any](t *testing.T, manifest string) *T {
	t.Helper()
	if manifest == "" {
		return nil
	}
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(manifest), object); err != nil {
		t.Fatalf("%s: %v", manifest, err)
	}
	return object
}

// expect fails the test unless there is exactly one problem, at the wanted path
// and with the wanted words, or none when nothing is wanted.
func expect(t *testing.T, problems field.ErrorList, want string) {
	t.Helper()
	path, words, _ := strings.Cut(want, " ")
	switch {
	case want == "" && len(problems) == 0:
	case want != "" && len(problems) == 1 && problems[0].Field == path && strings.Contains(problems[0].Error(), words):
	default:
		t.Errorf("got %v, want %q", fmt.Sprint(problems.ToAggregate()), want)
	}
}
