package view

import (
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/admission/usage"
	"switchyard.dev/worker/demand"
	api "switchyard.dev/worker/workload"
)

// books keep the recent usage of LocalQueues (contract: kueue-api.md 4.14). They know the time of the last cycle only.
type books struct {
	*usage.Ledger
	// opening are LocalQueues that are new or have changed since the last cycle.
	opening map[admission.Key]bool
}

func newBooks(o *usage.Options) *books {
	if o == nil {
		return nil
	}
	return &books{Ledger: usage.NewLedger(*o), opening: map[admission.Key]bool{}}
}

// account notes what the workload's state means for the usage of its LocalQueue: a penalty from the assumption until the
// admission, which makes it part of what was consumed.
func (v *View) account(w *workload) {
	if v.books == nil {
		return
	}
	r, holds := v.snap.Holding(w.key())
	switch {
	case api.IsAdmitted(w.obj):
		v.books.Settle(w.key())
	case holds:
		v.books.Enter(w.key(), keyOf(r.Namespace, r.LocalQueue), admission.Resources(r.Usage))
	default:
		v.books.Leave(w.key())
	}
}

func (v *View) openBooks(local admission.Key) {
	if v.books != nil {
		v.books.opening[local] = true
		v.signal()
	}
}

func (v *View) closeBooks(local admission.Key) {
	if v.books != nil {
		delete(v.books.opening, local)
		v.books.Close(local)
		v.snap.SetLocalUsage(local, 0)
	}
}

// balance brings the books up to the time and tells the snapshot what changed. It returns when to do so again; the zero
// time when never.
func (v *View) balance(now time.Time) time.Time {
	if v.books == nil {
		return time.Time{}
	}
	for local := range v.books.opening {
		if lq := v.locals[local]; lq != nil {
			v.books.Open(now, local, weightOf(lq.obj.Spec.FairSharing), consumedBy(lq.obj))
			v.changedLocal(local, gather)
			for _, w := range v.byLocal[local] {
				v.account(w)
			}
		}
	}
	clear(v.books.opening)
	for _, local := range v.books.Advance(now, v.snap.AdmittedThrough) {
		if account, _ := v.books.Account(local); account.ConsumesAnything() {
			v.changedLocal(local, gather) // The time of the sample is in the status.
		}
	}
	for _, f := range v.books.Changes() {
		v.snap.SetLocalUsage(f.Local, f.Usage)
		v.changedLocal(f.Local, gather)
	}
	return v.books.NextSample()
}

// consumedBy reads from the status what a former leader knew.
func consumedBy(lq *kueue.LocalQueue) usage.Account {
	if lq.Status.FairSharing == nil || lq.Status.FairSharing.AdmissionFairSharingStatus == nil {
		return usage.Account{}
	}
	was := lq.Status.FairSharing.AdmissionFairSharingStatus
	account := usage.Account{SampledAt: was.LastUpdate.Time}
	for name, q := range was.ConsumedResources {
		account.Consumed = append(account.Consumed, usage.Consumed{Resource: string(name), Milli: demand.ThousandthsOf(q)})
	}
	return account
}

// weightOf is the weight that is set, or 1. The webhook refuses negative ones; those count as 0.
func weightOf(f *kueue.FairSharing) quota.Weight {
	if f == nil || f.Weight == nil {
		return quota.Weight{}
	}
	return quota.WeightOf(demand.BillionthsOf(*f.Weight))
}
