package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// workload is the hub's Workload and its job. Values are copied, never shared: slices are replaced, not changed.
type workload struct {
	name     string
	uid      int64
	rv       int64
	gpu      int64
	priority int64
	// run is how long the job runs once it starts; ttl is how long it stays after it has finished, negative for ever.
	run, ttl time.Duration
	// kill is the termination grace of its pods; sibling names another Workload of the same owner.
	kill    time.Duration
	sibling string
	// tolerates is set if its pods may run on tainted nodes.
	tolerates bool

	deleting bool
	// unchecked is set while another check of it is not ready.
	unchecked   bool
	quota       bool
	reservation string
	reservedAt  time.Time
	requeueAt   time.Time
	inactive    bool
	evicted     bool
	evictedMsg  string
	evictions   int64
	finished    *dispatch.Outcome

	check     dispatch.CheckState
	message   string
	nominated []string
	bound     string
	record    *dispatch.Record

	// status is what the hub's job shows.
	status jobStatus
}

// state decodes what the dispatcher has stored.
func (w workload) state() dispatch.State {
	return dispatch.Decode(w.record, w.nominated, w.bound)
}

// with stores a State.
func (w workload) with(s dispatch.State) workload {
	w.nominated, w.bound, w.record = s.Nominated, s.Bound, nil
	if r, ok := dispatch.Encode(s); ok {
		w.record = &r
	}
	return w
}

// jobStatus is the part of a job's status that the hub copies.
type jobStatus struct {
	active   bool
	finished bool
}

// owner says who made a remote object.
type owner struct {
	// ours is the origin label; uid is that of the hub's Workload.
	ours bool
	uid  int64
}

// copied is a Workload on a worker.
type copied struct {
	owner
	epoch        int64
	gpu          int64
	priority     int64
	run, ttl     time.Duration
	quota        bool
	admitted     bool
	admittedAt   time.Time
	evicted      bool
	deactivating bool
	requeueAt    time.Time
	createdAt    time.Time
	waiting      string
	refused      bool
	adopted      bool
	finished     *dispatch.Outcome
	deleting     bool
	// stops is the stamp that lets a fence stop its job.
	stops     bool
	tolerates bool
	// gated is set if it was made with a preemption gate; openedAt is when that was opened, zero while it is closed; blockedAt is
	// when it was found that only the gate keeps it from preempting, zero if that is not so.
	gated               bool
	openedAt, blockedAt time.Time
}

// closed reports whether a gate keeps the copy from preempting.
func (obj copied) closed() bool { return obj.gated && obj.openedAt.IsZero() }

// remoteJob is a job on a worker.
type remoteJob struct {
	owner
	epoch    int64
	running  bool
	started  time.Time
	run, ttl time.Duration
	ended    time.Time
	finished *dispatch.Outcome
	deleting bool
	// kill is the termination grace of its pods, and stopAt when it is over, once they were told to stop.
	kill   time.Duration
	stopAt time.Time
	// late is set if it was created by a call that the hub had given up.
	late bool
}

func (j remoteJob) status() jobStatus {
	return jobStatus{active: j.running, finished: j.finished != nil}
}

// present is an object that may not be there.
type present[T any] struct {
	there bool
	value T
}
