package view

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// A cycle speaks to those that it looks at. In a StrictFIFO queue that is the head only, so that what somebody behind it was
// told before (that the queue was stopped, that it lacked quota when it was the head itself) would stay although it is not
// true any more. The same holds for who waits for a backoff to end. They are told that they have not been evaluated: once,
// and only if they were told something else.

// unheard is who may have to be told again.
type unheard struct {
	// changed are the workloads that have changed since the last complete cycle.
	changed []*workload
	// queues are the StrictFIFO queues that have changed since then.
	queues map[string]bool
	// heads are those that were told last as the head of their StrictFIFO queue.
	heads map[string]*workload
}

func newUnheard() unheard {
	return unheard{queues: map[string]bool{}, heads: map[string]*workload{}}
}

// hasStale tells whether the workload waits and was told something that need not be true any more.
func (w *workload) hasStale() bool {
	return w.place.waiting != nil && w.assumed == nil && w.told != "" && w.told != admission.PendingEvaluation
}

// reasonOf is why the API says that the workload waits; empty if it does not say.
func reasonOf(wl *kueue.Workload) admission.Reason {
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil {
		return admission.Reason(c.Reason)
	}
	return ""
}

// hear takes in a decision to wait. If another took its place at the head of the queue before, that one has something to hear.
func (v *View) hear(w *workload, d admission.Decision) {
	w.told, w.heard = d.Because, v.cycles
	if !v.isStrict(d.Queue) || w.stepsAside() {
		return
	}
	if was := v.unheard.heads[d.Queue]; was != nil && was != w {
		v.unheard.changed = append(v.unheard.changed, was)
	}
	v.unheard.heads[d.Queue] = w
}

func (w *workload) stepsAside() bool {
	return w.place.waiting != nil && w.place.waiting.Blocked != nil && w.place.waiting.Blocked.StepsAside
}

// isStrict tells whether the head of the queue holds up those behind it.
func (v *View) isStrict(queue string) bool {
	cq := v.queues[queue]
	return cq != nil && cq.obj.Spec.QueueingStrategy == kueue.StrictFIFO && v.snap.Closed(queue) == nil
}

// correct returns those who have to be told, after a complete cycle, that they have not been evaluated.
func (v *View) correct(now time.Time) []Decided {
	var told []Decided
	for _, w := range v.unheard.changed {
		if d, stale := v.correction(w, now); stale {
			told = append(told, d)
		}
	}
	for queue := range v.unheard.queues {
		for local := range v.byQueue[queue] {
			for _, w := range v.byLocal[local] {
				if d, stale := v.correction(w, now); stale {
					told = append(told, d)
				}
			}
		}
	}
	v.unheard.changed = nil
	clear(v.unheard.queues)
	return told
}

func (v *View) correction(w *workload, now time.Time) (Decided, bool) {
	if !w.hasStale() || w.heard == v.cycles || v.workloads[w.key()] != w {
		return Decided{}, false
	}
	waiting := w.place.waiting
	message := "Waits behind others in ClusterQueue " + waiting.Queue
	switch {
	case waiting.NotBefore.After(now):
		message = "Waits until " + waiting.NotBefore.UTC().Format(time.RFC3339)
	case !v.isStrict(waiting.Queue) || v.unheard.heads[waiting.Queue] == w || w.stepsAside():
		return Decided{}, false
	}
	w.told = admission.PendingEvaluation
	// The core remembers who knows what its kind was told: as somebody new, the workload will be told again.
	v.snap.Remove(w.key())
	v.snap.Push(*waiting)
	return Decided{
		Seen: w.obj, PodSets: waiting.PodSets, Stale: true,
		Decision: admission.Decision{
			Workload: w.key(), LocalQueue: waiting.LocalQueue, Queue: waiting.Queue,
			Verdict: admission.Wait, Because: admission.PendingEvaluation, Message: message,
		},
	}, true
}
