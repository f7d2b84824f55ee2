package workeraccess_test

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	"switchyard.dev/worker/job/all"
)

var update = flag.Bool("update", false, "rewrite the manifest")

// manifest is what users apply on a worker.
const manifest = "../../../config/samples/workers/access.yaml"

const manifestHead = `# What a hub may do on this worker: see its queue's copies of the hub's workloads through, and the jobs that belong to
# them; look at the queues; and renew the lease by which the worker knows that the hub is there. Nothing else. It is for
# every kind of job that can be dispatched: leave out what you do not use. A hub whose multiKueue.origin is not
# "multikueue" has another name for its lease: switchyard-hub-<origin>. See ../hub/3-workers.yaml for the token.
# Generated: go test ./admissioncheck/multikueue/fleet -run Manifest -update
`

func sampleAccess() workeraccess.Access {
	a := workeraccess.Access{Namespace: "kueue-system", ServiceAccount: "switchyard-hub", Origin: "multikueue"}
	for _, kind := range append(all.Kinds(), all.Mirrored()...) {
		if kind.Mirrorable() {
			resource, _ := meta.UnsafeGuessKindToResource(kind.GVK())
			a.Jobs = append(a.Jobs, resource.GroupResource())
			if kind.FollowsSpec() {
				a.Followed = append(a.Followed, resource.GroupResource())
			}
		}
	}
	return a
}

func TestTheManifestForWorkersIsThatOfEveryKindThatCanBeDispatched(t *testing.T) {
	body, err := sampleAccess().Manifest()
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte(manifestHead), body...)
	if *update {
		if err := os.WriteFile(manifest, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the manifest is out of date; run this test with -update:\n%s", cmp.Diff(string(want), string(got)))
	}
}

// formatRules renders rules as "verb group/resource[ name]".
func formatRules(rules []rbacv1.PolicyRule) []string {
	var list []string
	for _, r := range rules {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				text := verb + " " + r.APIGroups[0] + "/" + resource
				if len(r.ResourceNames) > 0 {
					text += " " + strings.Join(r.ResourceNames, ",")
				}
				list = append(list, text)
			}
		}
	}
	slices.Sort(list)
	return list
}

func TestTheRightsOfAHubInTheNamespaceOfAWorkersProgramAreThoseOfItsLease(t *testing.T) {
	want := []string{
		"create coordination.k8s.io/leases",
		"get coordination.k8s.io/leases switchyard-fence",
		"get coordination.k8s.io/leases switchyard-hub-east",
		"update coordination.k8s.io/leases switchyard-hub-east",
	}
	if diff := cmp.Diff(want, formatRules(workeraccess.LeaseRules("east"))); diff != "" {
		t.Error(diff)
	}
}

func TestTheRightsOfAHubOnAWorkerAreEnumerated(t *testing.T) {
	want := []string{
		"create batch/jobs", "create kueue.x-k8s.io/workloads",
		"delete batch/jobs", "delete kueue.x-k8s.io/workloads",
		"get /namespaces kube-system", "get batch/jobs", "get kueue.x-k8s.io/workloads",
		"list batch/jobs", "list kueue.x-k8s.io/clusterqueues", "list kueue.x-k8s.io/localqueues", "list kueue.x-k8s.io/workloads",
		"list switchyard.dev/capacityreports",
		"patch kueue.x-k8s.io/workloads", "patch kueue.x-k8s.io/workloads/status",
		"watch batch/jobs", "watch kueue.x-k8s.io/clusterqueues", "watch kueue.x-k8s.io/localqueues", "watch kueue.x-k8s.io/workloads",
		"watch switchyard.dev/capacityreports",
	}
	job := workeraccess.JobResource{Group: "batch", Resource: "jobs"}
	if diff := cmp.Diff(want, formatRules(workeraccess.WorkerRules(job, job))); diff != "" {
		t.Error(diff)
	}
}
