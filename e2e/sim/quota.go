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
	gate      = "multikueue"
)

// newSnapshot returns the admission core's state of a worker without anything.
func newSnapshot() *admission.Snapshot { return admission.NewSnapshot() }

// flavorOf is the flavor of all GPUs, whose nodes may be tainted.
func flavorOf(tainted bool) admission.Flavor {
	f := admission.Flavor{Name: flavor}
	if tainted {
		f.Taints = []admission.Taint{{Key: "spot", Effect: admission.NoSchedule}}
	}
	return f
}

// rule tells the admission core about the worker's flavor and queue.
func (c *worker) rule() {
	c.snapshot.UpsertFlavor(flavorOf(c.tainted))
	c.snapshot.UpsertQueue(admission.Queue{
		Name: queueName, Strategy: admission.BestEffortFIFO, Preemption: admission.Preemption{WithinQueue: admission.LowerPriority},
		Groups: []admission.ResourceGroup{{
			Resources: []string{resource},
			Flavors: []admission.FlavorQuota{{Flavor: flavor, Resources: []admission.ResourceQuota{
				{Resource: resource, Limits: quota.Nominal(amount.Amount(c.gpu))},
			}}},
		}},
	})
}

// unmoved is the priority of copies that have quota: they give way to the command evict, not to each other.
const unmoved = 1000

// squatter is the workload of a worker's own that gives way to copies.
const squatter = "squatter"

// settleSquatter tells the admission core about it.
func (c *worker) settleSquatter() {
	if c.squatted == 0 {
		c.snapshot.Remove(key(squatter))
		return
	}
	c.snapshot.Admit(reservation(squatter, c.squatted, -1))
}

func reservation(name string, gpu int64, priority int32) admission.Reservation {
	return admission.Reservation{
		Key: key(name), UID: name, LocalQueue: queueName, Queue: queueName, Admitted: true, Priority: priority,
		Usage: quota.NewUsage(quota.Use{FlavorResource: quota.FlavorResource{Flavor: flavor, Resource: resource}, Amount: amount.Amount(gpu)}),
	}
}

// blocked is what keeps everything of the hub from being considered on a worker.
func (c *worker) blocked() *admission.Block {
	switch {
	case c.bare:
		return &admission.Block{Because: admission.Misconfigured, Message: "LocalQueue " + queueName + " doesn't exist"}
	case c.onHold:
		return &admission.Block{Because: admission.Suspended, Message: "LocalQueue " + queueName + " is on hold"}
	}
	return nil
}

func key(name string) admission.Key { return admission.Key{Namespace: "ns", Name: name} }

// reckon tells the admission core about a copy as it is now: it waits, it holds quota, or neither.
func (c *worker) reckon(name string, obj present[copied]) {
	v := obj.value
	switch {
	case !obj.there || v.finished != nil || v.deactivating && !v.quota:
		c.snapshot.Remove(key(name))
	case v.quota:
		holds := reservation(name, v.gpu, unmoved)
		holds.Admitted, holds.Evicted = v.admitted, v.evicted
		c.snapshot.Admit(holds)
	default:
		waits := admission.Workload{
			Key: key(name), UID: strconv.FormatInt(v.uid, 10), LocalQueue: queueName, Queue: queueName,
			Priority: int32(v.priority), QueuedAt: v.createdAt, NotBefore: v.requeueAt,
			PodSets: []admission.PodSet{podSet(v.gpu, v.tolerates)}, Blocked: c.blocked(),
		}
		if v.closed() {
			waits.ClosedGates = []string{gate}
		}
		c.snapshot.Push(waits)
	}
}

// podSet is one pod that needs so many GPUs.
func podSet(gpu int64, tolerates bool) admission.PodSet {
	set := admission.PodSet{Name: "main", Count: 1, Requests: amount.NewVector(amount.Request{Resource: resource, Amount: amount.Amount(gpu)})}
	if tolerates {
		set.Tolerations = []admission.Toleration{{Key: "spot", Operator: admission.TolerateExists}}
	}
	return set
}

// cycle runs the worker's scheduler once and reports whether anything came of it.
func (w *World) cycle(c *worker) bool {
	before := w.version
	for _, d := range cycle.Run(c.snapshot, w.now, cycle.Options{}).Decisions {
		obj := c.copies[d.Workload.Name]
		waits := len(d.ClosedGates) > 0
		switch {
		case d.Verdict == admission.Admit:
			obj.quota, obj.evicted, obj.waiting, obj.refused, obj.blockedAt = true, false, "", false, time.Time{}
		case d.Verdict == admission.Preempt:
			w.reach(Preempts)
			w.preempt(c, d.Victims)
			continue
		case obj.waiting != d.Message || waits != !obj.blockedAt.IsZero():
			obj.waiting, obj.refused, obj.blockedAt = d.Message, refusal(d.Because), time.Time{}
			if waits {
				obj.blockedAt = w.now
			}
			if obj.refused {
				w.reach(Refuses)
			}
		default:
			continue
		}
		w.putCopy(c, d.Workload.Name, obj)
	}
	return w.version != before
}

// refusal reports whether somebody must change something on the cluster before it admits a copy.
func refusal(because admission.Reason) bool {
	switch because {
	case admission.ExceedsMaxQuota, admission.NoMatchingFlavor, admission.Misconfigured, admission.Suspended:
		return true
	default:
		return false
	}
}

// preempt evicts those who have to make room: the squatter, which is gone at once.
func (w *World) preempt(c *worker, victims []admission.Victim) {
	for _, victim := range victims {
		if victim.Workload.Name == squatter {
			c.squatted = 0
			c.settleSquatter()
			w.changed()
		}
	}
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
	left := c.gpu - c.squatted
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
