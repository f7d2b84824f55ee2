package workeraccess

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Level is what a hub may show its users of their jobs on a worker.
type Level string

const (
	// LevelLogs is to look: pods, their logs and events, and the jobs they belong to.
	LevelLogs Level = "logs"
	// LevelExec is to look, and to get into containers: exec, attach and port-forward.
	LevelExec Level = "exec"
)

const (
	// LevelLabel tells on the hub's Secret with a viewer's kubeconfig which Level it is for.
	LevelLabel = "switchyard.dev/access"
	// NamespacesAnnotation names on that Secret the namespaces in which the viewer has its rights, with commas in between. It has them
	// in all namespaces without the annotation.
	NamespacesAnnotation = "switchyard.dev/access-namespaces"
	// RightsLabel marks, on a worker, roles and bindings of a viewer; its value is the account.
	RightsLabel = "switchyard.dev/rights-of"
)

// ViewerSecretName is the Secret of the hub that has a viewer's kubeconfig for a cluster.
func ViewerSecretName(cluster string) string { return cluster + "-access" }

// Viewer is the account by which a hub shows its users what becomes of their jobs on a worker. It is not the account that dispatches: what
// its token lets somebody do changes nothing in the API of the worker, and has no Secret in it.
type Viewer struct {
	// Namespace of the worker's program, in which the account is, and the account's name.
	Namespace, ServiceAccount string
	// Level is what the account may do, Namespaces where: none for everywhere.
	Level      Level
	Namespaces []string
	// Jobs are the kinds of job that the hub can dispatch.
	Jobs []JobResource
}

// between are the kinds that stand between jobs and their pods: the owners of a pod lead through them to its job.
func between() []JobResource {
	return []JobResource{
		{Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "replicasets"}, {Group: "apps", Resource: "statefulsets"},
		{Group: "batch", Resource: "jobs"}, {Group: "jobset.x-k8s.io", Resource: "jobsets"}, {Group: "ray.io", Resource: "rayclusters"},
	}
}

// ViewerRules is the least that a viewer needs. Workloads are there to tell whose a job is: those of other hubs are not shown.
func ViewerRules(level Level, jobs ...JobResource) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{
		policyRule("", "pods", "get", "list", "watch"),
		policyRule("", "pods/log", "get"),
		policyRule("", "events", "get", "list", "watch"),
		policyRule("events.k8s.io", "events", "get", "list", "watch"),
		policyRule(kueue.GroupVersion.Group, "workloads", "get", "list", "watch"),
	}
	if level == LevelExec { // an API server asks for get or create by the method, or for create alone (Kubernetes 1.35)
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"pods/attach", "pods/exec", "pods/portforward"}, Verbs: []string{"create", "get"},
		})
	}
	byGroup := map[string][]string{}
	for _, job := range slices.Concat(jobs, between()) {
		if job.Group != "" { // pods have their rule
			byGroup[job.Group] = append(byGroup[job.Group], job.Resource)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		slices.Sort(byGroup[group])
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{group}, Resources: slices.Compact(byGroup[group]), Verbs: []string{"get", "list", "watch"},
		})
	}
	return rules
}

// Objects are the account and its rights, in an order in which they can be created.
func (v Viewer) Objects() []client.Object {
	account := metav1.ObjectMeta{Namespace: v.Namespace, Name: v.ServiceAccount}
	objects := []client.Object{&corev1.ServiceAccount{TypeMeta: typeMeta("v1", "ServiceAccount"), ObjectMeta: account}}
	named := metav1.ObjectMeta{Name: v.Namespace + "-" + v.ServiceAccount, Labels: map[string]string{RightsLabel: v.ServiceAccount}}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v.Namespace, Name: v.ServiceAccount}}
	rules, group := ViewerRules(v.Level, v.Jobs...), rbacv1.GroupName
	if len(v.Namespaces) == 0 {
		return append(objects,
			&rbacv1.ClusterRole{TypeMeta: typeMeta(group+"/v1", "ClusterRole"), ObjectMeta: named, Rules: rules},
			&rbacv1.ClusterRoleBinding{
				TypeMeta: typeMeta(group+"/v1", "ClusterRoleBinding"), ObjectMeta: named, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "ClusterRole", Name: named.Name},
			})
	}
	for _, namespace := range v.Namespaces {
		within := *named.DeepCopy()
		within.Namespace = namespace
		objects = append(objects,
			&rbacv1.Role{TypeMeta: typeMeta(group+"/v1", "Role"), ObjectMeta: within, Rules: rules},
			&rbacv1.RoleBinding{
				TypeMeta: typeMeta(group+"/v1", "RoleBinding"), ObjectMeta: *within.DeepCopy(), Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "Role", Name: named.Name},
			})
	}
	return objects
}
