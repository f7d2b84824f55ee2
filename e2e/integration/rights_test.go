package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/worker/job/all"
)

// The accounts whose rights are looked at: the hub's and the workers' programs, each in its own cluster, and the hub on its
// workers.
const (
	theHub, theWorker, theHubAway = "hub", "worker", "hub on its workers"
)

// userOf is the name by which API servers know an account.
func userOf(holder string) string {
	return installation.Users()[slices.Index([]string{theHub, theWorker, theHubAway}, holder)]
}

// permissionUse is what a right is there for that following the guides does not need, or not always.
type permissionUse struct {
	right string
	// of are the accounts that have it for this.
	of []string
	// code is the file that makes the call.
	code string
	// spec is the file of specs by which each of the accounts, or else the one named by, makes it whenever they run. Without
	// one, the call depends on which program is quicker, or is made where the comment says.
	spec, by string
}

// usedElsewhere are the rights that following the guides does not use, or may not use.
func usedElsewhere() []permissionUse {
	both, hubAlone, workerAlone, away := []string{theHub, theWorker}, []string{theHub}, []string{theWorker}, []string{theHubAway}
	const named = "admissionregistration.k8s.io/%[1]swebhookconfigurations kueue-%[1]s-webhook-configuration"
	return []permissionUse{
		// The program's own certificate: charts/install waits until it is everywhere, with these roles.
		{right: "update /secrets", of: both, code: "worker/manager/certificates.go"},
		{right: "update " + fmt.Sprintf(named, "mutating"), of: both, code: "worker/manager/certificates.go"},
		{right: "update " + fmt.Sprintf(named, "validating"), of: both, code: "worker/manager/certificates.go"},
		{right: "update apiextensions.k8s.io/customresourcedefinitions clusterqueues.kueue.x-k8s.io cohorts.kueue.x-k8s.io " +
			"localqueues.kueue.x-k8s.io multikueueclusters.kueue.x-k8s.io workloads.kueue.x-k8s.io", of: both, code: "worker/manager/certificates.go"},
		// Asked for by an API server with OwnerReferencesPermissionEnforcement when a Workload gets its job as owner.
		{right: "update batch/jobs/finalizers", of: both, code: "worker/job/compose.go"},
		{right: "update jobset.x-k8s.io/jobsets/finalizers", of: both, code: "worker/job/compose.go"},
		// Leases are not in audit logs: the program's election, the fence's own lease, and the hub's lease on a worker.
		{right: "create coordination.k8s.io/leases", of: both, code: "worker/manager/manager.go"},
		{right: "get coordination.k8s.io/leases", of: both, code: "worker/manager/manager.go"},
		{right: "update coordination.k8s.io/leases", of: both, code: "worker/manager/manager.go"},
		{right: "patch coordination.k8s.io/leases", of: both, code: "worker/fence/guard/lease_holder.go"},
		{right: "create coordination.k8s.io/leases", of: away, code: "admissioncheck/multikueue/fleet/lease.go"},
		{right: "get coordination.k8s.io/leases switchyard-hub-multikueue", of: away, code: "admissioncheck/multikueue/fleet/lease.go"},
		{right: "update coordination.k8s.io/leases switchyard-hub-multikueue", of: away, code: "admissioncheck/multikueue/fleet/lease.go"},
		{right: "get coordination.k8s.io/leases switchyard-fence", of: away, code: "admissioncheck/multikueue/fleet/lease.go"},
		// Of this one namespace; used whenever the hub connects, but rights that were used are noted without names.
		{right: "get /namespaces kube-system", of: away, code: "admissioncheck/multikueue/fleet/identity.go"},
		// Read from the API server what the cache does not have yet, or no more.
		{right: "get /namespaces", of: both, code: "worker/job/observe.go"},
		{right: "get batch/jobs", of: both, code: "worker/job/retention.go"},
		{right: "get jobset.x-k8s.io/jobsets", of: both, code: "worker/job/retention.go"},
		{right: "get kueue.x-k8s.io/localqueues", of: both, code: "worker/job/webhook.go"},
		{right: "get kueue.x-k8s.io/clusterqueues", of: both, code: "worker/job/webhook.go"},
		{right: "get kueue.x-k8s.io/admissionchecks", of: both, code: "worker/job/webhook.go"},
		{right: "get kueue.x-k8s.io/workloadpriorityclasses", of: both, code: "worker/job/priority.go"},
		{right: "get scheduling.k8s.io/priorityclasses", of: both, code: "worker/job/priority.go"},
		{right: "get kueue.x-k8s.io/workloads", of: both, code: "worker/job/execute.go"},
		{right: "get jobset.x-k8s.io/jobsets", of: away, code: "admissioncheck/multikueue/mirror/remote.go"},
		// A Job that is suspended keeps its start time if its controller has not been quick enough to take it away.
		{right: "patch batch/jobs/status", of: workerAlone, code: "worker/job/execute.go"},
		// An event that happens again.
		{right: "patch events.k8s.io/events", of: both, code: "worker/kube/events.go"},
		// Asked for when the report is applied for the first time; audit logs call that a patch.
		{right: "create switchyard.dev/capacityreports", of: both, code: "worker/capacity/reconciler.go"},

		{right: "create authentication.k8s.io/tokenreviews", of: both, code: "worker/manager/manager.go", spec: "dispatchers_test.go", by: theHub},
		{right: "create authorization.k8s.io/subjectaccessreviews", of: both, code: "worker/manager/manager.go", spec: "dispatchers_test.go", by: theHub},
		{right: "delete batch/jobs", of: both, code: "worker/job/retention.go", spec: "configured_test.go", by: theHub},
		{right: "delete jobset.x-k8s.io/jobsets", of: both, code: "worker/job/retention.go", spec: "configured_test.go", by: theHub},
		{right: "delete kueue.x-k8s.io/workloads", of: both, code: "worker/controller/workload/reconciler.go", spec: "configured_test.go", by: theHub},
		{right: "patch kueue.x-k8s.io/cohorts/status", of: both, code: "worker/controller/queue/status.go", spec: "configured_test.go", by: theHub},
		{right: "patch switchyard.dev/capacityreports", of: hubAlone, code: "hub/hub.go", spec: "configured_test.go"},
		{right: "patch kueue.x-k8s.io/clusterqueues", of: both, code: "worker/controller/queue/status.go", spec: "switchctl_test.go"},
		{right: "patch kueue.x-k8s.io/resourceflavors", of: both, code: "worker/controller/queue/resourceflavor.go", spec: "switchctl_test.go"},
		{right: "create kueue.x-k8s.io/workloads", of: workerAlone, code: "worker/job/execute.go", spec: "queueing_test.go"},
		{right: "patch /pods", of: both, code: "worker/job/podgate/reconciler.go", spec: "elastic_test.go", by: theWorker},
		{right: "patch kueue.x-k8s.io/admissionchecks", of: workerAlone, code: "worker/controller/queue/admissioncheck.go", spec: "resourcequota_test.go"},
		{right: "patch kueue.x-k8s.io/admissionchecks/status", of: workerAlone, code: "admissioncheck/runner/checks.go", spec: "resourcequota_test.go"},
		{right: "patch kueue.x-k8s.io/workloads", of: away, code: "admissioncheck/multikueue/mirror/remote.go", spec: "rbac_test.go"},

		// Priority and fairness says of a FlowSchema whether its level is there: these API servers have none.
		{right: "patch flowcontrol.apiserver.k8s.io/flowschemas/status", of: both, code: "worker/apiserver/identities.go"},

		// Kinds that JobKinds declare: there are none here (e2e/jobkinds).
		{right: "get switchyard.dev/jobkinds", of: both, code: "worker/controller/jobkind/reconciler.go"},
		{right: "patch switchyard.dev/jobkinds/status", of: both, code: "worker/controller/jobkind/reconciler.go"},
		{right: "create authorization.k8s.io/selfsubjectaccessreviews", of: both, code: "worker/controller/jobkind/access.go"},
		{right: "update admissionregistration.k8s.io/mutatingwebhookconfigurations switchyard-mutating-jobkinds", of: both, code: "worker/controller/jobkind/webhook_rules.go"},
		{right: "update admissionregistration.k8s.io/validatingwebhookconfigurations switchyard-validating-jobkinds", of: both, code: "worker/controller/jobkind/webhook_rules.go"},
	}
}

// usedByOtherKinds are rights on kinds whose operators do not run in these specs, for those who have them.
func usedByOtherKinds() []permissionUse {
	var uses []permissionUse
	for _, kind := range all.Kinds() {
		name := kind.Name()
		if name == "batch/job" || name == "jobset.x-k8s.io/jobset" {
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(kind.GVK())
		at := resource.Group + "/" + resource.Resource
		for _, verb := range []string{"get", "list", "watch", "patch", "delete"} {
			uses = append(uses, permissionUse{right: verb + " " + at, of: []string{theHub, theWorker}, code: "worker/job/setup.go"})
		}
		for _, verb := range []string{"create", "get", "list", "watch", "patch", "delete"} {
			uses = append(uses, permissionUse{right: verb + " " + at, of: []string{theHubAway}, code: "admissioncheck/multikueue/mirror/remote.go"})
		}
		uses = append(uses,
			permissionUse{right: "update " + at + "/finalizers", of: []string{theHub, theWorker}, code: "worker/job/compose.go"},
			permissionUse{right: "patch " + at + "/status", of: []string{theHub, theWorker}, code: "worker/job/execute.go"})
	}
	uses = append(uses, usedByPods()...)
	for _, verb := range []string{"get", "list", "watch"} {
		for _, runtime := range []string{"trainingruntimes", "clustertrainingruntimes"} {
			uses = append(uses, permissionUse{right: verb + " trainer.kubeflow.org/" + runtime, of: []string{theHub, theWorker}, code: "worker/job/inputs.go"})
		}
	}
	return uses
}

// usedByPods are rights for pods, and what has its pods wait, which these specs do not serve (e2e/pods).
func usedByPods() []permissionUse {
	both := []string{theHub, theWorker}
	uses := []permissionUse{
		{right: "patch /pods/status", of: both, code: "worker/job/podgroup/act.go"},
		{right: "update /pods/finalizers", of: both, code: "worker/job/compose.go"},
		{right: "get apps/replicasets", of: both, code: "worker/job/owners.go"},
		{right: "patch leaderworkerset.x-k8s.io/leaderworkersets", of: []string{theHubAway}, code: "admissioncheck/multikueue/mirror/job.go"},
	}
	for _, verb := range []string{"get", "list", "watch", "patch", "delete"} {
		uses = append(uses, permissionUse{right: verb + " /pods", of: both, code: "worker/job/podgroup/reconciler.go"})
	}
	for _, verb := range []string{"create", "get", "list", "watch", "delete"} {
		uses = append(uses,
			permissionUse{right: verb + " /pods", of: []string{theHubAway}, code: "admissioncheck/multikueue/mirror/members.go"},
			permissionUse{right: verb + " apps/statefulsets", of: []string{theHubAway}, code: "admissioncheck/multikueue/mirror/remote.go"},
			permissionUse{right: verb + " leaderworkerset.x-k8s.io/leaderworkersets", of: []string{theHubAway}, code: "admissioncheck/multikueue/mirror/remote.go"})
	}
	for _, verb := range []string{"get", "list", "watch"} {
		uses = append(uses,
			permissionUse{right: verb + " apps/statefulsets", of: both, code: "worker/job/statefulset/reconciler.go"},
			permissionUse{right: verb + " leaderworkerset.x-k8s.io/leaderworkersets", of: both, code: "worker/job/leaderworkerset/reconciler.go"})
	}
	return uses
}

// usedRights is what the report entries are called that say, by account, which rights were used at clusters that may be gone by now.
// Ginkgo brings the reports of all its processes together.
const usedRights = "rights used by the "

// reportUsedRights keeps what was done at clusters that are about to be stopped.
func reportUsedRights(sites ...*installation.Site) {
	GinkgoHelper()
	for _, holder := range []string{theHub, theWorker, theHubAway} {
		var all []string
		for _, s := range sites {
			if s == nil {
				continue
			}
			used, _ := calls(holder, []*clusters.Cluster{s.Cluster})
			all = append(all, used...)
		}
		AddReportEntry(usedRights+holder, strings.Join(all, "\n"), ReportEntryVisibilityNever)
	}
}

// reportedRights are the rights that an account has used at any cluster of any process.
func reportedRights(report Report, holder string) []string {
	var all []string
	for i := range report.SpecReports {
		for _, entry := range report.SpecReports[i].ReportEntries {
			if entry.Name == usedRights+holder {
				all = append(all, strings.Split(entry.StringRepresentation(), "\n")...)
			}
		}
	}
	return all
}

// calls are what an account was allowed, whatever became of it, and what it was denied. What switchctl does by the hub's
// account is not the hub's doing.
func calls(holder string, at []*clusters.Cluster) (used, denied []string) {
	GinkgoHelper()
	for _, c := range at {
		for _, event := range auditEvents(&installation.Site{Cluster: c}) {
			if event.User.Username != userOf(holder) || strings.HasPrefix(event.UserAgent, "switchctl") {
				continue
			}
			ref := event.ObjectRef
			resource := ref.Resource
			if ref.Subresource != "" {
				resource += "/" + ref.Subresource
			}
			to, text := &used, permission(event.Verb, ref.APIGroup, resource)
			if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
				to = &denied
			}
			if !slices.Contains(*to, text) {
				*to = append(*to, text)
			}
		}
	}
	return used, denied
}

var _ = AfterSuite(func() { reportUsedRights(hub, w1, w2) })

// The table is believed about where a right is used: if all of those specs were run, the audit logs have it.
var _ = ReportAfterSuite("rights are used where that is said", func(report Report) {
	used := map[string][]string{}
	for _, account := range []string{theHub, theWorker, theHubAway} {
		used[account] = reportedRights(report, account)
	}
	var wrong []string
	for _, u := range slices.Concat(usedElsewhere(), usedByOtherKinds()) {
		if _, err := os.Stat(filepath.Join("..", "..", u.code)); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", u.right, err))
		}
		accounts := u.of
		if u.by != "" {
			accounts = []string{u.by}
		}
		for _, account := range accounts {
			if u.spec != "" && allPassed(report, u.spec) && !slices.Contains(used[account], u.right) {
				wrong = append(wrong, fmt.Sprintf("the %s does not %s in %s", account, u.right, u.spec))
			}
		}
	}
	Expect(wrong).To(BeEmpty())
})

// allPassed tells whether each spec of a file was run and passed.
func allPassed(report Report, file string) bool {
	specs := 0
	for i := range report.SpecReports {
		s := &report.SpecReports[i]
		if s.LeafNodeType != types.NodeTypeIt || filepath.Base(s.LeafNodeLocation.FileName) != file {
			continue
		}
		if s.State != types.SpecStatePassed {
			return false
		}
		specs++
	}
	return specs > 0
}
