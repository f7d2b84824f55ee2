package admission

import (
	"slices"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// PendingQueue is the waiting line of a ClusterQueue.
type PendingQueue = order.Queue[*PendingWorkload, RequeueCondition]

// QueueMember is a workload's place in a queue.
type QueueMember = order.Member[*PendingWorkload, RequeueCondition]

// Class is the workloads in a queue that quota and flavors cannot tell apart.
type Class = order.EquivalenceClass[*PendingWorkload, RequeueCondition]

// classCount is how many of one kind wait in a queue.
type classCount = order.ClassCount[*PendingWorkload, RequeueCondition]

// WaitReason is what a waiting workload is told.
type WaitReason = order.WaitReason

// RequeueCondition is what a workload that cannot be admitted waits for, beside a change of its own and of the configuration. The zero
// value waits for nothing else.
type RequeueCondition struct {
	// AnyFreed is whether any quota that is given back in the cohort tree could help.
	AnyFreed bool
	// Shortfalls is what was not available, in all flavors that were tried, sorted by the order in which they were: giving back
	// other flavor-resources does not help.
	Shortfalls []Shortfall
	// PartialHelps is whether it could help to lack less, because preemption might find the rest; otherwise at least one of Lacks
	// must be available in full.
	PartialHelps bool
	// QuotaClaimed is whether the quota of workloads that wait for their victims was counted as taken, so that each cycle on
	// the cohort tree has to look again.
	QuotaClaimed bool
	// UnconfirmedVictim is whether the admission of a workload was still being written that could be evicted for it
	// afterwards.
	UnconfirmedVictim bool
	// PreemptionGated is whether it could evict others if its preemption gates were open.
	PreemptionGated bool
	// PodsReady is whether it waits for the pods of admitted workloads to be ready.
	PodsReady bool
}

// Shortfall is an amount of a flavor-resource that a queue had not available.
type Shortfall struct {
	FlavorResource
	Cell   *quota.Cell
	Amount amount.Amount
}

// hasShortfallIn reports whether it lacks one of the flavor-resources.
func (w RequeueCondition) hasShortfallIn(r *freedQuota) bool {
	return slices.ContainsFunc(w.Shortfalls, func(lack Shortfall) bool { return r.flavorResources[lack.FlavorResource] })
}

// isMetBy reports whether what was given back could make a difference.
func (w RequeueCondition) isMetBy(r *freedQuota) bool {
	if w.AnyFreed || r.limitsChanged {
		return true
	}
	for _, lack := range w.Shortfalls {
		if r.flavorResources[lack.FlavorResource] && (w.PartialHelps || lack.Cell.Available() >= lack.Amount) {
			return true
		}
	}
	return false
}

// requeuer makes inadmissible workloads eligible again when what they wait for has happened: quota was freed, a claim came up, a victim's
// admission was confirmed, or all pods are ready.
type requeuer struct {
	quota  *quota.Tree
	queues *queueIndex
	// freedByQueue and changedCohorts name the queues and cohorts in whose trees quota was freed or limits changed since the last
	// cycle.
	freedByQueue   map[string]*freedQuota
	changedCohorts map[string]bool
	// claims are the heads that wait for quota with a right to it, by queue.
	claims map[string]claim
	// recheckQueues are the queues in which a workload may wait for a claim, an unconfirmed admission or pods that get ready.
	recheckQueues map[string]*queueState
	// assumedCount counts the reservations that a cycle made and the API has not confirmed.
	assumedCount int
	// confirmedByQueue says what was confirmed since the last cycle.
	confirmedByQueue map[string]*freedQuota
	// unreadyCount counts the workloads that are admitted, or assumed to be, and whose pods are not ready.
	unreadyCount int
}

// freedQuota is what a cohort tree has more of since the last cycle.
type freedQuota struct {
	// limitsChanged stands for anything: limits may have moved.
	limitsChanged   bool
	flavorResources map[FlavorResource]bool
}

func (r *freedQuota) add(u Usage) {
	for _, use := range u {
		if r.flavorResources == nil {
			r.flavorResources = map[FlavorResource]bool{}
		}
		r.flavorResources[use.FlavorResource] = true
	}
}

func (r *freedQuota) merge(other *freedQuota) {
	r.limitsChanged = r.limitsChanged || other.limitsChanged
	for name := range other.flavorResources {
		if r.flavorResources == nil {
			r.flavorResources = map[FlavorResource]bool{}
		}
		r.flavorResources[name] = true
	}
}

func ensureFreed(freed map[string]*freedQuota, queue string) *freedQuota {
	r, found := freed[queue]
	if !found {
		r = &freedQuota{}
		freed[queue] = r
	}
	return r
}

// recordFreed notes that the queue's tree has back what the usage says.
func (q *requeuer) recordFreed(queue string, u Usage) { ensureFreed(q.freedByQueue, queue).add(u) }

// recordLimitsChanged notes that limits in the queue's tree may have moved.
func (q *requeuer) recordLimitsChanged(queue string) {
	ensureFreed(q.freedByQueue, queue).limitsChanged = true
}

// requeueForFreedQuota requeues the workloads that wait for what was given back or redistributed in their trees.
func (q *requeuer) requeueForFreedQuota() {
	if len(q.changedCohorts)+len(q.freedByQueue) == 0 {
		return
	}
	// Families are disjoint, so that their first member names them.
	freed := map[string]*freedQuota{}
	families := map[string][]string{}
	note := func(family []string, r *freedQuota) {
		if len(family) == 0 {
			return
		}
		if sum, found := freed[family[0]]; found {
			sum.merge(r)
			return
		}
		freed[family[0]], families[family[0]] = r, family
	}
	for cohort := range q.changedCohorts {
		note(q.quota.QueuesInCohortTree(cohort), &freedQuota{limitsChanged: true})
	}
	for queue, r := range q.freedByQueue {
		note(q.quota.QueuesInTree(queue), r)
	}
	for root, r := range freed {
		for _, queue := range families[root] {
			q.requeueIf(queue, func(w RequeueCondition) bool { return w.isMetBy(r) })
		}
	}
	clear(q.changedCohorts)
	clear(q.freedByQueue)
}

// requeueAll makes all pending workloads of the queue eligible again.
func (q *requeuer) requeueAll(queue string) {
	if d, found := q.queues.queueStates[queue]; found && d.pendingQueue != nil {
		d.pendingQueue.RequeueAll()
		q.queues.includeInNextCycle(d)
	}
}

func (q *requeuer) requeueIf(queue string, over func(RequeueCondition) bool) {
	if d, found := q.queues.queueStates[queue]; found && d.pendingQueue != nil && d.pendingQueue.RequeueIf(over) {
		q.queues.includeInNextCycle(d)
	}
}
