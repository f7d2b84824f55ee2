package integration

import (
	"os"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	configapi "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// written are the verbs that change something: those that audit logs have of everybody.
var written = []string{"create", "update", "patch", "delete", "deletecollection"}

// elsewhere says of rights to write that following the guides does not use what they are for.
var elsewhere = []struct{ right, why string }{
	{`^update .*/finalizers$`, "asked for owner references, where OwnerReferencesPermissionEnforcement is on"},
	{`^update (admissionregistration|apiextensions)\.k8s\.io/|^update /secrets$`, "certificates that the program makes itself: charts/install"},
	{`^create (authentication|authorization)\.k8s\.io/`, "who may read metrics: dispatchers_test.go"},
	{`^(create|patch) switchyard\.dev/capacityreports$`, "the report of a worker, made by its first program; a hub makes none"},
	{`^patch kueue\.x-k8s\.io/cohorts/status$`, "shares of a cohort with fair sharing: configured_test.go"},
	{`^patch kueue\.x-k8s\.io/(admissionchecks|clusterqueues|resourceflavors)$`, "finalizers of what is deleted; quota automation: profiles_test.go"},
	{`^patch kueue\.x-k8s\.io/admissionchecks/status$`, "a check of the worker's own: resourcequota_test.go"},
	{`^(create|delete) kueue\.x-k8s\.io/workloads$`, "of the worker's own jobs, and retention: configured_test.go"},
	{`^patch kueue\.x-k8s\.io/workloads$`, "the priority of a job that is offered: rbac_test.go"},
	{`^(delete|patch) (batch/jobs|jobset\.x-k8s\.io/jobsets)(/status)?$`, "what the fence stops, and jobs that are not dispatched: fence_test.go"},
	{`^patch (/|events\.k8s\.io/)events$`, "an event that happens again"},
	{`^update `, "nothing: what is not named above is patched, and these could go"},
}

// holder is an account whose rights are held against what it did.
type holder struct {
	name, user string
	at         []*clusters.Cluster
	rules      []rbacv1.PolicyRule
}

// holders are the hub's and the workers' programs, and the hub on its workers.
func (r reader) holders() []holder {
	GinkgoHelper()
	users := installation.Users()
	hub := holder{name: "hub", user: users[0], at: r.clusters[:1]}
	worker := holder{name: "worker", user: users[1], at: r.clusters[1:]}
	for _, h := range []*holder{&hub, &worker} {
		all, own, err := config.Roles(h.name)
		Expect(err).NotTo(HaveOccurred())
		h.rules = append(all.Rules, own.Rules...)
	}
	return []holder{hub, worker, {
		name: "hub on its workers", user: users[2], at: r.clusters[1:],
		rules: append(fleet.WorkerRules(dispatched...), fleet.LeaseRules(configapi.DefaultMultiKueueOrigin)...),
	}}
}

// expectRights replays the audit logs against the roles.
func (r reader) expectRights() {
	GinkgoHelper()
	for _, h := range r.holders() {
		used, denied := r.calls(h)
		Expect(denied).To(BeEmpty(), "denied to the %s", h.name)
		var unused []string
		for _, right := range rights(h.rules, written...) {
			// Leases are not in audit logs.
			if !slices.Contains(used, right) && !strings.Contains(right, " coordination.k8s.io/leases") {
				unused = append(unused, right)
			}
		}
		for _, right := range unused {
			i := slices.IndexFunc(elsewhere, func(e struct{ right, why string }) bool { return regexp.MustCompile(e.right).MatchString(right) })
			Expect(i).To(BeNumerically(">=", 0), "the %s may %s, and nobody knows what for", h.name, right)
			GinkgoWriter.Printf("%s: %s: %s\n", h.name, right, elsewhere[i].why)
		}
	}
}

// calls are the writes of an account that were allowed, whatever became of them, and those that were denied. What switchctl
// does by the hub's account is not the hub's doing.
func (r reader) calls(h holder) (used, denied []string) {
	GinkgoHelper()
	for _, c := range h.at {
		for _, event := range auditEvents(&installation.Site{Cluster: c}) {
			if event.User.Username != h.user || strings.HasPrefix(event.UserAgent, "switchctl") {
				continue
			}
			resource := event.ObjectRef.Resource
			if event.ObjectRef.Subresource != "" {
				resource += "/" + event.ObjectRef.Subresource
			}
			text := right(event.Verb, event.ObjectRef.APIGroup, resource)
			to := &used
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

// expectNoComplaints reads the programs' logs, which tell of denied reads too.
func (r reader) expectNoComplaints() {
	GinkgoHelper()
	for _, program := range r.programs {
		log, err := os.ReadFile(program.Log)
		Expect(err).NotTo(HaveOccurred())
		for line := range strings.Lines(string(log)) {
			Expect(line).NotTo(MatchRegexp(`is forbidden: User .* cannot`), program.Log)
		}
	}
}
