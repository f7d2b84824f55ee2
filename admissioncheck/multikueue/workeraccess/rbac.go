// Package workeraccess knows the accounts that a hub has on a worker cluster, with exactly the rights that it uses: the one by which it
// dispatches, and the viewer, by which it shows its users their pods there.
package workeraccess

import (
	"bytes"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/fence"
)

// JobResource is a kind of job by its resource name, as RBAC wants it.
type JobResource = schema.GroupResource

// WorkerRules is the least that the hub's account needs on a worker cluster, cluster-wide, for the given kinds of jobs:
// copies and jobs are listed and watched by origin, read once more before and after what cannot be undone, created, and
// deleted; priority and finalizers of a copy are patched, and in its status its eviction from the hub and its preemption
// gate; queues and the capacity report are watched; by the UID of the namespace kube-system the cluster is known from another.
// Nothing else is ever called; a cluster that grants more, as the
// contract's script does (contract: multikueue.md 11), is fine, and one that does not let its queues be seen is placed on
// without knowing them.
func WorkerRules(jobs ...JobResource) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{
		policyRule(kueue.GroupVersion.Group, "workloads", "create", "delete", "get", "list", "patch", "watch"),
		policyRule(kueue.GroupVersion.Group, "workloads/status", "patch"),
		{
			APIGroups: []string{kueue.GroupVersion.Group}, Resources: []string{"clusterqueues", "localqueues"},
			Verbs: []string{"list", "watch"},
		},
		policyRule(switchyard.GroupVersion.Group, "capacityreports", "list", "watch"),
		identityRule(),
	}
	sorted := slices.SortedFunc(slices.Values(jobs), func(a, b JobResource) int {
		return slices.Compare([]string{a.Group, a.Resource}, []string{b.Group, b.Resource})
	})
	for _, j := range slices.Compact(sorted) {
		rules = append(rules, policyRule(j.Group, j.Resource, "create", "delete", "get", "list", "watch"))
	}
	return rules
}

// FollowRules is what the hub's account needs besides for kinds whose jobs follow changes of the hub's (contract: job-kinds.md 7, remote spec
// sync).
func FollowRules(jobs ...JobResource) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, j := range jobs {
		rules = append(rules, policyRule(j.Group, j.Resource, "patch"))
	}
	return rules
}

// identityRule is the right to read by what the cluster is known.
func identityRule() rbacv1.PolicyRule {
	identity := policyRule("", "namespaces", "get")
	identity.ResourceNames = []string{metav1.NamespaceSystem}
	return identity
}

// LeaseRules is what the account of the hub with that origin needs in the namespace of the worker's program: to renew its
// own run lease, and to see that the worker's fence is alive. Only creation cannot be restricted to a name.
func LeaseRules(origin string) []rbacv1.PolicyRule {
	own := policyRule("coordination.k8s.io", "leases", "get", "update")
	own.ResourceNames = []string{fence.LeaseName(origin)}
	other := policyRule("coordination.k8s.io", "leases", "get")
	other.ResourceNames = []string{switchyard.FenceLease}
	return []rbacv1.PolicyRule{policyRule("coordination.k8s.io", "leases", "create"), own, other}
}

func policyRule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// Access is the account by which a hub works on a worker cluster.
type Access struct {
	// Namespace of the worker's program, in which the account is, and the account's name.
	Namespace, ServiceAccount string
	// Origin of the hub.
	Origin string
	// Jobs are the kinds that the hub dispatches, Followed those of them whose jobs follow changes of the hub's while they run.
	Jobs, Followed []JobResource
}

// Objects are the account and its rights, in an order in which they can be created.
func (a Access) Objects() []client.Object {
	named := metav1.ObjectMeta{Name: a.Namespace + "-" + a.ServiceAccount}
	within := metav1.ObjectMeta{Namespace: a.Namespace, Name: a.ServiceAccount}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.Namespace, Name: a.ServiceAccount}}
	group := rbacv1.GroupName
	return []client.Object{
		&corev1.Namespace{TypeMeta: typeMeta("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}},
		&corev1.ServiceAccount{TypeMeta: typeMeta("v1", "ServiceAccount"), ObjectMeta: within},
		&rbacv1.ClusterRole{TypeMeta: typeMeta(group+"/v1", "ClusterRole"), ObjectMeta: named, Rules: append(WorkerRules(a.Jobs...), FollowRules(a.Followed...)...)},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: typeMeta(group+"/v1", "ClusterRoleBinding"), ObjectMeta: named, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "ClusterRole", Name: named.Name},
		},
		&rbacv1.Role{TypeMeta: typeMeta(group+"/v1", "Role"), ObjectMeta: within, Rules: LeaseRules(a.Origin)},
		&rbacv1.RoleBinding{
			TypeMeta: typeMeta(group+"/v1", "RoleBinding"), ObjectMeta: within, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "Role", Name: within.Name},
		},
	}
}

func typeMeta(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// Manifest is Objects as YAML, to be applied on the worker.
func (a Access) Manifest() ([]byte, error) {
	var text bytes.Buffer
	for i, object := range a.Objects() {
		if i > 0 {
			text.WriteString("---\n")
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("write %T: %w", object, err)
		}
		delete(fields, "spec") // of the namespace: nothing is specified
		delete(fields, "status")
		document, err := yaml.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("write %T: %w", object, err)
		}
		text.Write(document)
	}
	return text.Bytes(), nil
}
