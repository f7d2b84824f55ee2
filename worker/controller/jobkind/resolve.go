package jobkind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/configured"
)

// verdict is what becomes of one JobKind.
type verdict struct {
	jobKind *switchyard.JobKind
	// program is nil if the JobKind is not accepted.
	program *configured.Program
	// reason and message are those of the condition Accepted.
	reason, message string
}

// taken tells why no JobKind may declare a kind, as a reason and a message; empty if one may.
type taken func(schema.GroupVersionKind) (reason, message string)

// compiler compiles each generation of a JobKind once. The zero value is ready.
type compiler struct {
	results map[types.UID]result
}

type result struct {
	generation int64
	program    *configured.Program
	errs       field.ErrorList
}

// compile returns the program of a JobKind, or what is wrong with it.
func (c *compiler) compile(declared *switchyard.JobKind) (*configured.Program, field.ErrorList) {
	known, found := c.results[declared.UID]
	if found && known.generation == declared.Generation {
		return known.program, known.errs
	}
	is := result{generation: declared.Generation}
	is.program, is.errs = configured.Compile(&declared.Spec)
	if c.results == nil {
		c.results = map[types.UID]result{}
	}
	c.results[declared.UID] = is
	return is.program, is.errs
}

// forgetOthers drops what JobKinds became that are no more.
func (c *compiler) forgetOthers(all []switchyard.JobKind) {
	for uid := range c.results {
		if !slices.ContainsFunc(all, func(k switchyard.JobKind) bool { return k.UID == uid }) {
			delete(c.results, uid)
		}
	}
}

// resolve decides about all JobKinds, the oldest first: of several sound ones for a kind that is accepted. Those that are being deleted
// are passed over.
func (c *compiler) resolve(all []switchyard.JobKind, isTaken taken) []verdict {
	c.forgetOthers(all)
	ordered := slices.Clone(all)
	slices.SortFunc(ordered, func(a, b switchyard.JobKind) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	var verdicts []verdict
	owners := map[schema.GroupKind]string{}
	for i := range ordered {
		declared := &ordered[i]
		if !declared.DeletionTimestamp.IsZero() {
			continue
		}
		v := verdict{jobKind: declared}
		program, errs := c.compile(declared)
		gvk := schema.GroupVersionKind{Group: declared.Spec.Group, Version: declared.Spec.Version, Kind: declared.Spec.Kind}
		owner := owners[gvk.GroupKind()]
		reason, message := isTaken(gvk)
		switch {
		case len(errs) > 0:
			v.reason, v.message = switchyard.JobKindInvalid, errs.ToAggregate().Error()
		case reason != "":
			v.reason, v.message = reason, message
		case owner != "":
			v.reason, v.message = switchyard.JobKindDuplicate, fmt.Sprintf("JobKind %s declares %s, and is older", owner, gvk.GroupKind())
		default:
			owners[gvk.GroupKind()] = declared.Name
			v.program, v.reason, v.message = program, switchyard.JobKindSound, "The declaration is sound"
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}
