package workeraccess_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
)

// looks are the rights of every viewer, beside those to jobs.
var looks = []string{
	"get /events", "get /pods", "get /pods/log", "get events.k8s.io/events", "get kueue.x-k8s.io/workloads",
	"list /events", "list /pods", "list events.k8s.io/events", "list kueue.x-k8s.io/workloads",
	"watch /events", "watch /pods", "watch events.k8s.io/events", "watch kueue.x-k8s.io/workloads",
}

// reads are the rights to read resources.
func reads(resources ...string) []string {
	var list []string
	for _, resource := range resources {
		list = append(list, "get "+resource, "list "+resource, "watch "+resource)
	}
	return list
}

var owners = reads("apps/deployments", "apps/replicasets", "apps/statefulsets", "batch/jobs", "jobset.x-k8s.io/jobsets", "ray.io/rayclusters")

func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}

func TestTheRightsOfAViewerAreEnumerated(t *testing.T) {
	connects := []string{
		"create /pods/attach", "create /pods/exec", "create /pods/portforward", "get /pods/attach", "get /pods/exec", "get /pods/portforward",
	}
	simulation, pods := workeraccess.JobResource{Group: "example.com", Resource: "simulations"}, workeraccess.JobResource{Resource: "pods"}
	for _, c := range []struct {
		level workeraccess.Level
		jobs  []workeraccess.JobResource
		want  []string
	}{
		{workeraccess.LevelLogs, nil, sorted(looks, owners)},
		{workeraccess.LevelLogs, []workeraccess.JobResource{simulation, simulation, pods}, sorted(looks, owners, reads("example.com/simulations"))},
		{workeraccess.LevelExec, nil, sorted(looks, owners, connects)},
	} {
		if diff := cmp.Diff(c.want, formatRules(workeraccess.ViewerRules(c.level, c.jobs...))); diff != "" {
			t.Errorf("%s of %v: %s", c.level, c.jobs, diff)
		}
	}
}

func TestAViewerOfSomeNamespacesHasNoRightsElsewhere(t *testing.T) {
	v := workeraccess.Viewer{Namespace: "kueue-system", ServiceAccount: "switchyard-access", Level: workeraccess.LevelLogs}
	kinds := func() (list []string) {
		for _, obj := range v.Objects() {
			list = append(list, obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetNamespace()+"/"+obj.GetName())
			if binding, ok := obj.(*rbacv1.RoleBinding); ok && (binding.RoleRef.Kind != "Role" || binding.Subjects[0].Namespace != "kueue-system") {
				t.Errorf("%+v", binding)
			}
		}
		return list
	}
	everywhere := []string{
		"ServiceAccount kueue-system/switchyard-access", "ClusterRole /kueue-system-switchyard-access",
		"ClusterRoleBinding /kueue-system-switchyard-access",
	}
	if diff := cmp.Diff(everywhere, kinds()); diff != "" {
		t.Error(diff)
	}
	v.Namespaces = []string{"a", "b"}
	want := []string{
		"ServiceAccount kueue-system/switchyard-access", "Role a/kueue-system-switchyard-access", "RoleBinding a/kueue-system-switchyard-access",
		"Role b/kueue-system-switchyard-access", "RoleBinding b/kueue-system-switchyard-access",
	}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Error(diff)
	}
}
