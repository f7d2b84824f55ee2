package admission

// Snapshot is the state that scheduling cycles decide on. NewSnapshot makes one.
type Snapshot struct{}

// NewSnapshot returns an empty snapshot.
func NewSnapshot() *Snapshot { return &Snapshot{} }

// UpsertQueue adds or replaces a ClusterQueue. A change makes the parked workloads of its cohort tree eligible again;
// repeating what is known does nothing.
func (s *Snapshot) UpsertQueue(q Queue) {}

// DeleteQueue removes a ClusterQueue. Its waiting workloads stay and are told that it is missing; its reservations stay
// until released.
func (s *Snapshot) DeleteQueue(name string) {}

// UpsertCohort adds or replaces a Cohort object; as with UpsertQueue, a change wakes its tree.
func (s *Snapshot) UpsertCohort(c Cohort) {}

// DeleteCohort removes a Cohort object. Its members stay together under an implicit cohort of that name.
func (s *Snapshot) DeleteCohort(name string) {}

// UpsertFlavor adds or replaces a ResourceFlavor; a change wakes the queues that use it.
func (s *Snapshot) UpsertFlavor(f Flavor) {}

// DeleteFlavor removes a ResourceFlavor.
func (s *Snapshot) DeleteFlavor(name string) {}

// Push adds a waiting workload or replaces what is known of it. A workload that did not change keeps its place, parked or
// not; one that did is looked at again. A workload that holds quota gives it back first.
func (s *Snapshot) Push(w Workload) {}

// Remove drops a workload, waiting or holding quota; unknown keys are fine.
func (s *Snapshot) Remove(k Key) {}

// Admit records that a workload holds quota: seen in the API, whether or not a cycle assumed it before. It replaces what
// is known of the workload, so that it is idempotent.
func (s *Snapshot) Admit(r Reservation) {}

// Release gives back what the workload holds and drops it; parked workloads of the cohort tree become eligible again.
// Unknown keys are fine.
func (s *Snapshot) Release(k Key) {}

// Forget undoes a reservation that a cycle assumed and whose write failed: the quota is given back and the workload waits
// again where it was. Does nothing once Admit, Push, Release or Remove had the last word about the workload.
func (s *Snapshot) Forget(k Key) {}

// Queue returns a ClusterQueue as last upserted.
func (s *Snapshot) Queue(name string) (Queue, bool) { return Queue{}, false }

// Flavor returns a ResourceFlavor as last upserted.
func (s *Snapshot) Flavor(name string) (Flavor, bool) { return Flavor{}, false }

// Pending returns a waiting workload.
func (s *Snapshot) Pending(k Key) (Workload, bool) { return Workload{}, false }

// Holding returns the reservation of a workload that holds quota.
func (s *Snapshot) Holding(k Key) (Reservation, bool) { return Reservation{}, false }

// QueueStatus returns the counters of a ClusterQueue; all zero for one that is unknown.
func (s *Snapshot) QueueStatus(name string) QueueStatus { return QueueStatus{} }

// LocalQueueStatus returns the counters of a LocalQueue; queue is the ClusterQueue it points to, whose flavors are listed.
func (s *Snapshot) LocalQueueStatus(lq Key, queue string) LocalQueueStatus { return LocalQueueStatus{} }

// Waiting lists the workloads that wait in a ClusterQueue by rank, parked ones included; a workload's position is its
// index (contract: kueue-api.md 1.17).
func (s *Snapshot) Waiting(queue string) []Workload { return nil }

// CohortCycle reports whether a ClusterQueue is inactive because its cohort's parents form a cycle (contract:
// kueue-api.md 4.5).
func (s *Snapshot) CohortCycle(queue string) bool { return false }
