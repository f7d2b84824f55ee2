package preempt_test

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"sort"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/preempt"
	"switchyard.dev/worker/admission/quota"
)

// naiveSearch searches for victims from the facts alone, as DESIGN.md words it: after every step it looks at all workloads
// again, counts all quota anew, and compares shares as rational numbers.
type naiveSearch struct {
	facts   *admissiontest.Facts
	request preempt.Request
	options preempt.Options
	// path leads from the queue to the root.
	path           []admissiontest.Node
	needPreemption []quota.FlavorResource
	victims        []naiveVictim
	// preemptorShares are the shares of the path's nodes before any eviction.
	preemptorShares []naiveShare
	failed          map[string]bool
	retrying        map[string]bool
}

type naiveVictim struct {
	admission.Reservation
	reason admission.Reason
}

const preemptorName = "~need"

func naiveFind(f *admissiontest.Facts, need preempt.Request, o preempt.Options) []admission.Victim {
	q, known := f.Queues[need.Queue]
	p := q.Preemption
	within, reclaim := cmp.Or(p.WithinQueue, admission.Never), cmp.Or(p.ReclaimWithinCohort, admission.Never)
	if !known || within == admission.Never && reclaim == admission.Never {
		return nil
	}
	n := &naiveSearch{facts: copyFacts(f), request: need, options: o}
	n.path = []admissiontest.Node{admissiontest.QueueNode(need.Queue)}
	above := q.Cohort
	for ; above != ""; above = f.Cohorts[above].Parent {
		n.path = append(n.path, admissiontest.CohortNode(above))
	}
	for _, use := range need.Usage {
		if n.facts.NaiveQuota(use.FlavorResource).PotentialAvailable(n.path[0]) < use.Amount {
			return nil
		}
	}
	n.facts.Reservations[preemptorName] = admission.Reservation{Key: admissiontest.Key(preemptorName), Queue: need.Queue, Usage: need.Usage}
	if n.fits() || !n.findVictims() {
		return nil
	}
	var victims []admission.Victim
	for _, v := range n.victims {
		victims = append(victims, admission.Victim{
			Workload: v.Key, UID: v.UID, Queue: v.Queue, Reason: v.reason, Evicted: v.Evicted,
		})
	}
	return victims
}

func copyFacts(f *admissiontest.Facts) *admissiontest.Facts {
	c := admissiontest.NewFacts()
	maps.Copy(c.Queues, f.Queues)
	maps.Copy(c.Cohorts, f.Cohorts)
	maps.Copy(c.Reservations, f.Reservations)
	maps.Copy(c.RecentUsage, f.RecentUsage)
	return c
}

func (n *naiveSearch) findVictims() bool {
	reason := n.leavingReason()
	var leaving []admission.Reservation
	for name, r := range n.facts.Reservations {
		if name != preemptorName && r.Evicted && n.commonLevel(r.Queue) >= 0 && n.holdsAny(r, n.requestedResources()) {
			leaving = append(leaving, r)
		}
	}
	slices.SortFunc(leaving, n.compareCandidates)
	for _, r := range leaving {
		if r.Queue == n.request.Queue {
			n.addVictim(r, admission.InClusterQueue)
		} else {
			n.addVictim(r, reason)
		}
	}
	if n.fits() {
		n.fillBack(n.rootLevel())
		return true
	}
	for _, name := range n.requestedResources() {
		if n.facts.NaiveQuota(name).Available(n.path[0]) < 0 {
			n.needPreemption = append(n.needPreemption, name)
		}
	}
	if n.options.FairSharing {
		return n.findFair()
	}
	return n.findClassical()
}

func (n *naiveSearch) requestedResources() []quota.FlavorResource {
	var names []quota.FlavorResource
	for _, use := range n.request.Usage {
		if use.Amount > 0 {
			names = append(names, use.FlavorResource)
		}
	}
	return names
}

func (n *naiveSearch) rootLevel() int { return len(n.path) - 1 }

func (n *naiveSearch) isBorrowing(at admissiontest.Node, name quota.FlavorResource) bool {
	a := n.facts.NaiveQuota(name)
	return a.SubtreeQuota(at) != amount.Unlimited && a.Usage(at) > a.SubtreeQuota(at)
}

func (n *naiveSearch) fits() bool {
	for _, name := range n.requestedResources() {
		if n.facts.NaiveQuota(name).Available(admissiontest.QueueNode(n.request.Queue)) < 0 {
			return false
		}
	}
	return true
}

func (n *naiveSearch) fitsWithoutBorrowing(level int) bool {
	for _, name := range n.needPreemption {
		if n.isBorrowing(n.path[level], name) {
			return false
		}
	}
	return true
}

func (n *naiveSearch) isSatisfied(level int) bool {
	return n.fits() && (level == n.rootLevel() || n.fitsWithoutBorrowing(level))
}

func (n *naiveSearch) leavingReason() admission.Reason {
	for _, name := range n.requestedResources() {
		if n.isBorrowing(n.path[0], name) {
			if n.options.FairSharing {
				return admission.InCohortFairSharing
			}
			return admission.InCohortReclaimWhileBorrowing
		}
	}
	return admission.InCohortReclamation
}

// pathToRoot leads from a queue to its root.
func (n *naiveSearch) pathToRoot(queue string) []admissiontest.Node {
	nodes := []admissiontest.Node{admissiontest.QueueNode(queue)}
	for above := n.facts.Queues[queue].Cohort; above != ""; above = n.facts.Cohorts[above].Parent {
		nodes = append(nodes, admissiontest.CohortNode(above))
	}
	return nodes
}

// commonLevel returns the level of the lowest node above both queues, -1 if there is none.
func (n *naiveSearch) commonLevel(queue string) int {
	nodes := n.pathToRoot(queue)
	return slices.IndexFunc(n.path, func(p admissiontest.Node) bool { return slices.Contains(nodes, p) })
}

func (n *naiveSearch) addVictim(r admission.Reservation, because admission.Reason) {
	delete(n.facts.Reservations, r.Name)
	n.victims = append(n.victims, naiveVictim{Reservation: r, reason: because})
}

func (n *naiveSearch) fillBack(level int) {
	for i := len(n.victims) - 1; i >= 0; i-- {
		v := n.victims[i]
		n.facts.Reservations[v.Name] = v.Reservation
		if n.isSatisfied(level) {
			n.victims = slices.Delete(n.victims, i, i+1)
		} else {
			delete(n.facts.Reservations, v.Name)
		}
	}
}

// saveState returns a function that restores the present state.
func (n *naiveSearch) saveState() func() {
	holding, taken := maps.Clone(n.facts.Reservations), slices.Clone(n.victims)
	return func() { n.facts.Reservations, n.victims = maps.Clone(holding), slices.Clone(taken) }
}

func (n *naiveSearch) holdsAny(r admission.Reservation, names []quota.FlavorResource) bool {
	return slices.ContainsFunc(r.Usage, func(u quota.Use) bool {
		return u.Amount > 0 && slices.Contains(names, u.FlavorResource)
	})
}

func (n *naiveSearch) compareCandidates(a, b admission.Reservation) int {
	if ownA, ownB := a.Queue == n.request.Queue, b.Queue == n.request.Queue; ownA != ownB {
		if ownB {
			return -1
		}
		return 1
	}
	used := func(r admission.Reservation) amount.Amount {
		if !n.facts.Queues[r.Queue].UsageBased {
			return 0
		}
		return n.facts.RecentUsage[r.LocalQueue]
	}
	return cmp.Or(cmp.Compare(used(b), used(a)), cmp.Compare(a.Priority, b.Priority),
		b.ReservedAt.Compare(a.ReservedAt), cmp.Compare(a.UID, b.UID))
}

// isCandidate reports whether the workload may be taken now: policy allows it, it holds something contested, and its queue
// and all above it up to the preemptor's path borrow that.
func (n *naiveSearch) isCandidate(r admission.Reservation, policy admission.PreemptionPolicy, level int) bool {
	if r.Name == preemptorName || r.Assumed || !n.policyAllows(r, policy) {
		return false
	}
	for _, name := range n.needPreemption {
		if n.holdsAny(r, []quota.FlavorResource{name}) && (level == 0 || n.isPathBorrowing(r.Queue, name, level)) {
			return true
		}
	}
	return false
}

func (n *naiveSearch) policyAllows(r admission.Reservation, policy admission.PreemptionPolicy) bool {
	w := n.request.Workload
	switch policy {
	case admission.AnyPriority:
		return true
	case admission.LowerPriority:
		return r.Priority < w.Priority
	case admission.LowerOrNewerEqualPriority:
		return r.Priority < w.Priority || r.Priority == w.Priority && r.QueuedAt.After(w.QueuedAt)
	case admission.Never:
	}
	return false
}

func (n *naiveSearch) isPathBorrowing(queue string, name quota.FlavorResource, level int) bool {
	for _, at := range n.pathToRoot(queue) {
		if at == n.path[level] {
			return true
		}
		if !n.isBorrowing(at, name) {
			return false
		}
	}
	panic("the path must meet")
}

func (n *naiveSearch) findClassical() bool {
	for level := range n.rootLevel() {
		back := n.saveState()
		if n.tryScope(level, n.rootLevel()) {
			if n.hasReclaimed() {
				return true
			}
			back()
			return n.tryScope(n.rootLevel(), level)
		}
		back()
	}
	return n.tryScope(n.rootLevel(), n.rootLevel())
}

func (n *naiveSearch) hasReclaimed() bool {
	return slices.ContainsFunc(n.victims, func(v naiveVictim) bool {
		return !v.Evicted && v.reason == admission.InCohortReclamation
	})
}

func (n *naiveSearch) tryScope(within, reach int) bool {
	anyOutside := false
	for {
		var first *naiveVictim
		for name := range n.facts.Reservations {
			r := n.facts.Reservations[name]
			because, allowed, outside := n.classicalReason(r, within, reach)
			anyOutside = anyOutside || outside
			if allowed && (first == nil || n.compareCandidates(r, first.Reservation) < 0) {
				first = &naiveVictim{Reservation: r, reason: because}
			}
		}
		if within < n.rootLevel() && !anyOutside || first == nil {
			return false
		}
		n.addVictim(first.Reservation, first.reason)
		if n.isSatisfied(within) {
			n.fillBack(within)
			return true
		}
	}
}

func (n *naiveSearch) classicalReason(r admission.Reservation, within, reach int) (because admission.Reason, allowed, outside bool) {
	p, level := n.facts.Queues[n.request.Queue].Preemption, n.commonLevel(r.Queue)
	reclaims := cmp.Or(p.ReclaimWithinCohort, admission.Never) != admission.Never
	switch {
	case level < 0 || level > reach:
		return "", false, false
	case level == 0:
		return admission.InClusterQueue, n.isCandidate(r, p.WithinQueue, level), false
	case level > within:
		allowed := n.isCandidate(r, p.ReclaimWithinCohort, level)
		return admission.InCohortReclamation, allowed, allowed
	}
	allowed = reclaims && n.isCandidate(r, p.BorrowWithinCohort, level) &&
		(p.BorrowThreshold == nil || r.Priority <= *p.BorrowThreshold)
	return admission.InCohortReclaimWhileBorrowing, allowed, false
}

// naiveShare is a weighted share; a nil value is an infinite one, of the unweighted value raw.
type naiveShare struct{ value, raw *big.Rat }

func (a naiveShare) compare(b naiveShare) int {
	switch {
	case a.value == nil && b.value == nil:
		return a.raw.Cmp(b.raw)
	case a.value == nil:
		return 1
	case b.value == nil:
		return -1
	}
	return a.value.Cmp(b.value)
}

var allFlavorResources = []quota.FlavorResource{
	{Flavor: "f", Resource: "gpu"}, {Flavor: "g", Resource: "gpu"}, {Flavor: "f", Resource: "cpu"}, {Flavor: "g", Resource: "cpu"},
}

// share is the share of the node, above which the other one stands.
func (n *naiveSearch) share(at, above admissiontest.Node, weight quota.Weight) naiveShare {
	raw := new(big.Rat)
	for _, resource := range []string{"gpu", "cpu"} {
		var borrowed, lendable amount.Amount
		for _, name := range allFlavorResources {
			if a := n.facts.NaiveQuota(name); name.Resource == resource {
				if n.isBorrowing(at, name) {
					borrowed = borrowed.Add(a.Usage(at).Sub(a.SubtreeQuota(at)))
				}
				lendable = lendable.Add(a.PotentialAvailable(above))
			}
		}
		switch r := big.NewRat(int64(borrowed), int64(lendable.AtLeast(1))); {
		case lendable == amount.Unlimited && weight.Billionths() != 0:
		case r.Cmp(raw) > 0:
			raw = r
		}
	}
	switch {
	case raw.Sign() == 0:
		return naiveShare{value: raw, raw: raw}
	case weight.Billionths() == 0:
		return naiveShare{raw: raw}
	}
	return naiveShare{value: new(big.Rat).Mul(raw, big.NewRat(quota.UnitWeight, weight.Billionths())), raw: raw}
}

// shareAt is the share of the i-th of a chain of nodes that leads to a root.
func (n *naiveSearch) shareAt(chain []admissiontest.Node, i int, queue string) naiveShare {
	if i == len(chain)-1 {
		return naiveShare{value: new(big.Rat), raw: new(big.Rat)}
	}
	weight := n.facts.Queues[queue].Weight
	if i > 0 {
		name := n.facts.Queues[queue].Cohort
		for range i - 1 {
			name = n.facts.Cohorts[name].Parent
		}
		weight = n.facts.Cohorts[name].Weight
	}
	return n.share(chain[i], chain[i+1], weight)
}

func (n *naiveSearch) findFair() bool {
	exempt, because := false, admission.InCohortFairSharing
	if n.fitsWithoutBorrowing(0) {
		exempt, because = n.options.WithinNominal, admission.InCohortReclamation
	}
	for i := range n.path {
		n.preemptorShares = append(n.preemptorShares, n.shareAt(n.path, i, n.request.Queue))
	}
	n.failed, n.retrying = map[string]bool{}, nil
	for _, strategy := range n.options.Strategies {
		for {
			r := n.nextTarget()
			if r == nil {
				break
			}
			if !n.passesShareTest(*r, strategy, exempt, because) {
				n.failed[r.Name] = true
				continue
			}
			if n.fits() {
				n.fillBack(n.rootLevel())
				return true
			}
		}
		n.retrying, n.failed = n.failed, map[string]bool{}
	}
	return false
}

func (n *naiveSearch) passesShareTest(r admission.Reservation, strategy preempt.Strategy, exempt bool, because admission.Reason) bool {
	level := n.commonLevel(r.Queue)
	if level == 0 {
		n.addVictim(r, admission.InClusterQueue)
		return true
	}
	chain := n.pathToRoot(r.Queue)
	side := slices.Index(chain, n.path[level]) - 1
	before := n.shareAt(chain, side, r.Queue)
	back := n.saveState()
	n.addVictim(r, because)
	after := n.shareAt(chain, side, r.Queue)
	mine := n.preemptorShares[level-1]
	switch {
	case exempt, strategy == preempt.LessThanInitialShare && mine.compare(before) < 0,
		strategy == preempt.LessThanOrEqualToFinalShare && mine.compare(after) <= 0:
		return true
	}
	back()
	return false
}

// nextTarget returns the next candidate: from the root down to the child with the greatest share below which there is one.
func (n *naiveSearch) nextTarget() *admission.Reservation {
	p := n.facts.Queues[n.request.Queue].Preemption
	var list []admission.Reservation
	for name, r := range n.facts.Reservations {
		level := n.commonLevel(r.Queue)
		policy := p.ReclaimWithinCohort
		if level == 0 {
			policy = p.WithinQueue
		}
		if level >= 0 && !n.failed[name] && (n.retrying == nil || n.retrying[name]) && n.isCandidate(r, policy, level) {
			list = append(list, r)
		}
	}
	// Queues are compared by the first candidate of each.
	slices.SortFunc(list, n.compareCandidates)
	queues := map[string]bool{}
	list = slices.DeleteFunc(list, func(r admission.Reservation) bool {
		seen := queues[r.Queue]
		queues[r.Queue] = true
		return seen
	})
	sort.Slice(list, func(i, j int) bool { return n.precedes(list[i], list[j]) })
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// precedes compares the first candidates of two queues by the children, of the lowest node above the queues, that lead to them.
func (n *naiveSearch) precedes(a, b admission.Reservation) bool {
	chainA, chainB := n.pathToRoot(a.Queue), n.pathToRoot(b.Queue)
	i := slices.IndexFunc(chainA, func(at admissiontest.Node) bool { return slices.Contains(chainB, at) }) - 1
	j := slices.Index(chainB, chainA[i+1]) - 1
	if c := n.shareAt(chainA, i, a.Queue).compare(n.shareAt(chainB, j, b.Queue)); c != 0 {
		return c > 0
	}
	if (i == 0) != (j == 0) {
		return j == 0
	}
	ownA, ownB := slices.Contains(n.path, chainA[i]), slices.Contains(n.path, chainB[j])
	if ownA != ownB {
		return ownB
	}
	if i > 0 {
		return n.nodeName(a.Queue, i) < n.nodeName(b.Queue, j)
	}
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), b.ReservedAt.Compare(a.ReservedAt), cmp.Compare(a.UID, b.UID)) < 0
}

// nodeName is the name of the i-th node on the way from a queue to the root; no queue and cohort share one here.
func (n *naiveSearch) nodeName(queue string, i int) string {
	if i == 0 {
		return queue
	}
	name := n.facts.Queues[queue].Cohort
	for range i - 1 {
		name = n.facts.Cohorts[name].Parent
	}
	return name
}
