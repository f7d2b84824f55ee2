package cycle

import (
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/preempt"
)

// Explain says how a waiting workload stands; false if no workload of that name waits. It leaves the snapshot as it is.
func Explain(s *admission.Snapshot, k admission.Key, opts Options) (admission.Explanation, bool) {
	w, found := s.Pending(k)
	if !found {
		return admission.Explanation{}, false
	}
	x := admission.Explanation{Workload: k, Queue: w.Queue}
	x.Ahead = slices.IndexFunc(s.ListPending(w.Queue), func(other admission.Workload) bool { return other.Key == k })
	flavors := s.FlavorTable(w.Queue)
	if flavors != nil {
		x.PodSets = explainPodSets(flavors, &w)
	}
	if b := workloadBlock(s, &w); b != nil {
		x.Reason, x.Message = b.Reason, b.Message
		return x, true
	}
	if old, takesOver := s.Replaced(&w); takesOver && isInTransit(&old) {
		why := waitForReplaced(&old)
		x.Reason, x.Message = why.Reason, why.Message
		return x, true
	}
	explainReason(s, &w, opts, &x)
	return x, true
}

// explainReason returns the reason that the workload would get by itself, and the workloads that are in its way.
func explainReason(s *admission.Snapshot, w *admission.Workload, opts Options, x *admission.Explanation) {
	// The scheduler is this run's own, so that nothing that cycles cache changes.
	r := &run{Scheduler: &Scheduler{snapshot: s, victimSearch: preempt.New(s, opts.preemptionOptions())}, options: opts}
	c := &nominatedHead{member: &admission.QueueMember{Value: &admission.PendingWorkload{Workload: *w}}, flavorTable: s.FlavorTable(w.Queue)}
	got := r.findAssignment(c)
	x.Reason, x.Message = got.Reason, got.Message
	switch {
	case got.Mode == assign.Fit:
		x.Reason, x.Message = admission.QuotaReserved, c.flavorTable.AdmittedMessage
	case got.Mode > assign.NoCandidates:
		x.Victims = c.victims
		fallthrough
	default:
		x.BlockingHolders = r.blockingHolders(c, w)
	}
}

// blockingHolders returns the workloads whose end would let the workload fit: holders of quota in its tree, by the time they
// got it, as few of them as will do.
func (r *run) blockingHolders(c *nominatedHead, w *admission.Workload) []admission.Key {
	opts := r.assignOptions(w)
	fits := func() bool { return r.assigner.Assign(c.flavorTable, w, opts).Mode == assign.Fit }
	holders := r.snapshot.HoldersByAge(w.Queue)
	holders = slices.DeleteFunc(holders, func(h admission.Reservation) bool { return h.Key == w.Replaces })
	trial := r.snapshot.Quota().BeginTrial()
	defer trial.Rollback()
	n := 0
	for n < len(holders) && !fits() {
		trial.Release(holders[n].Queue, holders[n].Usage)
		n++
	}
	if !fits() {
		return nil
	}
	var needed []admission.Key
	for _, h := range slices.Backward(holders[:n]) {
		trial.Reserve(h.Queue, h.Usage)
		if !fits() {
			trial.Release(h.Queue, h.Usage)
			needed = append(needed, h.Key)
		}
	}
	slices.Reverse(needed)
	return needed
}

// explainPodSets explains each pod set by itself, with all flavors of its groups.
func explainPodSets(flavors *admission.FlavorTable, w *admission.Workload) []admission.PodSetExplanation {
	list := make([]admission.PodSetExplanation, len(w.PodSets))
	for i := range w.PodSets {
		podSet := &w.PodSets[i]
		x := admission.PodSetExplanation{Name: podSet.Name, Count: podSet.Count}
		for g := range flavors.Groups {
			x.Flavors = append(x.Flavors, explainGroup(flavors, g, podSet)...)
		}
		for _, request := range podSet.Requests {
			if _, covered := flavors.FindResource(request.Resource); !covered {
				x.Undeclared = append(x.Undeclared, request.Resource)
			}
		}
		list[i] = x
	}
	return list
}

// explainGroup says how the flavors of a group suit the pod set, nothing if it asks for none of the group's resources.
func explainGroup(flavors *admission.FlavorTable, group int, podSet *admission.PodSet) []admission.FlavorExplanation {
	asked := podSet.Requests.Times(int64(podSet.Count))
	if _, counted := flavors.FindResource(amount.Pods); counted {
		asked = asked.Plus(amount.Vector{{Resource: amount.Pods, Amount: amount.Amount(podSet.Count)}})
	}
	asked = slices.DeleteFunc(asked, func(request amount.Request) bool {
		column, covered := flavors.FindResource(request.Resource)
		return !covered || column.Group != group
	})
	if len(asked) == 0 {
		return nil
	}
	var list []admission.FlavorExplanation
	for i := range flavors.Groups[group].Flavors {
		list = append(list, explainFlavor(flavors, group, i, asked, podSet))
	}
	return list
}

// explainFlavor explains one flavor for the resources that a pod set asks for.
func explainFlavor(flavors *admission.FlavorTable, group, flavor int, asked amount.Vector, podSet *admission.PodSet) admission.FlavorExplanation {
	f := &flavors.Groups[group].Flavors[flavor]
	x := admission.FlavorExplanation{Flavor: f.Name}
	for _, request := range asked {
		column, _ := flavors.FindResource(request.Resource)
		cell := f.Cells[column.Index]
		account := admission.ResourceExplanation{
			Resource: request.Resource, Requested: request.Amount, Nominal: cell.Nominal(), Used: cell.Usage(),
			Borrowable: cell.PotentialAvailable().Sub(cell.Nominal()).AtLeast(0), Available: cell.Available(),
		}
		switch {
		case request.Amount <= 0 || request.Amount <= account.Available:
		case request.Amount > cell.PotentialAvailable():
			account.Reason = admission.ExceedsMaxQuota
		default:
			account.Reason = admission.WaitingForQuota
		}
		if x.Reason == "" || account.Reason == admission.ExceedsMaxQuota {
			x.Reason = account.Reason
		}
		x.Resources = append(x.Resources, account)
	}
	if why := assign.FlavorMismatch(podSet, f, flavors.Groups[group].LabelKeys); why != "" {
		x.Reason, x.Message = admission.NoMatchingFlavor, why
	}
	return x
}
