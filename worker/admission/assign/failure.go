package assign

import (
	"strings"

	"switchyard.dev/worker/admission"
)

// severity ranks the reasons of a failed assignment (contract: kueue-api.md 4.6): the larger, the less can be hoped for.
func severity(r admission.Reason) int {
	switch r {
	case admission.NoMatchingFlavor:
		return 4
	case admission.ExceedsMaxQuota:
		return 3
	case admission.WaitingForQuota:
		return 2
	case admission.TopologyPlacementFailed:
		return 1
	default:
		return 0
	}
}

// failure is why something could not be assigned; the zero value is no failure.
type failure struct {
	because admission.Reason
	details []string
}

// also adds a failure that must be overcome as well: the more severe reason stands.
func (f *failure) also(because admission.Reason, details ...string) {
	if severity(because) > severity(f.because) {
		f.because = because
	}
	f.details = append(f.details, details...)
}

// orElse adds the failure of an alternative: the less severe reason stands.
func (f *failure) orElse(because admission.Reason, details ...string) {
	if f.because == "" || severity(because) < severity(f.because) {
		f.because = because
	}
	f.details = append(f.details, details...)
}

// text says what failed, for one or more pod sets.
func (f *failure) text(podSets ...string) string {
	what := "pod set "
	if len(podSets) > 1 {
		what = "pod sets "
	}
	return "couldn't assign flavors to " + what + strings.Join(podSets, ", ") + ": " + strings.Join(f.details, ", ")
}
