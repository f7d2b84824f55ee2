package configured

import (
	"maps"
	"math"
	"slices"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
)

// maxMessage is how much of a job's own account of its end is taken, in bytes.
const maxMessage = 1024

// progress is what is read from a job's status.
type progress struct {
	active, terminating, ready, succeeded, failed, message, reclaimable *expression
}

func (c compiler) progress(at *field.Path, spec *switchyard.JobKindProgress) progress {
	c.require(at.Child("active"), spec.Active != "")
	return progress{
		active:      c.expression(at.Child("active"), spec.Active, cel.BoolType),
		terminating: c.expression(at.Child("terminating"), spec.Terminating, cel.BoolType),
		ready:       c.expression(at.Child("ready"), spec.Ready, cel.BoolType),
		succeeded:   c.expression(at.Child("succeeded"), spec.Succeeded, cel.BoolType),
		failed:      c.expression(at.Child("failed"), spec.Failed, cel.BoolType),
		message:     c.expression(at.Child("message"), spec.Message, cel.StringType),
		reclaimable: c.expression(at.Child("reclaimablePods"), spec.ReclaimablePods, cel.ListType(cel.DynType)),
	}
}

// progressOf reads the job's status. Expressions that fail say nothing, except that such a job counts as active if it has a status: it
// may have pods.
func (p *Program) progressOf(object map[string]any) job.Progress {
	e, suspended := &p.progress, p.suspend.isSuspended(object)
	result := job.Progress{Finished: e.outcome(object)}
	active, err := e.active.evaluateBool(object)
	result.Active = active || err != nil && hasStatus(object)
	if p.suspend.isEnded(object) && result.Finished == nil {
		result.Active = true // until its controller says so, it may be about to start
	}
	result.Terminating = isTrue(e.terminating, object)
	if e.ready == nil {
		result.Ready = active && !suspended
	} else {
		result.Ready = !suspended && isTrue(e.ready, object)
	}
	result.Reclaimable = e.reclaimablePods(object)
	return result
}

// hasStatus tells whether anything is said of the job.
func hasStatus(object map[string]any) bool {
	status, found := object[statusField]
	if m, ok := status.(map[string]any); ok {
		return len(m) > 0
	}
	return found && status != nil
}

// isTrue is false for an expression that fails.
func isTrue(e *expression, object map[string]any) bool {
	value, err := e.evaluateBool(object)
	return err == nil && value
}

// outcome is how the job ended; nil while it has not. A job that says both has failed.
func (e *progress) outcome(object map[string]any) *job.Outcome {
	failed := isTrue(e.failed, object)
	if !failed && !isTrue(e.succeeded, object) {
		return nil
	}
	message, err := e.message.evaluateString(object)
	if err != nil {
		message = ""
	}
	return &job.Outcome{Success: !failed, Message: kube.Truncate(message, maxMessage)}
}

// reclaimablePods are sorted by name, without zeros. Entries that say nothing are left out.
func (e *progress) reclaimablePods(object map[string]any) []kueue.ReclaimablePod {
	entries, err := e.reclaimable.evaluateEntries(object)
	if err != nil {
		return nil
	}
	counts := map[kueue.PodSetReference]int32{}
	for _, entry := range entries {
		name, _ := entry["name"].(string)
		if count, ok := toInt(entry["count"]); ok && name != "" && count > 0 {
			counts[job.PodSetName(name)] = int32(min(count, math.MaxInt32))
		}
	}
	var result []kueue.ReclaimablePod
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		result = append(result, kueue.ReclaimablePod{Name: name, Count: counts[name]})
	}
	return result
}
