package assign

import (
	"slices"
	"strconv"

	"switchyard.dev/worker/admission"
)

// FlavorMismatch says why the pods of a pod set may not run on the nodes of a flavor whatever the quota, empty if they may; keys
// are the label keys of the flavor's group.
func FlavorMismatch(p *admission.PodSet, flavor *admission.FlavorTableEntry, keys []string) string {
	return flavorMismatch(p, *flavor, keys)
}

// flavorMismatch says why the pods of a pod set may not run on the flavor's nodes, empty if they may.
func flavorMismatch(p *admission.PodSet, flavor admission.FlavorTableEntry, keys []string) string {
	f := flavor.Flavor
	if f == nil {
		return "flavor " + flavor.Name + " not found"
	}
	if taint := firstUntoleratedTaint(f, p.Tolerations); taint != nil {
		return "untolerated taint " + formatTaint(taint) + " in flavor " + f.Name
	}
	if !matchesNodeSelector(p.NodeSelector, f, keys) {
		return "flavor " + f.Name + " doesn't match node affinity"
	}
	if !matchesAffinity(p.Affinity, f, keys) {
		return "flavor " + f.Name + " doesn't match node affinity"
	}
	return ""
}

// firstUntoleratedTaint returns the first taint that keeps pods off and that neither the pod nor the flavor tolerates, nil if none.
func firstUntoleratedTaint(f *admission.Flavor, pod []admission.Toleration) *admission.Taint {
	for i := range f.Taints {
		taint := &f.Taints[i]
		if taint.Effect != admission.NoSchedule && taint.Effect != admission.NoExecute {
			continue
		}
		tolerates := func(t admission.Toleration) bool { return isTolerated(taint, t) }
		if !slices.ContainsFunc(pod, tolerates) && !slices.ContainsFunc(f.Tolerations, tolerates) {
			return taint
		}
	}
	return nil
}

// isTolerated reports whether the toleration tolerates the taint, as the Kubernetes scheduler would see it.
func isTolerated(taint *admission.Taint, t admission.Toleration) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != taint.Key && t.Key != "" {
		return false
	}
	switch t.Operator {
	case admission.TolerateExists:
		return true
	case admission.TolerateEqual, "":
		return t.Key != "" && t.Value == taint.Value
	default:
		return false
	}
}

// formatTaint writes a taint as the public API does: key, value, effect and the time when it was added, which flavors do not say.
func formatTaint(t *admission.Taint) string {
	return "{" + t.Key + " " + t.Value + " " + string(t.Effect) + " <nil>}"
}

// matchesNodeSelector reports whether the flavor has the labels of the node selector, as far as they have one of the keys.
func matchesNodeSelector(selector []admission.Label, f *admission.Flavor, keys []string) bool {
	for _, want := range selector {
		if !isGroupLabelKey(want.Key, keys) {
			continue
		}
		if value, found := flavorLabel(f, want.Key); !found || value != want.Value {
			return false
		}
	}
	return true
}

// matchesAffinity reports whether some term holds for the flavor, of each term only the requirements on one of the keys. A term
// with none of those could hold on some node of any flavor, so that it holds; no terms at all hold, too.
func matchesAffinity(terms []admission.Term, f *admission.Flavor, keys []string) bool {
	if len(terms) == 0 {
		return true
	}
	return slices.ContainsFunc(terms, func(term admission.Term) bool {
		return !slices.ContainsFunc(term, func(r admission.Requirement) bool {
			return isGroupLabelKey(r.Key, keys) && !matchesRequirement(r, f)
		})
	})
}

// matchesRequirement reports whether the requirement holds for the flavor's labels, as it would for those of a node.
func matchesRequirement(r admission.Requirement, f *admission.Flavor) bool {
	value, found := flavorLabel(f, r.Key)
	switch r.Operator {
	case admission.In:
		return found && slices.Contains(r.Values, value)
	case admission.NotIn:
		return !found || !slices.Contains(r.Values, value)
	case admission.Exists:
		return found
	case admission.DoesNotExist:
		return !found
	case admission.Gt, admission.Lt:
		return found && matchesComparison(r, value)
	default:
		return false
	}
}

// matchesComparison compares the label's value with the single value of Gt or Lt; texts that are not integers never hold.
func matchesComparison(r admission.Requirement, value string) bool {
	if len(r.Values) != 1 {
		return false
	}
	is, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil {
		return false
	}
	if r.Operator == admission.Gt {
		return is > bound
	}
	return is < bound
}

// isGroupLabelKey reports whether a label is one by which the flavors of the resource group differ. The keys are sorted.
// Selectors on other labels are the scheduler's matter.
func isGroupLabelKey(key string, keys []string) bool {
	_, found := slices.BinarySearch(keys, key)
	return found
}

func flavorLabel(f *admission.Flavor, key string) (string, bool) {
	for _, l := range f.Labels {
		if l.Key == key {
			return l.Value, true
		}
	}
	return "", false
}
