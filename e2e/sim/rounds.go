package sim

import (
	"slices"
	"strings"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What must hold of nominations in rounds. That goes by what the hub was shown: it can know which clusters may still admit.

// roundHistory is what is remembered of nominations in rounds.
type roundHistory struct {
	// lastNominated is when clusters were nominated for a Workload last, if that is done in rounds.
	lastNominated map[int64]time.Time
	// offersSent is when each cluster was begun to be sent the offer of an attempt.
	offersSent map[attempt]map[string]time.Time
}

// checkRounds checks what the incremental dispatcher and best fit nominate: no more than a step at a time, and no new cluster
// before the nominated ones had their time, unless too few of them are left that may admit.
func (r *roundHistory) checkRounds(t *decision, item workload, s, next dispatch.State) {
	step, timeout := t.policy.StepSize, t.policy.RoundTimeout
	switch t.policy.Dispatcher {
	case dispatch.Incremental:
		r.checkOrder(t, item, next)
	case dispatch.BestFit:
		step, timeout = 1, min(timeout, t.policy.HedgeAfter<<max(countKept(s, next)-1, 0))
	case dispatch.AllAtOnce, dispatch.External:
		return
	}
	fresh, hopeful := r.splitNominated(t, s, next)
	if len(fresh) == 0 {
		return
	}
	over := !t.now.Before(r.lastNominated[item.uid].Add(timeout))
	if t.policy.Dispatcher == dispatch.BestFit && len(hopeful)+len(fresh) > step {
		r.checkOfferTime(t, attempt{item.uid, s.Epoch}, hopeful, timeout)
	}
	t.mustHold(invRound, len(fresh) <= step && (len(hopeful)+len(fresh) <= step || over), "%s has %v, %d of them new, last round at %s",
		item.name, next.Nominated, len(fresh), r.lastNominated[item.uid].Format(time.TimeOnly))
	r.lastNominated[item.uid] = t.now
}

// recordOfferSent notes when an offer is begun to be made first.
func (r *roundHistory) recordOfferSent(key attempt, cluster string, now time.Time) {
	if r.offersSent[key] == nil {
		r.offersSent[key] = map[string]time.Time{}
	}
	if _, known := r.offersSent[key][cluster]; !known {
		r.offersSent[key][cluster] = now
	}
}

// splitNominated parts the nominated clusters into the new ones and, of the others, those that may still admit.
func (r *roundHistory) splitNominated(t *decision, s, next dispatch.State) (fresh, hopeful []string) {
	began := (next.Epoch != s.Epoch || next.Reservation != s.Reservation) && t.plan.Reason != dispatch.TakenOver // which nominates nobody
	for _, name := range next.Nominated {
		v := clusterView(t.obs, name)
		switch {
		case began || !slices.Contains(s.Nominated, name):
			fresh = append(fresh, name)
		case !canBeOffered(v), v.Copy.Evicted, v.Copy.Refused, v.Copy.Deactivating, v.Copy.Finished != nil, hasRefusedCall(v, s.Epoch):
		case v.Health.Degraded != "" && v.Copy.Holder == dispatch.Absent && hasReadierCluster(t, s): // it does not even take the offer in time
		case t.leaseExpired(name), !t.hasLease(name) && v.Copy.Holder == dispatch.Absent: // its fence would stop the job
		case isBlockedOnGate(v) && hasEasierCluster(t, s, v): // it would have to preempt, another would not
		default:
			hopeful = append(hopeful, name)
		}
	}
	return fresh, hopeful
}

// hasRefusedCall reports whether a cluster has turned down what it was asked, for all that it shows.
func hasRefusedCall(v dispatch.ClusterView, epoch int64) bool {
	took := v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == epoch && v.Copy.SpecMatches && !v.Copy.Deleting && !v.Offer.GateRequested
	return v.Health.Trouble != "" && !took
}

// canBeOffered reports whether a cluster could be offered something, as far as its connection and our name are concerned.
func canBeOffered(v dispatch.ClusterView) bool {
	return v.InConfig && v.Link.State == dispatch.Connected && v.Copy.Holder != dispatch.Foreign && v.Job.Holder != dispatch.Foreign
}

// isEligible reports whether nothing stands against offering a cluster this Workload.
func (t *decision) isEligible(v dispatch.ClusterView) bool {
	return canBeOffered(v) && t.hasLease(v.Name) && !v.Operator.Cordoned && !v.Operator.Draining && !v.Operator.DeclaredGone && (t.obs.Local.Siblings.Pin == "" || t.obs.Local.Siblings.Pin == v.Name)
}

// hasReadierCluster reports whether BestFit has a cluster left that answers in time.
func hasReadierCluster(t *decision, s dispatch.State) bool {
	return t.policy.Dispatcher == dispatch.BestFit && slices.ContainsFunc(t.obs.Clusters, func(v dispatch.ClusterView) bool {
		return v.Health.Degraded == "" && v.Link.State == dispatch.Connected && !slices.Contains(s.Nominated, v.Name)
	})
}

// isBlockedOnGate reports whether a copy waits for its gate and nothing else; easier whether there is a cluster left without need of it.
func isBlockedOnGate(v dispatch.ClusterView) bool { return v.Copy.GateClosed && v.Copy.BlockedOnGate }

func hasEasierCluster(t *decision, s dispatch.State, than dispatch.ClusterView) bool {
	return slices.ContainsFunc(t.obs.Clusters, func(v dispatch.ClusterView) bool {
		return v.Name != than.Name && !v.Fit.Preempting && t.isEligible(v) && !slices.Contains(s.Nominated, v.Name)
	})
}

// checkOrder checks that the incremental dispatcher passes over no cluster: each that comes before a nominated one is
// nominated too, or could not be.
func (r *roundHistory) checkOrder(t *decision, item workload, next dispatch.State) {
	order := slices.Clone(t.obs.Clusters)
	if t.policy.ByName {
		slices.SortFunc(order, func(a, b dispatch.ClusterView) int { return strings.Compare(a.Name, b.Name) })
	}
	if len(next.Nominated) == 0 || countKept(t.item.state(), next) > 0 {
		return // what was in reach and in the config when the others were nominated is not known any more
	}
	last := 0
	for i, v := range order {
		if slices.Contains(next.Nominated, v.Name) {
			last = i
		}
	}
	for _, v := range order[:last] {
		t.mustHold(invOrder, slices.Contains(next.Nominated, v.Name) || !t.isEligible(v), "%s has %v, but %s comes before", item.name, next.Nominated, v.Name)
	}
}

// checkOfferTime checks that the clusters which may still admit were sent their offers long enough ago, unless something of
// an earlier epoch, or a job that is none of ours, was in the way. A program that was started since does not know when.
func (r *roundHistory) checkOfferTime(t *decision, key attempt, hopeful []string, timeout time.Duration) {
	for _, name := range hopeful {
		v := clusterView(t.obs, name)
		earlier := v.Copy.Holder == dispatch.Predecessor || v.Copy.Holder != dispatch.Absent && v.Copy.Epoch != key.epoch ||
			v.Job.Holder != dispatch.Absent
		if isDebtor(t.state, name) || earlier {
			continue
		}
		sent, ok := r.offersSent[key][name]
		had := ok && (!t.now.Before(sent.Add(timeout)) || !t.driver.started.Before(sent))
		t.mustHold(invOfferTime, had, "%s is to be hedged on others, %s was sent its offer at %s", t.item.name, name, sent.Format(time.TimeOnly))
	}
}

// countKept counts the clusters that stay nominated.
func countKept(s, next dispatch.State) int {
	n := 0
	for _, name := range s.Nominated {
		if slices.Contains(next.Nominated, name) {
			n++
		}
	}
	return n
}
