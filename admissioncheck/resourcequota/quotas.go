package resourcequota

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"switchyard.dev/admissioncheck/resourcequota/room"
	"switchyard.dev/worker/admission/amount"
)

// quotasOf turns ResourceQuotas into what room looks at, by name.
func quotasOf(list []corev1.ResourceQuota) []room.Quota {
	var quotas []room.Quota
	for i := range list {
		q := &list[i]
		if q.DeletionTimestamp.IsZero() {
			quotas = append(quotas, room.Quota{Name: q.Name, Scopes: scopesOf(q.Spec), Hard: hardOf(q), Used: usedOf(q)})
		}
	}
	slices.SortFunc(quotas, func(a, b room.Quota) int { return cmp.Compare(a.Name, b.Name) })
	return quotas
}

func scopesOf(spec corev1.ResourceQuotaSpec) []room.Scope {
	var scopes []room.Scope
	for _, name := range spec.Scopes {
		scopes = append(scopes, room.Scope{Name: room.ScopeName(name), Operator: room.Exists})
	}
	if spec.ScopeSelector == nil {
		return scopes
	}
	for _, e := range spec.ScopeSelector.MatchExpressions {
		scopes = append(scopes, room.Scope{Name: room.ScopeName(e.ScopeName), Operator: room.Operator(e.Operator), Values: e.Values})
	}
	return scopes
}

// hardOf are the limits: the spec's, or the status's where those are lower still, which is what the API server enforces
// until the status has followed the spec.
func hardOf(q *corev1.ResourceQuota) amount.Vector {
	hard := vectorOf(q.Spec.Hard)
	enforced := vectorOf(q.Status.Hard)
	for i := range hard {
		if limit, found := enforced.Get(hard[i].Resource); found {
			hard[i].Amount = min(hard[i].Amount, limit)
		}
	}
	return hard
}

// usedOf is what counts, for resources that are both counted and enforced already.
func usedOf(q *corev1.ResourceQuota) amount.Vector {
	used := corev1.ResourceList{}
	for name, u := range q.Status.Used {
		if has(q.Status.Hard, name) {
			used[name] = u
		}
	}
	return vectorOf(used)
}
