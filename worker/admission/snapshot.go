package admission

import (
	"reflect"
	"time"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// Snapshot is the state that scheduling cycles decide on. NewSnapshot makes one.
//
// Every workload in it is in exactly one state: it waits in a queue, it waits for its backoff to end, or it holds quota.
//
// Its parts have state of their own: the queues, their ordering by usage, and what requeues inadmissible workloads. Status answers
// questions. The Snapshot itself moves workloads from one state to another.
type Snapshot struct {
	*queueIndex
	*usageOrdering
	*requeuer
	*flavorCatalog
	*Status
	quota   *quota.Tree
	cohorts map[string]*Cohort

	workloads  map[Key]*workloadInfo
	backingOff *order.Heap[*PendingWorkload]
	candidates candidateIndex
	// classKeyBuffer is reused to spell equivalence classes.
	classKeyBuffer []byte
}

// workloadInfo is a workload of the snapshot: it either waits or holds quota.
type workloadInfo struct {
	pending *PendingWorkload
	holder  *quotaHolder
}

// PendingWorkload is a workload that waits: in a queue, or until its NotBefore.
type PendingWorkload struct {
	Workload
	info            *workloadInfo
	queueState      *queueState
	localQueueState *localQueueState
	classKey        string
	// member is nil outside of lines.
	member    *QueueMember
	heapIndex int
}

// IsActive reports whether the workload will be looked at in the next cycle or as soon as those before it are out of the way:
// see QueueStatus.
func (e *PendingWorkload) IsActive() bool { return e.member != nil && !e.member.IsInadmissible() }

// quotaHolder is a workload that holds quota.
type quotaHolder struct {
	Reservation
	info            *workloadInfo
	queueState      *queueState
	localQueueState *localQueueState
	// assumedFrom is the workload as it waited, while no more than a cycle says that it holds quota.
	assumedFrom *Workload
	// replaced is what it has taken over from, for as long as that can be undone.
	replaced *Reservation
	// evictionMarked is whether a plan evicts the workload and Admit has not reported it as evicted.
	evictionMarked bool
}

// NewSnapshot returns an empty snapshot.
func NewSnapshot() *Snapshot {
	tree, queues := quota.NewTree(), &queueIndex{queueStates: map[string]*queueState{}, localQueueStates: map[Key]*localQueueState{}}
	usage := &usageOrdering{queues: queues, localUsage: map[Key]amount.Amount{}, usageBasedQueues: map[Key]*queueState{}}
	backingOff := order.NewHeap(
		func(a, b *PendingWorkload) int { return a.NotBefore.Compare(b.NotBefore) },
		func(e *PendingWorkload, at int) { e.heapIndex = at },
	)
	return &Snapshot{
		queueIndex: queues, usageOrdering: usage,
		requeuer: &requeuer{
			quota: tree, queues: queues, freedByQueue: map[string]*freedQuota{}, changedCohorts: map[string]bool{}, claims: map[string]claim{},
			recheckQueues: map[string]*queueState{}, confirmedByQueue: map[string]*freedQuota{},
		},
		flavorCatalog: &flavorCatalog{quota: tree, flavors: map[string]*Flavor{}},
		Status:        &Status{quota: tree, queues: queues, usage: usage, backingOff: backingOff},
		quota:         tree,
		cohorts:       map[string]*Cohort{},
		workloads:     map[Key]*workloadInfo{},
		backingOff:    backingOff,
		candidates:    newCandidateIndex(),
	}
}

// UpsertQueue adds or replaces a ClusterQueue. A change makes the inadmissible workloads of its cohort tree eligible again;
// repeating what is known does nothing.
func (s *Snapshot) UpsertQueue(q ClusterQueue) {
	d := s.ensureQueueState(q.Name)
	if old := d.clusterQueue; old != nil {
		if reflect.DeepEqual(*old, q) {
			return
		}
		s.changedCohorts[old.Cohort] = true
	}
	wasUsageBased := d.isUsageBased()
	d.clusterQueue = &q
	s.quota.SetQueue(q.Name, q.Cohort, Grants(q.Groups))
	s.quota.SetQueueWeight(q.Name, q.Weight)
	s.regroupPending(d, wasUsageBased)
	s.handleQueueChange(d)
}

// DeleteQueue removes a ClusterQueue. Its waiting workloads stay and are told that it is missing; its reservations stay
// until released.
func (s *Snapshot) DeleteQueue(name string) {
	d := s.lookupQueueState(name)
	if d.clusterQueue == nil {
		return
	}
	s.changedCohorts[d.clusterQueue.Cohort] = true
	wasUsageBased := d.isUsageBased()
	d.clusterQueue = nil
	s.quota.DeleteQueue(name)
	s.regroupPending(d, wasUsageBased)
	s.handleQueueChange(d)
	s.pruneQueueState(d)
}

// handleQueueChange forgets what followed from the queue's specification and requeues its queue and its tree.
func (s *Snapshot) handleQueueChange(d *queueState) {
	d.flavorTable = nil
	s.recordLimitsChanged(d.name)
	s.requeueAll(d.name)
}

// UpsertCohort adds or replaces a Cohort object; as with UpsertQueue, a change requeues its tree.
func (s *Snapshot) UpsertCohort(c Cohort) {
	if old, found := s.cohorts[c.Name]; found {
		if reflect.DeepEqual(*old, c) {
			return
		}
		s.changedCohorts[old.Parent] = true
	}
	s.cohorts[c.Name] = &c
	s.quota.SetCohort(c.Name, c.Parent, Grants(c.Groups))
	s.quota.SetCohortWeight(c.Name, c.Weight)
	s.changedCohorts[c.Name] = true
}

// DeleteCohort removes a Cohort object. Its members stay together under an implicit cohort of that name.
func (s *Snapshot) DeleteCohort(name string) {
	old, found := s.cohorts[name]
	if !found {
		return
	}
	delete(s.cohorts, name)
	s.quota.DeleteCohort(name)
	s.changedCohorts[old.Parent] = true
	s.changedCohorts[name] = true
}

// UpsertFlavor adds or replaces a ResourceFlavor; a change requeues the queues that use it.
func (s *Snapshot) UpsertFlavor(f Flavor) {
	if old, found := s.flavors[f.Name]; found && reflect.DeepEqual(*old, f) {
		return
	}
	s.flavors[f.Name] = &f
	s.handleFlavorChange(f.Name)
}

// DeleteFlavor removes a ResourceFlavor.
func (s *Snapshot) DeleteFlavor(name string) {
	if _, found := s.flavors[name]; !found {
		return
	}
	delete(s.flavors, name)
	s.handleFlavorChange(name)
}

func (s *Snapshot) handleFlavorChange(flavor string) {
	for name, d := range s.queueStates {
		if d.clusterQueue != nil && d.clusterQueue.hasFlavor(flavor) {
			d.flavorTable = nil
			s.requeueAll(name)
		}
	}
}

// ClusterQueue returns a ClusterQueue as last upserted.
func (s *Snapshot) ClusterQueue(name string) (ClusterQueue, bool) {
	if q := s.lookupQueueState(name).clusterQueue; q != nil {
		return *q, true
	}
	return ClusterQueue{}, false
}

// IsInCohortCycle reports whether a ClusterQueue is inactive because its cohort's parents form a cycle (contract:
// kueue-api.md 4.5).
func (s *Status) IsInCohortCycle(queue string) bool { return s.quota.IsInCycle(queue) }

// NextBackoffEnd returns when the earliest backoff ends, the zero time if no workload waits for the clock.
func (s *Status) NextBackoffEnd() time.Time {
	if s.backingOff.Len() == 0 {
		return time.Time{}
	}
	return s.backingOff.First().NotBefore
}
