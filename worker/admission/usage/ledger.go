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

// Account is how a LocalQueue stands.
type Account struct {
	// Consumed is sorted by resource, without the penalties of workloads that are not admitted yet.
	Consumed []Consumed
	// SampledAt is when the decay was applied last, or when the account began.
	SampledAt time.Time
	// Usage is the figure that is compared.
	Usage amount.Amount
}

// ConsumesAnything tells whether anything is left of what was consumed, in thousandths.
func (a Account) ConsumesAnything() bool {
	return slices.ContainsFunc(a.Consumed, func(c Consumed) bool { return c.Milli > 0 })
}

// Figure is the recent usage of a LocalQueue as Snapshot.SetLocalUsage takes it: thousandths of a weighted unit,
// amount.Unlimited for a LocalQueue whose weight is 0.
type Figure struct {
	Local admission.Key
	Usage amount.Amount
}

// Ledger has an account for every LocalQueue that takes part. It must not be used concurrently.
type Ledger struct {
	weights  map[string]quota.Weight
	interval time.Duration
	keep     fraction
	accounts map[admission.Key]*account
	// due has the accounts by the time of their last sample.
	due *order.Heap[*account]
	// entries are the penalties of workloads that hold quota and are not admitted, by workload.
	entries map[admission.Key]entry
	// touched accounts may have another figure than the one that was told.
	touched map[admission.Key]*account
}

// account is what is known of a LocalQueue.
type account struct {
	local     admission.Key
	weight    quota.Weight
	sampledAt time.Time
	// at is the place among the due.
	at       int
	consumed map[string]fixed
	// pending adds up the penalties of the entries.
	pending map[string]total
	// told is the figure that was told last; it is zero before the first time, like that of a LocalQueue nobody told about.
	told amount.Amount
}

// entry is a workload's penalty and the account that has it.
type entry struct {
	account *account
	request amount.Vector
}

// NewLedger returns a ledger without accounts.
func NewLedger(o Options) *Ledger {
	if o.Interval <= 0 {
		panic("usage: the sampling interval is positive")
	}
	l := &Ledger{
		weights:  map[string]quota.Weight{},
		interval: o.Interval,
		keep:     keeps(o.Interval, o.HalfLife),
		accounts: map[admission.Key]*account{},
		entries:  map[admission.Key]entry{},
		touched:  map[admission.Key]*account{},
	}
	for _, w := range o.Weights {
		l.weights[w.Resource] = w.Weight
	}
	l.due = order.NewHeap(
		func(a, b *account) int { return a.sampledAt.Compare(b.sampledAt) },
		func(a *account, at int) { a.at = at },
	)
	return l
}
