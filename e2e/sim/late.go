package sim

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	epochs "switchyard.dev/worker/fence/epoch"
)

// EpochFunc says whether a job was made in an epoch before that of a copy, so that it must not take it up; epoch.Before, or a
// mutant of it.
type EpochFunc func(job remoteJob, obj copied) bool

// realBefore asks the real rule of workers that know epochs.
func realBefore(job remoteJob, obj copied) bool {
	return epochs.Before(stamped(job.owner, job.stamp()), stamped(obj.owner, obj.stamp()))
}

// stamped is an object as the hub makes it.
func stamped(o owner, at int64) *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{kueue.MultiKueueOriginLabel: "hub"},
		Annotations: map[string]string{
			switchyard.EpochAnnotation: strconv.FormatInt(at, 10), switchyard.OwnerUIDAnnotation: strconv.FormatInt(o.uid, 10),
		},
	}}
}

// held is a call that was given up by the hub and is still on its way.
type held struct {
	cluster string
	land    func() error
}

// hold keeps the call under way for later, if it is one that makes something. The worker must know epochs: any other would
// let a job of an epoch that is over take up a later copy, which nobody can prevent.
func (t *turn) hold() {
	a := t.action
	if a.Verb != dispatch.CreateOffer && a.Verb != dispatch.CreateJob || t.worker(a.Cluster).guard.stock || !t.worker(a.Cluster).up {
		return
	}
	late := *t
	late.fault = fault{}
	c := t.worker(a.Cluster)
	land := func() error { return late.createOffer(c, a) }
	if a.Verb == dispatch.CreateJob {
		if !t.mayCreate(c, a) {
			return
		}
		t.ledger.creating(t, c, a)
		land = func() error { return late.postJob(c, a, true) }
	}
	t.held = append(t.held, held{c.name, func() error {
		if late.ledger.ran[attempt{late.item.uid, a.Epoch}] {
			return errRefused // see DESIGN.md: such a copy cannot be told from the one that the job took up
		}
		return land()
	}})
}

// land lets the calls that were held up take effect on the workers that can be reached.
func (w *World) land() {
	calls := w.held
	w.held = nil
	for _, call := range calls {
		switch c := w.worker(call.cluster); {
		case c.guard.stock:
		case !c.up:
			w.held = append(w.held, call)
		default:
			w.reach(LandsLate)
			result := "takes effect"
			if err := call.land(); err != nil {
				result = "is refused"
			}
			w.say("%s: a call that was held up %s", c.name, result)
		}
	}
}

// knowsOf is the highest epoch of a Workload that a worker remembers, 0 for none: of a copy that is there, or of those that are
// gone, but of the first epoch. A worker with nothing but the public API knows none.
func (c *worker) knowsOf(name string, uid int64) int64 {
	if c.guard.stock {
		return 0
	}
	top := c.over[uid]
	if obj, ok := c.copies[name]; ok && obj.ours && obj.uid == uid {
		top = max(top, obj.epoch)
	}
	return top
}

// forgets is the restart of a worker's program: what is gone is not known any more.
func (c *worker) forgets() { clear(c.over) }
