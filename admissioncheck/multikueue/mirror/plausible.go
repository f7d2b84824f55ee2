package mirror

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// clockSlack is how far the clocks of hub and worker may be apart before what a worker says of times is not believed.
const clockSlack = time.Minute

// MaxCount is the largest number of pods, or of anything, that a worker is believed to count: two of these add up in 32 bits.
const MaxCount = 1_000_000_000

// timeSpan is when something on a worker can have happened.
type timeSpan struct {
	from, until time.Time
	// fallback is what a time outside of it is taken for.
	fallback time.Time
}

// clamp returns a time that can be meant. The zero span knows none that cannot, and no time is none.
func (s timeSpan) clamp(at time.Time) time.Time {
	if s.until.IsZero() || at.IsZero() || !at.Before(s.from.Add(-clockSlack)) && !at.After(s.until.Add(clockSlack)) {
		return at
	}
	return s.fallback
}

// lifetime is that of an object of the hub: what a worker did for it came after it was made. A time outside is taken for its
// beginning, which stays the same however often the object is looked at.
func (o Original) lifetime(of client.Object) timeSpan {
	made := of.GetCreationTimestamp().Time
	return timeSpan{from: made, until: o.Now, fallback: made}
}

// statusSpan is when what a remote job's status tells of can have happened. The end of a job is told once: by its time the hub's own
// is kept for as long as its owner wants.
func (o Original) statusSpan(remote client.Object) timeSpan {
	s := o.lifetime(o.Job)
	if o.Kind.Progress(remote).Finished != nil {
		s.fallback = o.Now.Truncate(time.Second)
	}
	return s
}

// Plausible is what a worker says of a copy with times that it can mean. A gate opened in times to come would keep those of
// all other clusters closed until then.
func (o Original) Plausible(c dispatch.Copy) dispatch.Copy {
	s := o.lifetime(o.Workload)
	if c.Holder != dispatch.Foreign {
		c.Since = s.clamp(c.Since)
	}
	for _, at := range []*time.Time{&c.EvictedAt, &c.AdmittedAt, &c.BlockedSince, &c.GateOpenedAt} {
		*at = s.clamp(*at)
	}
	return c
}

// plausibleCount is a number that can be a count.
func plausibleCount(n int64) int64 { return min(max(n, 0), MaxCount) }

// alignTimes makes the times and counts of a Job agree with one another where the hub's API server insists on it: it would refuse the
// end of the job otherwise, and everything with it.
func alignTimes(local, shown client.Object) {
	from, ok := local.(*batchv1.Job)
	to, is := shown.(*batchv1.Job)
	if !ok || !is {
		return
	}
	status := &to.Status
	if r := status.Ready; r != nil && *r > status.Active {
		*r = status.Active
	}
	if status.CompletionTime == nil {
		return
	}
	for _, start := range []*batchv1.JobStatus{&from.Status, status} {
		if start.StartTime != nil && status.CompletionTime.Before(start.StartTime) {
			status.CompletionTime = start.StartTime.DeepCopy()
		}
	}
}

// needsAlignment tells whether orderly would change anything.
func needsAlignment(local, remote client.Object) bool {
	from, ok := local.(*batchv1.Job)
	to, is := remote.(*batchv1.Job)
	if !ok || !is {
		return false
	}
	end := to.Status.CompletionTime
	return to.Status.Ready != nil && *to.Status.Ready > to.Status.Active ||
		end != nil && (end.Before(to.Status.StartTime) || end.Before(from.Status.StartTime))
}
