package usage

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// Options are the settings of admission fair sharing.
type Options struct {
	// HalfLife is the time in which what was consumed loses half of its weight; 0 remembers nothing.
	HalfLife time.Duration
	// Interval is the time between two samples; it must be positive.
	Interval time.Duration
	// Weights of resources; one that is not named has weight 1.
	Weights []ResourceWeight
}

// ResourceWeight is how much a unit (core, byte, device) of a resource counts.
type ResourceWeight struct {
	Resource string
	Weight   quota.Weight
}

// Consumed is the decayed use of one resource.
type Consumed struct {
	Resource string
	// Milli is in thousandths of a core, byte or device.
	Milli amount.Amount
}

// LocalQueueUsage is how a LocalQueue stands.
type LocalQueueUsage struct {
	// Consumed is sorted by resource, without the penalties of workloads that are not admitted yet.
	Consumed []Consumed
	// SampledAt is when the decay was applied last, or when the account began.
	SampledAt time.Time
	// WeightedUsage is the figure that is compared.
	WeightedUsage amount.Amount
}

// HasConsumed tells whether anything is left of what was consumed, in thousandths.
func (a LocalQueueUsage) HasConsumed() bool {
	return slices.ContainsFunc(a.Consumed, func(c Consumed) bool { return c.Milli > 0 })
}

// UsageChange is the recent usage of a LocalQueue as Snapshot.SetLocalUsage takes it: thousandths of a weighted unit,
// amount.Unlimited for a LocalQueue whose weight is 0.
type UsageChange struct {
	LocalQueue admission.Key
	Usage      amount.Amount
}

// Tracker has an account for every LocalQueue that takes part. It must not be used concurrently.
type Tracker struct {
	weights     map[string]quota.Weight
	interval    time.Duration
	retained    fraction
	localQueues map[admission.Key]*trackedQueue
	// bySampleTime has the accounts by the time of their last sample.
	bySampleTime *order.Heap[*trackedQueue]
	// penalties are the penalties of workloads that hold quota and are not admitted, by workload.
	penalties map[admission.Key]workloadPenalty
	// changed accounts may have another figure than the one that was told.
	changed map[admission.Key]*trackedQueue
}

// trackedQueue is what is known of a LocalQueue.
type trackedQueue struct {
	localQueue admission.Key
	weight     quota.Weight
	sampledAt  time.Time
	// heapIndex is the place among the due.
	heapIndex int
	consumed  map[string]fixedPoint
	// pendingPenalties adds up the penalties of the entries.
	pendingPenalties map[string]exactSum
	// reported is the value that was returned last; it is zero before the first time, like that of a LocalQueue without a
	// value.
	reported amount.Amount
}

// workloadPenalty is a workload's penalty and the account that has it.
type workloadPenalty struct {
	queue   *trackedQueue
	request amount.Vector
}

// NewTracker returns a ledger without accounts.
func NewTracker(o Options) *Tracker {
	if o.Interval <= 0 {
		panic("usage: the sampling interval is positive")
	}
	l := &Tracker{
		weights:     map[string]quota.Weight{},
		interval:    o.Interval,
		retained:    retainedFraction(o.Interval, o.HalfLife),
		localQueues: map[admission.Key]*trackedQueue{},
		penalties:   map[admission.Key]workloadPenalty{},
		changed:     map[admission.Key]*trackedQueue{},
	}
	for _, w := range o.Weights {
		l.weights[w.Resource] = w.Weight
	}
	l.bySampleTime = order.NewHeap(
		func(a, b *trackedQueue) int { return a.sampledAt.Compare(b.sampledAt) },
		func(a *trackedQueue, at int) { a.heapIndex = at },
	)
	return l
}
