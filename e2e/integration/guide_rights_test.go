package integration

import (
	"os"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	configapi "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
)

// readAuditLog are the verbs that the audit logs of the guides' clusters have: all but those of a watch.
var readAuditLog = []string{"get", "create", "update", "patch", "delete", "deletecollection"}

// holder is an account whose rights are held against what it did.
type holder struct {
	name  string
	at    []*clusters.Cluster
	rules []rbacv1.PolicyRule
}

// holders are the hub's and the workers' programs, and the hub on its workers.
func (r reader) holders() []holder {
	GinkgoHelper()
	hub := holder{name: theHub, at: r.clusters[:1]}
	worker := holder{name: theWorker, at: r.clusters[1:]}
	for _, h := range []*holder{&hub, &worker} {
		all, own, err := config.Roles(h.name)
		Expect(err).NotTo(HaveOccurred())
		h.rules = append(all.Rules, own.Rules...)
	}
	return []holder{hub, worker, {
		name: theHubAway, at: r.clusters[1:],
		rules: append(workeraccess.WorkerRules(dispatched...), workeraccess.LeaseRules(configapi.DefaultMultiKueueOrigin)...),
	}}
}

// expectRights replays the audit logs against the roles: nothing was denied, and every right was used here or is one of
// those of which it is known where they are.
func (r reader) expectRights() {
	GinkgoHelper()
	known, others := usedElsewhere(), usedByOtherKinds()
	var unknown []string
	for _, h := range r.holders() {
		used, denied := calls(h.name, h.at)
		denied = slices.DeleteFunc(denied, func(right string) bool { return slices.Contains(used, right) }) // a guide takes rights away
		Expect(denied).To(BeEmpty(), "denied to the %s", h.name)
		granted := permissions(h.rules, readAuditLog...)
		for _, right := range granted {
			if slices.Contains(used, right) {
				continue
			}
			explains := func(u permissionUse) bool { return u.right == right && slices.Contains(u.of, h.name) }
			switch i := slices.IndexFunc(known, explains); {
			case i >= 0:
				GinkgoWriter.Printf("%s: %s: %s\n", h.name, right, known[i].code)
			case !slices.ContainsFunc(others, explains):
				unknown = append(unknown, h.name+": "+right)
			}
		}
		for _, u := range known {
			if slices.Contains(u.of, h.name) && !slices.Contains(granted, u.right) {
				unknown = append(unknown, h.name+" does not have the right that is explained: "+u.right)
			}
		}
	}
	Expect(unknown).To(BeEmpty(), "rights of which nobody knows what for")
}

// expectNoComplaints reads the programs' logs, which tell of denied watches too.
func (r reader) expectNoComplaints() {
	GinkgoHelper()
	for _, program := range r.programs {
		log, err := os.ReadFile(program.Log)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(log)).NotTo(MatchRegexp(`is forbidden: User .* cannot`), program.Log)
	}
}
