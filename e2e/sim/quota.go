package sim

import (
	"slices"
	"strconv"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/quota"
)

// The quota of a model worker: one ClusterQueue of one flavor, on which the real admission core decides.
const (
	queueName = "gpus"
	flavor    = "h100"
	resource  = "gpu"
)

// newSnapshot returns the admission core's state of a worker with so many GPUs.
func newSnapshot(gpu int64) *admission.Snapshot {
	s := admission.NewSnapshot()
	s.UpsertFlavor(admission.Flavor{Name: flavor})
	s.UpsertQueue(admission.Queue{
		Name: queueName, Strategy: admission.BestEffortFIFO,
		Groups: []admission.ResourceGroup{{
			Resources: []string{resource},
			Flavors: []admission.FlavorQuota{{Flavor: flavor, Resources: []admission.ResourceQuota{
				{Resource: resource, Limits: quota.Nominal(amount.Amount(gpu))},
			}}},
		}},
	})
	return s
}

func key(name string) admission.Key { return admission.Key{Namespace: "ns", Name: name} }

// reckon tells the admission core about a copy as it is now: it waits, it holds quota, or neither.
func (c *worker) reckon(name string, obj present[copied]) {
	v := obj.value
	switch {
	case !obj.there || v.finished != nil || v.deactivating && !v.quota:
		c.snapshot.Remove(key(name))
	case v.quota:
		c.snapshot.Admit(admission.Reservation{
			Key: key(name), LocalQueue: queueName, Queue: queueName, Admitted: v.admitted,
			Usage: quota.NewUsage(quota.Use{FlavorResource: quota.FlavorResource{Flavor: flavor, Resource: resource}, Amount: amount.Amount(v.gpu)}),
		})
	default:
		c.snapshot.Push(admission.Workload{
			Key: key(name), UID: strconv.FormatInt(v.uid, 10), LocalQueue: queueName, Queue: queueName,
			Priority: int32(v.priority), QueuedAt: v.createdAt, NotBefore: v.requeueAt, //nolint:gosec // small by construction
			PodSets: []admission.PodSet{podSet(v.gpu)},
		})
	}
}

// podSet is one pod that needs so many GPUs.
func podSet(gpu int64) admission.PodSet {
	return admission.PodSet{Name: "main", Count: 1, Requests: amount.NewVector(amount.Request{Resource: resource, Amount: amount.Amount(gpu)})}
}

// cycle runs the worker's scheduler once and reports whether anything came of it.
func (w *World) cycle(c *worker) bool {
	before := w.version
	for _, d := range cycle.Run(c.snapshot, w.now, cycle.Options{}).Decisions {
		obj := c.copies[d.Workload.Name]
		switch {
		case d.Verdict == admission.Admit:
			obj.quota, obj.evicted, obj.waiting, obj.refused = true, false, "", false
		case obj.waiting != d.Message:
			obj.waiting, obj.refused = d.Message, d.Because == admission.ExceedsMaxQuota
		default:
			continue
		}
		w.putCopy(c, d.Workload.Name, obj)
	}
	return w.version != before
}

// due is when the first copy may be looked at again, zero for never.
func (c *worker) due(now time.Time) (at time.Time) {
	for _, obj := range c.copies {
		if obj.requeueAt.After(now) {
			at = soonest(at, obj.requeueAt)
		}
	}
	return at
}

// free is the capacity that no copy has reserved.
func (c *worker) free() int64 {
	left := c.gpu
	for _, obj := range c.copies {
		if obj.quota && obj.finished == nil {
			left -= obj.gpu
		}
	}
	return left
}

// names returns the names of all objects on a worker, sorted.
func (c *worker) names() []string {
	var names []string
	for name := range c.copies {
		names = append(names, name)
	}
	for name := range c.jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
