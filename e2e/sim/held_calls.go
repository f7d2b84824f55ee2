package sim

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	epochs "switchyard.dev/worker/fence/epoch"
)

// EpochFunc says whether a job was made in an epoch before that of a copy, so that it must not take it up; epoch.IsBefore, or a
// mutant of it.
type EpochFunc func(job remoteJob, obj remoteWorkload) bool

// isBeforeEpoch asks the real rule of workers that know epochs.
func isBeforeEpoch(job remoteJob, obj remoteWorkload) bool {
	return epochs.IsBefore(stampedObject(job.owner, job.stampedEpoch(), job.chain), stampedObject(obj.owner, obj.stampedEpoch(), obj.chain))
}

// areUnrelated asks the real rule whether a job and a copy were made for different Workloads.
func areUnrelated(job remoteJob, obj remoteWorkload) bool {
	return job.uid != 0 && epochs.AreUnrelated(stampedObject(job.owner, job.stampedEpoch(), job.chain), stampedObject(obj.owner, obj.stampedEpoch(), obj.chain))
}

// stampedObject is an object as the hub makes it.
func stampedObject(o owner, at int64, chain string) *kueue.Workload {
	made := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{kueue.MultiKueueOriginLabel: hubOrigin},
		Annotations: map[string]string{
			switchyard.EpochAnnotation: strconv.FormatInt(at, 10), switchyard.OwnerUIDAnnotation: strconv.FormatInt(o.uid, 10),
		},
	}}
	if chain != "" {
		made.Annotations[kueue.WorkloadSliceNameAnnotation] = chain
	}
	return made
}

// heldCall is a call that was given up by the hub and is still on its way.
type heldCall struct {
	cluster string
	apply   func() error
}

// holdCall keeps the call under way for later, if it is one that makes something. The worker must know epochs: any other
// would let a job of an epoch that is over take up a later copy, which nothing can prevent.
func (t *decision) holdCall() {
	a := t.action
	if a.Verb == dispatch.ResizeJob {
		t.holdResize(a)
		return
	}
	if a.Verb != dispatch.CreateOffer && a.Verb != dispatch.CreateJob || t.lookupWorker(a.Cluster).fence.stock || !t.lookupWorker(a.Cluster).up {
		return
	}
	late := *t
	late.fault = callFault{}
	c := t.lookupWorker(a.Cluster)
	land := func() error { return late.createOffer(c, a) }
	if a.Verb == dispatch.CreateJob {
		if !t.mayCreateJob(c, a) {
			return
		}
		t.history.checkJobCreation(t, c, a)
		land = func() error { return late.postJob(c, a, true) }
	}
	t.heldCalls = append(t.heldCalls, heldCall{c.name, func() error {
		if late.history.started[late.history.attempt(late.item.uid, a.Epoch)] {
			return errRefused // see DESIGN.md: such a copy cannot be told from the one that the job took up
		}
		return land()
	}})
}

// landHeldCalls lets the calls that were held up take effect on the workers that can be reached.
func (w *World) landHeldCalls() {
	calls := w.heldCalls
	w.heldCalls = nil
	for _, call := range calls {
		switch c := w.lookupWorker(call.cluster); {
		case c.fence.stock:
		case !c.up:
			w.heldCalls = append(w.heldCalls, call)
		default:
			w.recordEvent(LandsLate)
			result := "takes effect"
			if err := call.apply(); err != nil {
				result = "is refused"
			}
			w.logf("%s: a call that was held up %s", c.name, result)
		}
	}
}

// knownEpoch is the highest epoch of a Workload that a worker remembers, 0 for none: of a copy that is there, or of those that are
// gone, but of the first epoch. A worker with nothing but the public API knows none.
func (c *worker) knownEpoch(name string, uid int64) int64 {
	if c.fence.stock {
		return 0
	}
	top := c.goneEpochs[uid]
	if obj, ok := c.workloads[name]; ok && obj.ours && obj.uid == uid {
		top = max(top, obj.epoch)
	}
	return top
}

// forgetEpochs is the restart of a worker's program: what is gone is not known any more.
func (c *worker) forgetEpochs() { clear(c.goneEpochs) }
