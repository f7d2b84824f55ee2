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

// naive searches for victims from the facts alone, as DESIGN.md words it: after every step it looks at all workloads
// again, counts all quota anew, and compares shares as rational numbers.
type naive struct {
	facts   *admissiontest.Facts
	need    preempt.Need
	options preempt.Options
	// path leads from the queue to the root.
	path      []admissiontest.Node
	contested []quota.FlavorResource
	taken     []naiveVictim
	// rivals are the shares of the path's nodes before any eviction.
	rivals []naiveShare
	failed map[string]bool
	second map[string]bool
}

type naiveVictim struct {
	admission.Reservation
	because admission.Reason
}

const needed = "~need"

func naiveFind(f *admissiontest.Facts, need preempt.Need, o preempt.Options) []admission.Victim {
	q, known := f.Queues[need.Queue]
	p := q.Preemption
	within, reclaim := cmp.Or(p.WithinQueue, admission.Never), cmp.Or(p.ReclaimWithinCohort, admission.Never)
	if !known || within == admission.Never && reclaim == admission.Never {
		return nil
	}
	n := &naive{facts: copyOf(f), need: need, options: o}
	n.path = []admissiontest.Node{admissiontest.QueueNode(need.Queue)}
	above := q.Cohort
	for ; above != ""; above = f.Cohorts[above].Parent {
		n.path = append(n.path, admissiontest.CohortNode(above))
	}
	for _, use := range need.Usage {
		if n.facts.Account(use.FlavorResource).Potential(n.path[0]) < use.Amount {
			return nil
		}
	}
	n.facts.Holding[needed] = admission.Reservation{Key: admissiontest.Key(needed), Queue: need.Queue, Usage: need.Usage}
	if n.fits() || !n.search() {
		return nil
	}
	var victims []admission.Victim
	for _, v := range n.taken {
		victims = append(victims, admission.Victim{
			Workload: v.Key, UID: v.UID, Queue: v.Queue, Because: v.because, Evicted: v.Evicted,
		})
	}
	return victims
}

func copyOf(f *admissiontest.Facts) *admissiontest.Facts {
	c := admissiontest.NewFacts()
	maps.Copy(c.Queues, f.Queues)
	maps.Copy(c.Cohorts, f.Cohorts)
	maps.Copy(c.Holding, f.Holding)
	maps.Copy(c.Used, f.Used)
	return c
}

func (n *naive) search() bool {
	reason := n.reclaimReason()
	var leaving []admission.Reservation
	for name, r := range n.facts.Holding {
		if name != needed && r.Evicted && n.levelOf(r.Queue) >= 0 && n.holdsAny(r, n.needs()) {
			leaving = append(leaving, r)
		}
	}
	slices.SortFunc(leaving, n.order)
	for _, r := range leaving {
		if r.Queue == n.need.Queue {
			n.take(r, admission.InClusterQueue)
		} else {
			n.take(r, reason)
		}
	}
	if n.fits() {
		n.giveBack(n.top())
		return true
	}
	for _, name := range n.needs() {
		if n.facts.Account(name).Available(n.path[0]) < 0 {
			n.contested = append(n.contested, name)
		}
	}
	if n.options.FairSharing {
		return n.fair()
	}
	return n.classical()
}

func (n *naive) needs() []quota.FlavorResource {
	var names []quota.FlavorResource
	for _, use := range n.need.Usage {
		if use.Amount > 0 {
			names = append(names, use.FlavorResource)
		}
	}
	return names
}

func (n *naive) top() int { return len(n.path) - 1 }

func (n *naive) over(at admissiontest.Node, name quota.FlavorResource) bool {
	a := n.facts.Account(name)
	return a.Quota(at) != amount.Unlimited && a.Usage(at) > a.Quota(at)
}

func (n *naive) fits() bool {
	for _, name := range n.needs() {
		if n.facts.Account(name).Available(admissiontest.QueueNode(n.need.Queue)) < 0 {
			return false
		}
	}
	return true
}

func (n *naive) within(level int) bool {
	for _, name := range n.contested {
		if n.over(n.path[level], name) {
			return false
		}
	}
	return true
}

func (n *naive) done(level int) bool { return n.fits() && (level == n.top() || n.within(level)) }

func (n *naive) reclaimReason() admission.Reason {
	for _, name := range n.needs() {
		if n.over(n.path[0], name) {
			if n.options.FairSharing {
				return admission.InCohortFairSharing
			}
			return admission.InCohortReclaimWhileBorrowing
		}
	}
	return admission.InCohortReclamation
}

// nodesOf leads from a queue to its root.
func (n *naive) nodesOf(queue string) []admissiontest.Node {
	nodes := []admissiontest.Node{admissiontest.QueueNode(queue)}
	for above := n.facts.Queues[queue].Cohort; above != ""; above = n.facts.Cohorts[above].Parent {
		nodes = append(nodes, admissiontest.CohortNode(above))
	}
	return nodes
}

// levelOf returns the level of the lowest node above both queues, -1 if there is none.
func (n *naive) levelOf(queue string) int {
	nodes := n.nodesOf(queue)
	return slices.IndexFunc(n.path, func(p admissiontest.Node) bool { return slices.Contains(nodes, p) })
}

func (n *naive) take(r admission.Reservation, because admission.Reason) {
	delete(n.facts.Holding, r.Name)
	n.taken = append(n.taken, naiveVictim{Reservation: r, because: because})
}

func (n *naive) giveBack(level int) {
	for i := len(n.taken) - 1; i >= 0; i-- {
		v := n.taken[i]
		n.facts.Holding[v.Name] = v.Reservation
		if n.done(level) {
			n.taken = slices.Delete(n.taken, i, i+1)
		} else {
			delete(n.facts.Holding, v.Name)
		}
	}
}

// back returns a function that restores the present state.
func (n *naive) back() func() {
	holding, taken := maps.Clone(n.facts.Holding), slices.Clone(n.taken)
	return func() { n.facts.Holding, n.taken = maps.Clone(holding), slices.Clone(taken) }
}

func (n *naive) holdsAny(r admission.Reservation, names []quota.FlavorResource) bool {
	return slices.ContainsFunc(r.Usage, func(u quota.Use) bool {
		return u.Amount > 0 && slices.Contains(names, u.FlavorResource)
	})
}

func (n *naive) order(a, b admission.Reservation) int {
	if ownA, ownB := a.Queue == n.need.Queue, b.Queue == n.need.Queue; ownA != ownB {
		if ownB {
			return -1
		}
		return 1
	}
	used := func(r admission.Reservation) amount.Amount {
		if !n.facts.Queues[r.Queue].UsageBased {
			return 0
		}
		return n.facts.Used[r.LocalQueue]
	}
	return cmp.Or(cmp.Compare(used(b), used(a)), cmp.Compare(a.Priority, b.Priority),
		b.ReservedAt.Compare(a.ReservedAt), cmp.Compare(a.UID, b.UID))
}

// eligible reports whether the workload may be taken now: policy allows it, it holds something contested, and its queue
// and all above it up to the preemptor's path borrow that.
func (n *naive) eligible(r admission.Reservation, policy admission.Policy, level int) bool {
	if r.Name == needed || r.Assumed || !n.priorityAllows(r, policy) {
		return false
	}
	for _, name := range n.contested {
		if n.holdsAny(r, []quota.FlavorResource{name}) && (level == 0 || n.pathOver(r.Queue, name, level)) {
			return true
		}
	}
	return false
}

func (n *naive) priorityAllows(r admission.Reservation, policy admission.Policy) bool {
	w := n.need.Workload
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

func (n *naive) pathOver(queue string, name quota.FlavorResource, level int) bool {
	for _, at := range n.nodesOf(queue) {
		if at == n.path[level] {
			return true
		}
		if !n.over(at, name) {
			return false
		}
	}
	panic("the path must meet")
}

func (n *naive) classical() bool {
	for level := range n.top() {
		back := n.back()
		if n.try(level, n.top()) {
			if n.tookFromOutside() {
				return true
			}
			back()
			return n.try(n.top(), level)
		}
		back()
	}
	return n.try(n.top(), n.top())
}

func (n *naive) tookFromOutside() bool {
	return slices.ContainsFunc(n.taken, func(v naiveVictim) bool {
		return !v.Evicted && v.because == admission.InCohortReclamation
	})
}

func (n *naive) try(within, reach int) bool {
	anyOutside := false
	for {
		var first *naiveVictim
		for name := range n.facts.Holding {
			r := n.facts.Holding[name]
			because, allowed, outside := n.classicalReason(r, within, reach)
			anyOutside = anyOutside || outside
			if allowed && (first == nil || n.order(r, first.Reservation) < 0) {
				first = &naiveVictim{Reservation: r, because: because}
			}
		}
		if within < n.top() && !anyOutside || first == nil {
			return false
		}
		n.take(first.Reservation, first.because)
		if n.done(within) {
			n.giveBack(within)
			return true
		}
	}
}

func (n *naive) classicalReason(r admission.Reservation, within, reach int) (because admission.Reason, allowed, outside bool) {
	p, level := n.facts.Queues[n.need.Queue].Preemption, n.levelOf(r.Queue)
	reclaims := cmp.Or(p.ReclaimWithinCohort, admission.Never) != admission.Never
	switch {
	case level < 0 || level > reach:
		return "", false, false
	case level == 0:
		return admission.InClusterQueue, n.eligible(r, p.WithinQueue, level), false
	case level > within:
		allowed := n.eligible(r, p.ReclaimWithinCohort, level)
		return admission.InCohortReclamation, allowed, allowed
	}
	allowed = reclaims && n.eligible(r, p.BorrowWithinCohort, level) &&
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

var universe = []quota.FlavorResource{
	{Flavor: "f", Resource: "gpu"}, {Flavor: "g", Resource: "gpu"}, {Flavor: "f", Resource: "cpu"}, {Flavor: "g", Resource: "cpu"},
}

// share is the share of the node, above which the other one stands.
func (n *naive) share(at, above admissiontest.Node, weight quota.Weight) naiveShare {
	raw := new(big.Rat)
	for _, resource := range []string{"gpu", "cpu"} {
		var borrowed, lendable amount.Amount
		for _, name := range universe {
			if a := n.facts.Account(name); name.Resource == resource {
				if n.over(at, name) {
					borrowed = borrowed.Add(a.Usage(at).Sub(a.Quota(at)))
				}
				lendable = lendable.Add(a.Potential(above))
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
	return naiveShare{value: new(big.Rat).Mul(raw, big.NewRat(quota.One, weight.Billionths())), raw: raw}
}

// shareIn is the share of the i-th of a chain of nodes that leads to a root.
func (n *naive) shareIn(chain []admissiontest.Node, i int, queue string) naiveShare {
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

func (n *naive) fair() bool {
	exempt, because := false, admission.InCohortFairSharing
	if n.within(0) {
		exempt, because = n.options.WithinNominal, admission.InCohortReclamation
	}
	for i := range n.path {
		n.rivals = append(n.rivals, n.shareIn(n.path, i, n.need.Queue))
	}
	n.failed, n.second = map[string]bool{}, nil
	for _, strategy := range n.options.Strategies {
		for {
			r := n.leader()
			if r == nil {
				break
			}
			if !n.passes(*r, strategy, exempt, because) {
				n.failed[r.Name] = true
				continue
			}
			if n.fits() {
				n.giveBack(n.top())
				return true
			}
		}
		n.second, n.failed = n.failed, map[string]bool{}
	}
	return false
}

func (n *naive) passes(r admission.Reservation, strategy preempt.Strategy, exempt bool, because admission.Reason) bool {
	level := n.levelOf(r.Queue)
	if level == 0 {
		n.take(r, admission.InClusterQueue)
		return true
	}
	chain := n.nodesOf(r.Queue)
	side := slices.Index(chain, n.path[level]) - 1
	before := n.shareIn(chain, side, r.Queue)
	back := n.back()
	n.take(r, because)
	after := n.shareIn(chain, side, r.Queue)
	mine := n.rivals[level-1]
	switch {
	case exempt, strategy == preempt.LessThanInitialShare && mine.compare(before) < 0,
		strategy == preempt.LessThanOrEqualToFinalShare && mine.compare(after) <= 0:
		return true
	}
	back()
	return false
}

// leader returns the next candidate: from the root down to the child with the greatest share below which there is one.
func (n *naive) leader() *admission.Reservation {
	p := n.facts.Queues[n.need.Queue].Preemption
	var list []admission.Reservation
	for name, r := range n.facts.Holding {
		level := n.levelOf(r.Queue)
		policy := p.ReclaimWithinCohort
		if level == 0 {
			policy = p.WithinQueue
		}
		if level >= 0 && !n.failed[name] && (n.second == nil || n.second[name]) && n.eligible(r, policy, level) {
			list = append(list, r)
		}
	}
	// Queues are compared by the first candidate of each.
	slices.SortFunc(list, n.order)
	queues := map[string]bool{}
	list = slices.DeleteFunc(list, func(r admission.Reservation) bool {
		seen := queues[r.Queue]
		queues[r.Queue] = true
		return seen
	})
	sort.Slice(list, func(i, j int) bool { return n.leads(list[i], list[j]) })
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// leads compares the first candidates of two queues by the children, of the lowest node above the queues, that lead to them.
func (n *naive) leads(a, b admission.Reservation) bool {
	chainA, chainB := n.nodesOf(a.Queue), n.nodesOf(b.Queue)
	i := slices.IndexFunc(chainA, func(at admissiontest.Node) bool { return slices.Contains(chainB, at) }) - 1
	j := slices.Index(chainB, chainA[i+1]) - 1
	if c := n.shareIn(chainA, i, a.Queue).compare(n.shareIn(chainB, j, b.Queue)); c != 0 {
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
		return n.nameOf(a.Queue, i) < n.nameOf(b.Queue, j)
	}
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), b.ReservedAt.Compare(a.ReservedAt), cmp.Compare(a.UID, b.UID)) < 0
}

// nameOf is the name of the i-th node on the way from a queue to the root; no queue and cohort share one here.
func (n *naive) nameOf(queue string, i int) string {
	if i == 0 {
		return queue
	}
	name := n.facts.Queues[queue].Cohort
	for range i - 1 {
		name = n.facts.Cohorts[name].Parent
	}
	return name
}
