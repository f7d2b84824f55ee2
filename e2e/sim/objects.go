package sim

import (
	"cmp"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// workload is the hub's Workload and its job. Values are copied, never shared: slices are replaced, not changed.
type workload struct {
	name string
	uid  int64
	// rv is the version of the two together; ownRV that of the Workload alone, and jobRV that of its job.
	rv, ownRV, jobRV int64
	gpu              int64
	priority         int64
	slicePlace
	// asked is what an elastic job asks for; view is what a slice is to the dispatcher, on the Workloads of its turns only.
	asked int64
	view  *sliceView
	// ownerUID is the UID of the job that the Workload was made for, and job that of the job which bears its name now.
	ownerUID, jobUID int64
	// duration is how long the job runs once it starts; ttl is how long it stays after it has finished, negative for ever.
	duration, ttl time.Duration
	// killGrace is the termination grace of its pods; sibling names the first Workload of the same owner, empty for that one.
	killGrace time.Duration
	sibling   string
	// foreignController is set if the controller of its job is of another make: it goes by what the job shows.
	foreignController bool
	// staleStatus is set if the controller of its kind leaves the status of a job that was stopped as it was.
	staleStatus bool
	// tolerates is set if its pods may run on tainted nodes.
	tolerates bool

	// deleting is set once a user has deleted it; kept, if not its job too: then the job's controller keeps it for as long as
	// the job may run on a cluster, and makes another one after that.
	deleting, retained bool
	// otherChecksPending is set while another check of it is not ready, and unasked while its queue does not ask for the dispatcher's.
	otherChecksPending, noCheckEntry bool

	quota       bool
	reservation string
	reservedAt  time.Time
	requeueAt   time.Time
	inactive    bool
	evicted     bool
	// evictedByCheck is set if it was evicted because the check said Retry.
	evictedByCheck bool
	evictedMsg     string
	evictions      int64
	// finishedAt is when that was recorded, by the hub's clock.
	finished   *dispatch.Outcome
	finishedAt time.Time

	check     dispatch.CheckState
	message   string
	nominated []string
	bound     string
	record    *dispatch.Record
	// decoded is what was decoded of the last State that was stored.
	decoded *decodedState

	// status is what the hub's job shows.
	status jobStatus
}

// decodedState is a State and what it was decoded from.
type decodedState struct {
	record    *dispatch.Record
	nominated []string
	bound     string
	state     dispatch.State
}

// state decodes what the dispatcher has stored.
func (w workload) state() dispatch.State {
	if d := w.decoded; d != nil && d.record == w.record && d.bound == w.bound && slices.Equal(d.nominated, w.nominated) {
		return d.state
	}
	return dispatch.Decode(w.record, w.nominated, w.bound)
}

// withState stores a State.
func (w workload) withState(s dispatch.State) workload {
	w.nominated, w.bound, w.record = s.Nominated, s.Bound, nil
	if r, ok := dispatch.Encode(s); ok {
		w.record = &r
	}
	w.decoded = &decodedState{w.record, w.nominated, w.bound, dispatch.Decode(w.record, w.nominated, w.bound)}
	return w
}

// ownerName is the owner of the Workload and its siblings.
func (w workload) ownerName() string { return orElse(w.sibling, w.name) }

// ownsJob reports whether the job that bears the name is the one that the Workload was made for.
func (w workload) ownsJob() bool { return w.jobUID == w.ownerUID }

// jobStatus is the part of a job's status that the hub copies.
type jobStatus struct {
	active   bool
	finished bool
}

// owner says which program made a remote object.
type owner struct {
	// ours is the origin label; uid is that of the hub's Workload.
	ours bool
	uid  int64
}

// remoteWorkload is a Workload on a worker.
type remoteWorkload struct {
	owner
	epoch int64
	// forgedEpoch is the epoch that a user has written over the stamp, zero if none has.
	forgedEpoch int64
	slicePlace
	gpu           int64
	priority      int64
	duration, ttl time.Duration
	// id is its own UID.
	id            int64
	quota         bool
	reservedAt    time.Time
	admitted      bool
	admittedAt    time.Time
	evicted       bool
	deactivating  bool
	requeueAt     time.Time
	createdAt     time.Time
	waitingReason string
	refused       bool
	adopted       bool
	adoptedBy     int64
	finished      *dispatch.Outcome
	deleting      bool
	// stopsWithoutHub is the stamp that lets a fence stop its job.
	stopsWithoutHub bool
	tolerates       bool
	// gated is set if it was made with a preemption gate; openedAt is when that was opened, zero while it is closed; blockedAt is
	// when it was found that only the gate keeps it from preempting, zero if that is not so.
	gated               bool
	openedAt, blockedAt time.Time
}

// isGateClosed reports whether a gate keeps the copy from preempting.
func (obj remoteWorkload) isGateClosed() bool { return obj.gated && obj.openedAt.IsZero() }

// stampedEpoch is the epoch that the copy bears.
func (obj remoteWorkload) stampedEpoch() int64 { return cmp.Or(obj.forgedEpoch, obj.epoch) }

// stampedEpoch is the epoch that the job bears.
func (j remoteJob) stampedEpoch() int64 { return cmp.Or(j.forgedEpoch, j.epoch) }

// remoteJob is a job on a worker.
type remoteJob struct {
	owner
	epoch int64
	// forgedEpoch is the epoch that a user has written over the stamp, zero if none has.
	forgedEpoch   int64
	running       bool
	started       time.Time
	duration, ttl time.Duration
	ended         time.Time
	finished      *dispatch.Outcome
	deleting      bool
	// foreground is set if it was deleted so that its object stays until its pods have ended.
	foreground bool
	// killGrace is the termination grace of its pods, and stopAt when it is over, once they were told to stop.
	killGrace time.Duration
	stopAt    time.Time
	// staleStatus is set if its status goes on saying that it is active once it was stopped.
	staleStatus bool
	// createdLate is set if it was created by a call that the hub had given up.
	createdLate bool
	// id is its own UID; named is set if it names its Workload, as all of the hub's do; lost is what others have taken off it, and
	// tampered that they ever took off everything.
	id            int64
	namesWorkload bool
	// elastic is set if it may be scaled: it names the slice by which it runs, and the name that all slices have in common. It asks for so many
	// pods, of which so many run.
	elastic         bool
	prebuilt, chain string
	pods, runs      int64
	lostMarks       lostMarks
	tampered        bool
}

// status is what the job says of itself, and actualStatus what is true.
func (j remoteJob) status() jobStatus {
	s := j.actualStatus()
	s.active = s.active || j.staleStatus && !j.started.IsZero() && !s.finished
	return s
}

func (j remoteJob) actualStatus() jobStatus {
	return jobStatus{active: j.running, finished: j.finished != nil}
}

// optional is an object that may not be there.
type optional[T any] struct {
	exists bool
	value  T
}
