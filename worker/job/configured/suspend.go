package configured

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

// suspend says how a job is kept from running, and how one that runs is ended.
type suspend struct {
	path path
	// value means suspended. The field is resumed while the job may run; nil: it is absent.
	value, resumed any
	// stopPath is nil if jobs can be suspended again. Otherwise stops are its values that end a job.
	stopPath path
	stops    []any
}

// suspend compiles how jobs are kept from running.
func (c compiler) suspend(root *field.Path, spec *switchyard.JobKindSpec) suspend {
	const defaultPath = specField + ".suspend"
	at := root.Child("suspend")
	text := cmp.Or(spec.Suspend.Path, defaultPath)
	s := suspend{path: c.path(at.Child("path"), text, parseWritablePath), value: c.value(at.Child("value"), spec.Suspend.Value, true)}
	var resumed any
	if s.value == true {
		resumed = false
	}
	s.resumed = c.value(at.Child("resumedValue"), spec.Suspend.ResumedValue, resumed)
	if s.resumed == s.value {
		*c.errs = append(*c.errs, field.Invalid(at.Child("resumedValue"), s.resumed, "must not be what value is"))
	}
	if spec.Stop == nil {
		return s
	}
	at = root.Child("stop")
	s.stopPath = c.path(at.Child("path"), cmp.Or(spec.Stop.Path, text), parseWritablePath)
	c.require(at.Child("values"), len(spec.Stop.Values) > 0)
	samePath := cmp.Or(spec.Stop.Path, text) == text
	for i := range spec.Stop.Values {
		value := c.value(at.Child("values").Index(i), &spec.Stop.Values[i], nil)
		if samePath && (value == s.value || value == s.resumed) {
			*c.errs = append(*c.errs, field.Invalid(at.Child("values").Index(i), value, "must not be what suspends or resumes a job"))
		}
		s.stops = append(s.stops, value)
	}
	return s
}

// isSuspended tells whether the job waits, or was ended.
func (s *suspend) isSuspended(object map[string]any) bool {
	value, found := s.path.get(object)
	return found && isScalar(value) && value == s.value || s.isEnded(object)
}

// isEnded tells whether somebody told the job to end.
func (s *suspend) isEnded(object map[string]any) bool {
	value, found := s.stopPath.get(object)
	return found && isScalar(value) && slices.Contains(s.stops, value)
}

// set suspends or resumes the job. One that was told to end stays so. What cannot be written, because the job has something else where
// the field should be, is left alone: such a job is not suspended, and the API server should not have let it in.
func (s *suspend) set(object map[string]any, suspended bool) {
	switch {
	case suspended:
		_ = s.path.set(object, s.value)
	case s.isEnded(object):
	case s.resumed == nil:
		s.path.remove(object)
	default:
		_ = s.path.set(object, s.resumed)
	}
}

// stop ends a job that runs, of a kind whose jobs cannot be suspended again. Where its pods went stays in it: it never runs again.
func (s *suspend) stop(object map[string]any) job.StopStep {
	if s.isSuspended(object) {
		return job.StopDone
	}
	if err := s.stopPath.set(object, s.stops[0]); err != nil {
		return job.StopWait
	}
	return job.StopSpec
}

// stopFunc is Kind.Stop; nil where the framework's stop serves.
func (p *Program) stopFunc() func(*object, []kueue.PodSet) job.StopStep {
	if p.suspend.stopPath == nil {
		return nil
	}
	return func(j *object, _ []kueue.PodSet) job.StopStep { return p.suspend.stop(fields(j)) }
}

// isScalar tells whether values can be compared by ==.
func isScalar(value any) bool {
	switch value.(type) {
	case bool, string, int64, float64:
		return true
	}
	return false
}
