package fleet

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// JobResource is a kind of job by its resource name, as RBAC wants it.
type JobResource = schema.GroupResource

// WorkerRules is the least that the hub's account needs on a worker cluster, cluster-wide, for the given kinds of jobs:
// copies and jobs are listed and watched by origin, read once more before and after what cannot be undone, created, and
// deleted; the priority of a copy and its preemption from the hub are patched. Nothing else is ever called; a cluster
// that grants more, as the contract's script does (contract: multikueue.md 11), is fine.
func WorkerRules(jobs ...JobResource) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{kueue.GroupVersion.Group}, Resources: []string{"workloads"},
			Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"}},
		{APIGroups: []string{kueue.GroupVersion.Group}, Resources: []string{"workloads/status"},
			Verbs: []string{"get", "patch", "update"}},
	}
	sorted := slices.SortedFunc(slices.Values(jobs), func(a, b JobResource) int {
		return slices.Compare([]string{a.Group, a.Resource}, []string{b.Group, b.Resource})
	})
	for _, j := range slices.Compact(sorted) {
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{j.Group}, Resources: []string{j.Resource},
				Verbs: []string{"create", "delete", "get", "list", "watch"}},
			rbacv1.PolicyRule{APIGroups: []string{j.Group}, Resources: []string{j.Resource + "/status"}, Verbs: []string{"get"}})
	}
	return rules
}
