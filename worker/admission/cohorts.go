package admission

import "switchyard.dev/worker/admission/quota"

// CohortStatus is how a cohort stands.
type CohortStatus struct {
	Name string
	// Parent and Root are the cohort above and the last above that, the cohort itself if there is none. In and below a cycle
	// of cohorts both are empty.
	Parent, Root string
	// Share is that of the cohort among its siblings (contract: kueue-api.md 4.8).
	Share quota.Share
	// Admitted counts the admitted workloads of all queues below.
	Admitted int
	// Subtree is by flavor and resource.
	Subtree []quota.Balance
}

// Cohorts returns how the cohorts stand, by name; those that are only named by others are among them.
func (s *Status) Cohorts() []CohortStatus {
	nodes := s.quota.Cohorts()
	list := make([]CohortStatus, 0, len(nodes))
	for _, n := range nodes {
		list = append(list, s.cohortStatus(n))
	}
	return list
}

// Cohort returns how one cohort stands; false if it is neither declared nor named by a queue or cohort.
func (s *Status) Cohort(name string) (CohortStatus, bool) {
	n := s.quota.CohortNode(name)
	if n == nil {
		return CohortStatus{}, false
	}
	return s.cohortStatus(n), true
}

// cohortStatus returns how the cohort of a node stands.
func (s *Status) cohortStatus(n *quota.Node) CohortStatus {
	status := CohortStatus{Name: n.Name(), Share: n.Share(), Admitted: s.countAdmitted(n), Subtree: n.Balances()}
	if n.IsInCycle() {
		return status
	}
	status.Root = n.Name()
	if above := n.AncestorNames(); len(above) > 0 {
		status.Parent, status.Root = above[0], above[len(above)-1]
	}
	return status
}

// countAdmitted adds up the queues below the node, or of the node if it is one.
func (s *Status) countAdmitted(n *quota.Node) int {
	if n.IsQueue() {
		return s.queues.lookupQueueState(n.Name()).counters.admitted
	}
	count := 0
	for _, child := range n.Children() {
		count += s.countAdmitted(child)
	}
	return count
}

// AncestorCohorts lists the cohorts above a ClusterQueue, nearest first; none below a cycle of cohorts.
func (s *Status) AncestorCohorts(queue string) []string {
	if n := s.quota.QueueNode(queue); n != nil {
		return n.AncestorNames()
	}
	return nil
}

// QueuesInTree lists the ClusterQueues in the cohort tree of a ClusterQueue, itself included. The slice must not be changed.
func (s *Status) QueuesInTree(queue string) []string { return s.quota.QueuesInTree(queue) }

// QueuesInCohortTree lists the ClusterQueues in the whole tree that a cohort belongs to. The slice must not be changed.
func (s *Status) QueuesInCohortTree(cohort string) []string {
	return s.quota.QueuesInCohortTree(cohort)
}
