package resourcequota

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"switchyard.dev/admissioncheck/resourcequota/quotafit"
	"switchyard.dev/worker/admission/amount"
)

// convertQuotas turns ResourceQuotas into what room looks at, by name.
func convertQuotas(list []corev1.ResourceQuota) []quotafit.Quota {
	var quotas []quotafit.Quota
	for i := range list {
		q := &list[i]
		if q.DeletionTimestamp.IsZero() {
			quotas = append(quotas, quotafit.Quota{Name: q.Name, Scopes: convertScopes(q.Spec), Hard: hardLimits(q), Used: usedAmounts(q)})
		}
	}
	slices.SortFunc(quotas, func(a, b quotafit.Quota) int { return cmp.Compare(a.Name, b.Name) })
	return quotas
}

func convertScopes(spec corev1.ResourceQuotaSpec) []quotafit.Scope {
	var scopes []quotafit.Scope
	for _, name := range spec.Scopes {
		scopes = append(scopes, quotafit.Scope{Name: quotafit.ScopeName(name), Operator: quotafit.Exists})
	}
	if spec.ScopeSelector == nil {
		return scopes
	}
	for _, e := range spec.ScopeSelector.MatchExpressions {
		scopes = append(scopes, quotafit.Scope{Name: quotafit.ScopeName(e.ScopeName), Operator: quotafit.Operator(e.Operator), Values: e.Values})
	}
	return scopes
}

// hardLimits are the limits: the spec's, or the status's where those are lower still, which is what the API server enforces
// until the status has followed the spec.
func hardLimits(q *corev1.ResourceQuota) amount.Vector {
	hard := toVector(q.Spec.Hard)
	enforced := toVector(q.Status.Hard)
	for i := range hard {
		if limit, found := enforced.Lookup(hard[i].Resource); found {
			hard[i].Amount = min(hard[i].Amount, limit)
		}
	}
	return hard
}

// usedAmounts is what counts, for resources that are both counted and enforced already.
func usedAmounts(q *corev1.ResourceQuota) amount.Vector {
	used := corev1.ResourceList{}
	for name, u := range q.Status.Used {
		if hasResource(q.Status.Hard, name) {
			used[name] = u
		}
	}
	return toVector(used)
}
