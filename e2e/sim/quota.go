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
	queueName      = "gpus"
	flavorName     = "h100"
	resourceName   = "gpu"
	preemptionGate = "multikueue"
)

// newSnapshot returns the admission core's state of a worker without anything.
func newSnapshot() *admission.Snapshot { return admission.NewSnapshot() }

// flavorOf is the flavor of all GPUs, whose nodes may be tainted.
func flavorOf(tainted bool) admission.Flavor {
	f := admission.Flavor{Name: flavorName}
	if tainted {
		f.Taints = []admission.Taint{{Key: "spot", Effect: admission.NoSchedule}}
	}
	return f
}

// configureQueue tells the admission core about the worker's flavor and queue.
func (c *worker) configureQueue() {
	c.snapshot.UpsertFlavor(flavorOf(c.tainted))
	c.snapshot.UpsertQueue(admission.ClusterQueue{
		Name: queueName, Strategy: admission.BestEffortFIFO, Preemption: admission.Preemption{WithinQueue: admission.LowerPriority},
		Groups: []admission.ResourceGroup{{
			Resources: []string{resourceName},
			Flavors: []admission.FlavorQuota{{Flavor: flavorName, Resources: []admission.ResourceQuota{
				{Resource: resourceName, Limits: quota.Nominal(amount.Amount(c.gpu))},
			}}},
		}},
	})
}

// admittedPriority is the priority of copies that have quota: they give way to the command evict, not to each other.
const admittedPriority = 1000

// preemptibleWorkload is the workload of a worker's own that gives way to copies.
const preemptibleWorkload = "squatter"

// syncPreemptible tells the admission core about it.
func (c *worker) syncPreemptible() {
	if c.preemptibleGPU == 0 {
		c.snapshot.Remove(workloadKey(preemptibleWorkload))
		return
	}
	c.snapshot.Admit(newReservation(preemptibleWorkload, c.preemptibleGPU, -1))
}

func newReservation(name string, gpu int64, priority int32) admission.Reservation {
	return admission.Reservation{
		Key: workloadKey(name), UID: name, LocalQueue: queueName, Queue: queueName, Admitted: true, Priority: priority,
		Usage: quota.NewUsage(quota.Use{FlavorResource: quota.FlavorResource{Flavor: flavorName, Resource: resourceName}, Amount: amount.Amount(gpu)}),
	}
}

// quotaBlock is what keeps everything of the hub from being considered on a worker.
func (c *worker) quotaBlock() *admission.Block {
	switch {
	case c.noLocalQueue:
		return &admission.Block{Reason: admission.Misconfigured, Message: "LocalQueue " + queueName + " doesn't exist"}
	case c.onHold:
		return &admission.Block{Reason: admission.Suspended, Message: "LocalQueue " + queueName + " is on hold"}
	}
	return nil
}

func workloadKey(name string) admission.Key { return admission.Key{Namespace: "ns", Name: name} }

// syncSnapshot tells the admission core about a copy as it is now: it waits, it holds quota, or neither.
func (c *worker) syncSnapshot(name string, obj optional[remoteWorkload]) {
	c.syncCopy(name, obj)
	if obj.value.elastic || c.elastic {
		c.elastic = true
		c.syncSliceCopies(name)
	}
}

func (c *worker) syncCopy(name string, obj optional[remoteWorkload]) {
	v := obj.value
	switch {
	case v.elastic && v.quota && c.isTakenOver(name, v):
		c.snapshot.Remove(workloadKey(name))
	case !obj.exists || v.finished != nil || v.deactivating && !v.quota:
		c.snapshot.Remove(workloadKey(name))
	case v.quota:
		holds := newReservation(name, v.gpu, admittedPriority)
		holds.Admitted, holds.Evicted = v.admitted, v.evicted
		c.snapshot.Admit(holds)
	default:
		waits := admission.Workload{
			Key: workloadKey(name), UID: strconv.FormatInt(v.uid, 10), LocalQueue: queueName, Queue: queueName,
			Priority: int32(v.priority), QueuedAt: v.createdAt, NotBefore: v.requeueAt,
			PodSets: []admission.PodSet{podSet(v.gpu, v.tolerates)}, Blocked: c.quotaBlock(),
		}
		if v.isGateClosed() {
			waits.ClosedGates = []string{preemptionGate}
		}
		if v.elastic {
			c.replace(v, &waits)
		}
		c.snapshot.Push(waits)
	}
}

// podSet is one pod that needs so many GPUs.
func podSet(gpu int64, tolerates bool) admission.PodSet {
	set := admission.PodSet{Name: "main", Count: 1, Requests: amount.NewVector(amount.Request{Resource: resourceName, Amount: amount.Amount(gpu)})}
	if tolerates {
		set.Tolerations = []admission.Toleration{{Key: "spot", Operator: admission.TolerateExists}}
	}
	return set
}

// runCycle runs the worker's scheduler once and reports whether anything came of it.
func (w *workerClusters) runCycle(c *worker) bool {
	before := w.version
	for _, d := range cycle.Run(c.snapshot, w.now, cycle.Options{}).Decisions {
		obj := c.workloads[d.Workload.Name]
		waits := len(d.ClosedPreemptionGates) > 0
		switch {
		case d.Outcome == admission.Admit:
			obj.quota, obj.evicted, obj.waitingReason, obj.refused, obj.blockedAt = true, false, "", false, time.Time{}
			obj.reservedAt = w.now
		case d.Outcome == admission.Preempt:
			w.recordEvent(Preempts)
			w.applyPreemption(c, d.Victims)
			continue
		case obj.waitingReason != d.Message || waits != !obj.blockedAt.IsZero():
			obj.waitingReason, obj.refused, obj.blockedAt = d.Message, isRefusal(d.Reason), time.Time{}
			if waits {
				obj.blockedAt = w.now
			}
			if obj.refused {
				w.recordEvent(OfferRefused)
			}
		default:
			continue
		}
		w.putRemoteWorkload(c, d.Workload.Name, obj)
	}
	return w.version != before
}

// isRefusal reports whether something must be changed by hand on the cluster before it admits a copy.
func isRefusal(because admission.Reason) bool {
	switch because {
	case admission.ExceedsMaxQuota, admission.NoMatchingFlavor, admission.Misconfigured, admission.Suspended:
		return true
	default:
		return false
	}
}

// applyPreemption evicts the victims: the squatter, which is gone at once.
func (w *workerClusters) applyPreemption(c *worker, victims []admission.Victim) {
	for _, victim := range victims {
		if victim.Workload.Name == preemptibleWorkload {
			c.preemptibleGPU = 0
			c.syncPreemptible()
			w.markChanged()
		}
	}
}

// nextRequeue is when the first copy may be looked at again, zero for never.
func (c *worker) nextRequeue(now time.Time) (at time.Time) {
	for _, obj := range c.workloads {
		if obj.requeueAt.After(now) {
			at = earlierTime(at, obj.requeueAt)
		}
	}
	return at
}

// freeQuota is the capacity that no copy has reserved.
func (c *worker) freeQuota() int64 {
	left := c.gpu - c.preemptibleGPU
	for name, obj := range c.workloads {
		if obj.quota && obj.finished == nil && (!obj.elastic || !c.isTakenOver(name, obj)) {
			left -= obj.gpu
		}
	}
	return left
}

// objectNames returns the names of all objects on a worker, sorted.
func (c *worker) objectNames() []string {
	var names []string
	for name := range c.workloads {
		names = append(names, name)
	}
	for name := range c.jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
