package configured

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	// maxPathLength and maxSteps bound a path.
	maxPathLength = 512
	maxSteps      = 32
)

// The top-level fields of every object.
const (
	specField, statusField, metadataField = "spec", "status", "metadata"
)

// path leads from a job to one of its fields; a nil one to none. A step is a key (string) or the index of a list's entry (int).
type path []any

var stepPattern = regexp.MustCompile(`^(?:\.?([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]{1,4})\]|\["([^"\\]{1,253})"\])`)

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// parsePath reads a path. The first step is a name.
func parsePath(text string) (path, error) {
	if len(text) > maxPathLength {
		return nil, fmt.Errorf("a path has at most %d characters", maxPathLength)
	}
	var p path
	for rest := text; rest != "" || len(p) == 0; {
		m := stepPattern.FindStringSubmatch(rest)
		if m == nil || !isStepAllowed(m, len(p) == 0) {
			return nil, fmt.Errorf("1:%d: a name, .name, [index] or [\"key\"] is expected", len(text)-len(rest)+1)
		}
		switch {
		case m[1] != "":
			p = append(p, m[1])
		case m[2] != "":
			index, _ := strconv.Atoi(m[2]) // four digits
			p = append(p, index)
		default:
			p = append(p, m[3])
		}
		rest = rest[len(m[0]):]
	}
	if len(p) > maxSteps {
		return nil, fmt.Errorf("a path has at most %d steps", maxSteps)
	}
	return p, nil
}

// isStepAllowed tells of a step that was found whether it may stand there: a path begins with a name, and every other name has a dot.
func isStepAllowed(found []string, first bool) bool {
	if name := found[1]; name == "" {
		return !first
	}
	return strings.HasPrefix(found[0], ".") != first
}

// What is wrong with paths of fields that the program may not change.
var (
	errNotOwn      = errors.New("the path must lead into the spec, or into another field of the kind's own")
	errNotWritable = errors.New(`the path must lead into the spec, into another field of the kind's own, or to metadata.labels["key"] or metadata.annotations["key"]`)
)

// parseOwnPath reads the path of a field of the kind's own, below a top-level one.
func parseOwnPath(text string) (path, error) {
	p, err := parsePath(text)
	if err != nil {
		return nil, err
	}
	switch p[0] {
	case "apiVersion", "kind", statusField, metadataField:
		return nil, errNotOwn
	}
	if len(p) < 2 {
		return nil, errNotOwn
	}
	return p, nil
}

// parseWritablePath reads the path of a field that the program may change: one of the kind's own, or a label or an annotation.
func parseWritablePath(text string) (path, error) {
	p, err := parsePath(text)
	if err != nil {
		return nil, err
	}
	if p[0] != metadataField {
		return parseOwnPath(text)
	}
	if len(p) != 3 || p[1] != "labels" && p[1] != "annotations" {
		return nil, errNotWritable
	}
	if _, isKey := p[2].(string); !isKey {
		return nil, errNotWritable
	}
	return p, nil
}

// parseStatusPath reads the path of a part of the status.
func parseStatusPath(text string) (path, error) {
	p, err := parsePath(text)
	if err == nil && p[0] != statusField {
		return nil, errors.New("a path leads into the status")
	}
	return p, err
}

// compilePath returns nil for a path that is left out.
func compilePath(where *field.Path, text switchyard.FieldPath, parse func(string) (path, error)) (path, field.ErrorList) {
	if text == "" {
		return nil, nil
	}
	p, err := parse(string(text))
	if err != nil {
		return nil, field.ErrorList{field.Invalid(where, text, err.Error())}
	}
	return p, nil
}

// fieldPath is the path for messages.
func (p path) fieldPath() *field.Path {
	if len(p) == 0 {
		return nil
	}
	var at *field.Path
	for _, step := range p {
		switch s := step.(type) {
		case int:
			at = at.Index(s)
		case string:
			if namePattern.MatchString(s) {
				at = at.Child(s)
			} else {
				at = at.Key(s)
			}
		}
	}
	return at
}

// child is the path one or more keys further.
func (p path) child(keys ...string) path {
	longer := make(path, len(p), len(p)+len(keys))
	copy(longer, p)
	for _, key := range keys {
		longer = append(longer, key)
	}
	return longer
}

// get returns the field's value, the job's own; found is false where there is none.
func (p path) get(job map[string]any) (value any, found bool) {
	if len(p) == 0 {
		return nil, false
	}
	value = job
	for _, step := range p {
		switch s := step.(type) {
		case string:
			m, _ := value.(map[string]any)
			if value, found = m[s]; !found {
				return nil, false
			}
		case int:
			list, _ := value.([]any)
			if s >= len(list) {
				return nil, false
			}
			value = list[s]
		}
	}
	return value, true
}

// set gives the field a value. Maps on the way are made; entries of lists are not.
func (p path) set(job map[string]any, value any) error {
	last := len(p) - 1
	var at any = job
	for i, step := range p {
		switch s := step.(type) {
		case string:
			m, ok := at.(map[string]any)
			if !ok {
				return field.Invalid(p[:i].fieldPath(), field.OmitValueType{}, "must be a map")
			}
			if i == last {
				m[s] = value
				return nil
			}
			if m[s] == nil {
				m[s] = map[string]any{}
			}
			at = m[s]
		case int:
			list, ok := at.([]any)
			if !ok || s >= len(list) {
				return field.Invalid(p[:i].fieldPath(), field.OmitValueType{}, fmt.Sprintf("must be a list with an entry %d", s))
			}
			if i == last {
				list[s] = value
				return nil
			}
			at = list[s]
		}
	}
	return nil
}

// remove takes the field out, and the maps on the way that it was all of; not the first, the job's own field. An entry of a list becomes
// nothing and stays.
func (p path) remove(job map[string]any) {
	if _, found := p.get(job); !found {
		return
	}
	for i := len(p) - 1; i > 0; i-- {
		parent, _ := p[:i].get(job)
		switch s := p[i].(type) {
		case int:
			parent.([]any)[s] = nil
			return
		case string:
			m := parent.(map[string]any)
			delete(m, s)
			if len(m) > 0 {
				return
			}
		}
	}
}
