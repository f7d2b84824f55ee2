package plan

import (
	"cmp"
	"time"
)

// Phase is how far a pod has come, as its status says.
type Phase int

// The phases of a pod.
const (
	Pending Phase = iota
	Running
	Succeeded
	Failed
)

// Member is one pod.
type Member struct {
	Name string
	// Role is the hash of the pod's shape: the name of its pod set in a group.
	Role    string
	Created time.Time
	Phase   Phase
	// Gated tells that the pod must not be scheduled before it is admitted.
	Gated bool
	// Finalizer tells that our finalizer is on the pod.
	Finalizer bool
	// Deleting tells that the pod is being deleted; its grace ends at DeleteBy.
	Deleting bool
	DeleteBy time.Time
	// OnNode tells that the pod has been bound to a node.
	OnNode bool
	Ready  bool
	// Told tells that the pod was told to terminate, before it is deleted.
	Told bool
	// Unretriable tells that the group ends when its pods have ended, if this one did not succeed.
	Unretriable bool
	// Owner tells that the pod is one of the owners of the Workload.
	Owner bool
	// CannotPlace tells that the pod contradicts what was admitted for its role.
	CannotPlace bool

	// Queue, TotalCount and Index are what the pod says of its group; Index is negative if it says none, TotalCount 0.
	Queue      string
	TotalCount int
	Index      int
}

// isTerminal tells whether the pod's containers have ended for good.
func (m *Member) isTerminal() bool { return m.Phase == Succeeded || m.Phase == Failed }

// isPastGrace tells whether the pod should be gone by now.
func (m *Member) isPastGrace(now time.Time) bool { return m.Deleting && !now.Before(m.DeleteBy) }

// mayRun tells whether the pod has been let go and has not ended: it is to be stopped if it must not run.
func (m *Member) mayRun() bool { return !m.Gated && !m.isTerminal() && !m.Deleting }

// succeeded tells whether the pod did what it was for. One that was told to terminate and then exited without complaint did not.
func (f *Facts) succeeded(m *Member) bool {
	return m.Phase == Succeeded && (f.Single || !m.Told) && !f.Serving
}

// isActive tells whether the pod uses what its quota is for: it runs or is about to, also while it is being terminated, unless its
// grace is over.
func (f *Facts) isActive(m *Member) bool {
	runs := m.Phase == Running || m.Phase == Pending && m.OnNode
	return runs && !m.Gated && !m.isPastGrace(f.Now) && (!f.FastRelease || !m.Deleting)
}

// isPresent tells whether the pod fills a place in its role: it has succeeded, or it runs or may yet run.
func (f *Facts) isPresent(m *Member) bool {
	switch {
	case m.isTerminal():
		return f.succeeded(m)
	case m.Deleting:
		return m.OnNode && !m.isPastGrace(f.Now)
	}
	return true
}

// compareForKeeping orders members by who keeps the place: those with our finalizer first, then those that have started, then older ones.
func compareForKeeping(a, b *Member) int {
	return cmp.Or(yes(b.Finalizer)-yes(a.Finalizer), yes(a.Gated)-yes(b.Gated), compareAge(a, b))
}

func compareAge(a, b *Member) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}
