package plan

import "time"

// Link says how the pods and their Workload belong together.
type Link int

const (
	// LinkNone means that there is no Workload and no other program is going to make one.
	LinkNone Link = iota
	// LinkAwaited means that the prebuilt Workload that the pods name does not exist.
	LinkAwaited
	// LinkForeign means that the Workload of that name is not for these pods.
	LinkForeign
	// LinkOutOfSync means that the prebuilt Workload does not ask for what the pods ask for.
	LinkOutOfSync
	// LinkUnowned means that the prebuilt Workload of a single pod has no owner yet. A group's is owned pod by pod.
	LinkUnowned
	// LinkStray means that the Workload was made for a pod that has joined a group since.
	LinkStray
	// LinkMatching means that the Workload is the pods' own.
	LinkMatching
)

// Role is a pod set of the Workload.
type Role struct {
	Name  string
	Count int
}

// Workload is the life of the Workload; all zero without one.
type Workload struct {
	Roles []Role
	// HasPodOwners tells that pods are among its owners.
	HasPodOwners bool
	// HasOtherOwners tells that something else is, too, which answers for the Workload when no pod is left.
	HasOtherOwners                                  bool
	Deleting, Reserved, Admitted, Evicted, Finished bool
	// FinishedAsJob tells that Finished has one of the reasons that speak of the pods' own outcome.
	FinishedAsJob bool
	// Finalizer tells that our finalizer is on the Workload.
	Finalizer bool
	// CannotPlace tells that what was admitted contradicts itself.
	CannotPlace bool
	// Elsewhere tells that the pods run on another cluster: those here stay gated.
	Elsewhere bool
	// Dispatched tells, of an evicted Workload, that its dispatcher has not said yet that the pods have stopped on the cluster that has them.
	Dispatched bool
	// Waiting tells that the condition WaitingForReplacementPods is True.
	Waiting bool
	// Outdated tells that the Workload's spec is not what the pods say.
	Outdated bool
	// StatusOutdated tells that PodsReady or the reclaimable pods are not what the pods say.
	StatusOutdated bool
	// RetireAt is when the pods are to be deleted, because the system has deactivated the Workload; zero for never.
	RetireAt time.Time
}

// Facts is all that decides what to do with the pods of one Workload.
type Facts struct {
	Now time.Time
	// Single tells that it is about one pod that is in no group.
	Single bool
	// FastRelease tells that pods that are being deleted use nothing (gate FastQuotaReleaseInPodIntegration).
	FastRelease bool
	// CacheBehind tells that the cache shows a pod or the Workload as it was before our own last write.
	CacheBehind bool
	// Members are the pods, in any order.
	Members []Member
	// TotalCount is how many pods the group says it has; 0 if it does not say.
	TotalCount int
	// Fast tells that the group is admitted when its first pod is seen.
	Fast bool
	// Serving tells that the group never finishes: a pod that has ended is replaced.
	Serving bool
	// Copy tells that a hub has made the Workload, which runs somewhere else what was stopped here.
	Copy bool
	// Prebuilt tells that the pods name a Workload that somebody else has made.
	Prebuilt bool
	// CannotCompose is empty, or why the pods cannot be turned into a Workload.
	CannotCompose Reason
	// Message is what the single pod says of its end.
	Message string

	Link Link
	Workload
}

// isOurs tells whether there is a Workload that is the pods' own.
func (f *Facts) isOurs() bool { return f.Link == LinkMatching || f.Link == LinkOutOfSync }

// where lists the indexes of the members for which the test holds, in their order.
func (f *Facts) where(test func(*Member) bool) []int {
	var found []int
	for i := range f.Members {
		if test(&f.Members[i]) {
			found = append(found, i)
		}
	}
	return found
}

func (f *Facts) any(test func(*Member) bool) bool {
	for i := range f.Members {
		if test(&f.Members[i]) {
			return true
		}
	}
	return false
}

func (f *Facts) count(test func(*Member) bool) int {
	n := 0
	for i := range f.Members {
		if test(&f.Members[i]) {
			n++
		}
	}
	return n
}

// HaveStarted tells whether a pod was let go.
func (f *Facts) HaveStarted() bool { return f.any(func(m *Member) bool { return !m.Gated }) }

// nextGraceEnd is when the first of the members that are being deleted should be gone; zero if none is to be waited for.
func (f *Facts) nextGraceEnd() time.Time {
	var first time.Time
	for i := range f.Members {
		m := &f.Members[i]
		if m.Deleting && f.isActive(m) && (first.IsZero() || m.DeleteBy.Before(first)) {
			first = m.DeleteBy
		}
	}
	return first
}
