package assign

import (
	"slices"
	"strings"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
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
	reason  admission.Reason
	details []failureDetail
}

// failureDetail is one thing that is wrong. It becomes a text only when it is reported.
type failureDetail struct {
	// text is the whole detail; empty for one about quota.
	text             string
	resource, flavor string
	requested        amount.Amount
	// requestedBefore is the part of asked that other pod sets take. missing is how much more would have to be available; 0 if asked
	// exceeds most, all that could ever be.
	requestedBefore, shortfall, maximum amount.Amount
}

// appendTo appends the detail in the words of the public API.
func (d failureDetail) appendTo(b []byte) []byte {
	if d.text != "" {
		return append(b, d.text...)
	}
	if d.shortfall > 0 {
		b = append(b, "insufficient unused quota for "...)
		b = d.appendResourceAndFlavor(b)
		b = append(b, ", "...)
		b = append(b, amount.Format(d.resource, d.shortfall)...)
		return append(b, " more needed"...)
	}
	b = append(b, "insufficient quota for "...)
	b = d.appendResourceAndFlavor(b)
	b = append(b, ", previously considered podsets requests ("...)
	b = append(b, amount.Format(d.resource, d.requestedBefore)...)
	b = append(b, ") + current podset request ("...)
	b = append(b, amount.Format(d.resource, d.requested.Sub(d.requestedBefore))...)
	b = append(b, ") > maximum capacity ("...)
	b = append(b, amount.Format(d.resource, d.maximum)...)
	return append(b, ')')
}

func (d failureDetail) appendResourceAndFlavor(b []byte) []byte {
	b = append(b, d.resource...)
	b = append(b, " in flavor "...)
	return append(b, d.flavor...)
}

// addRequired adds a failure that must be overcome as well: the more severe reason stands.
func (f *failure) addRequired(because admission.Reason, details ...failureDetail) {
	if severity(because) > severity(f.reason) {
		f.reason = because
	}
	f.details = append(f.details, details...)
}

// addAlternative adds the failure of an alternative: the less severe reason stands.
func (f *failure) addAlternative(because admission.Reason, details ...failureDetail) {
	if f.reason == "" || severity(because) < severity(f.reason) {
		f.reason = because
	}
	f.details = append(f.details, details...)
}

func (f *failure) clear() { f.reason, f.details = "", f.details[:0] }

// formatDetails says what is in the way of a pod set. Equal details of several flavors are not told apart, nor merged.
func formatDetails(podSet string, details []failureDetail) string {
	reasons := make([]string, len(details))
	for i, d := range details {
		reasons[i] = string(d.appendTo(nil))
	}
	slices.Sort(reasons)
	return "couldn't assign flavors to pod set " + podSet + ": " + strings.Join(reasons, ", ")
}
