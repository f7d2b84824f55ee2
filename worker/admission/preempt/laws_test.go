package preempt_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/preempt"
)

// snapshotWithout is a world in which some holders have left, built from scratch.
func snapshotWithout(f *admissiontest.Facts, gone ...string) *admission.Snapshot {
	c := copyFacts(f)
	for _, name := range gone {
		delete(c.Reservations, name)
	}
	return c.Snapshot()
}

func victimNames(victims []admission.Victim) []string {
	var names []string
	for _, v := range victims {
		names = append(names, v.Workload.Name)
	}
	return names
}

func fitsWithout(f *admissiontest.Facts, need preempt.Request, gone ...string) bool {
	_, fits := snapshotWithout(f, gone...).Fit(need.Queue, need.Usage)
	return fits
}

func TestVictimsMakeRoomAndNoneIsEvictedAgainstPolicy(t *testing.T) {
	forEachSeed(t, 1500, func(t *testing.T, data []byte) {
		t.Helper()
		g := &scriptGenerator{bytes: data}
		script, text, options := g.script(), g.request(), g.options()
		facts, need := parseFacts(t, script), parseRequest(t, text)
		victims := preempt.Find(facts.Snapshot(), need, options)
		if len(victims) == 0 {
			return
		}
		if !fitsWithout(facts, need, victimNames(victims)...) {
			t.Errorf("%s do not make room in\n%s\nneed %s, %+v", victimsText(victims), script, text, options)
		}
		for _, v := range victims {
			if why := policyViolation(facts, need, v, options); why != "" {
				t.Errorf("%s goes although %s in\n%s\nneed %s, %+v", v.Workload.Name, why, script, text, options)
			}
		}
		if names := victimNames(victims); len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
			t.Errorf("%v go twice", names)
		}
	})
}

// policyViolation says what the victim should have been protected by, empty if nothing.
func policyViolation(f *admissiontest.Facts, need preempt.Request, v admission.Victim, o preempt.Options) string {
	r, p, w := f.Reservations[v.Workload.Name], f.Queues[need.Queue].Preemption, need.Workload
	never := func(policy admission.PreemptionPolicy) bool { return policy == "" || policy == admission.Never }
	switch {
	case v.Evicted != r.Evicted || v.Queue != r.Queue || v.UID != r.UID:
		return "it is somebody else"
	case v.Evicted:
		return ""
	case (v.Reason == admission.InClusterQueue) != (v.Queue == need.Queue):
		return "the reason is about another queue"
	case v.Queue == need.Queue && never(p.WithinQueue), v.Queue != need.Queue && never(p.ReclaimWithinCohort):
		return "nobody there may be evicted"
	case v.Queue == need.Queue && p.WithinQueue == admission.LowerOrNewerEqualPriority && r.Priority == w.Priority:
		if !r.QueuedAt.After(w.QueuedAt) {
			return "it is older"
		}
	case v.Queue == need.Queue && r.Priority >= w.Priority:
		return "its priority is not lower"
	case v.Reason == admission.InCohortReclamation && p.ReclaimWithinCohort == admission.LowerPriority && r.Priority >= w.Priority:
		return "its priority is not lower"
	case v.Reason == admission.InCohortReclaimWhileBorrowing:
		if o.FairSharing || never(p.BorrowWithinCohort) || r.Priority >= w.Priority ||
			p.BorrowThreshold != nil && r.Priority > *p.BorrowThreshold {
			return "nobody borrows at its cost"
		}
	case v.Reason == admission.InCohortFairSharing && !o.FairSharing:
		return "nobody shares fairly"
	}
	if v.Queue != need.Queue && !borrowsAnything(f, v.Queue) {
		return "its queue borrows nothing"
	}
	return ""
}

func borrowsAnything(f *admissiontest.Facts, queue string) bool {
	at := admissiontest.QueueNode(queue)
	return slices.ContainsFunc(allFlavorResources, func(name admission.FlavorResource) bool {
		return f.NaiveQuota(name).Usage(at) > f.NaiveQuota(name).SubtreeQuota(at)
	})
}

// flatScript draws a world of one cohort without a parent, with one flavor-resource, in which each workload holds one, and a
// need.
func (g *scriptGenerator) flatScript(own bool) (script, need string) {
	var lines []string
	for _, queue := range []string{"a", "b", "c"} {
		lines = append(lines, fmt.Sprintf("queue %s%s%s preempt=%s reclaim=%s%s f gpu=%d%s", queue,
			g.choose(" cohort=x", " cohort=x", " cohort=x", ""), g.weight(),
			g.choose("LowerPriority", "LowerOrNewerEqualPriority", "Never"), g.choose("Any", "LowerPriority"),
			g.choose("", " borrow-within=LowerPriority", " borrow-within=LowerPriority:1"),
			g.intn(4), g.choose("", "", " borrow=1", " lend=1")))
	}
	for i := range g.intn(9) {
		size := 1
		if own {
			size += g.intn(3)
		}
		lines = append(lines, fmt.Sprintf("admitted v%d queue=%s prio=%d at=%d since=%d%s f/gpu=%d", i, g.choose("a", "b", "b", "c"),
			g.intn(4), g.intn(4), g.intn(3), g.choose("", "", "", "", "", " evicted"), size))
	}
	script = strings.Join(lines, "\n")
	if own {
		script = strings.NewReplacer("reclaim=Any", "reclaim=Never", "reclaim=LowerPriority", "reclaim=Never").Replace(script)
	}
	return script, fmt.Sprintf("queue=a prio=%d at=%d f/gpu=%d", g.intn(5), g.intn(5), 1+g.intn(4))
}

func TestASetIsFoundWhereThereIsOneAndNobodyInItCouldStay(t *testing.T) {
	for _, own := range []bool{false, true} {
		found, missing := 0, 0
		forEachSeed(t, 400, func(t *testing.T, data []byte) {
			t.Helper()
			g := &scriptGenerator{bytes: data}
			script, text := g.flatScript(own)
			options := g.options()
			facts, need := parseFacts(t, script), parseRequest(t, text)
			if fitsWithout(facts, need) || exceedsPotential(facts, need) {
				return
			}
			b := newExhaustiveSearch(facts, need, options)
			victims := preempt.Find(facts.Snapshot(), need, options)
			if some := b.findAnySet(); some != "none" && victims == nil {
				t.Errorf("nobody was found, but there is %s in\n%s\nneed %s, %+v", some, script, text, options)
			} else if some == "none" {
				missing++
			}
			if len(victims) > 0 {
				found++
				b.checkMinimal(t, victims, script+"\nneed "+text)
			}
		})
		if found < 20 || missing < 20 {
			t.Errorf("%d worlds had victims and %d had none", found, missing)
		}
	}
}

// exceedsPotential reports whether the need could not even be met if no workload held anything.
func exceedsPotential(f *admissiontest.Facts, need preempt.Request) bool {
	return f.NaiveQuota(need.Usage[0].FlavorResource).PotentialAvailable(admissiontest.QueueNode(need.Queue)) < need.Usage[0].Amount
}

// exhaustiveSearch tries all sets of victims in a flat world.
type exhaustiveSearch struct {
	naiveSearch
	// initialFacts has all workloads, and the need.
	initialFacts *admissiontest.Facts
	candidates   []string
	leaving      []string
}

func newExhaustiveSearch(f *admissiontest.Facts, need preempt.Request, o preempt.Options) *exhaustiveSearch {
	b := &exhaustiveSearch{naiveSearch: naiveSearch{facts: copyFacts(f), request: need, options: o, needPreemption: []admission.FlavorResource{need.Usage[0].FlavorResource}}}
	b.path = b.pathToRoot(need.Queue)
	for _, name := range slices.Sorted(maps.Keys(f.Reservations)) {
		if b.commonLevel(f.Reservations[name].Queue) >= 0 {
			if f.Reservations[name].Evicted {
				b.leaving = append(b.leaving, name)
				delete(b.facts.Reservations, name)
			} else {
				b.candidates = append(b.candidates, name)
			}
		}
	}
	b.facts.Reservations[preemptorName] = admission.Reservation{Key: admissiontest.Key(preemptorName), Queue: need.Queue, Usage: need.Usage}
	b.initialFacts = copyFacts(b.facts)
	for _, name := range b.leaving {
		b.initialFacts.Reservations[name] = f.Reservations[name]
	}
	for i := range b.path {
		b.preemptorShares = append(b.preemptorShares, b.shareAt(b.path, i, need.Queue))
	}
	return b
}

// findAnySet names a set that policy allows and that makes room, beside workloads that leave anyway; none if there is none.
func (b *exhaustiveSearch) findAnySet() string {
	p := b.facts.Queues[b.request.Queue].Preemption
	if cmp.Or(p.WithinQueue, admission.Never) == admission.Never && cmp.Or(p.ReclaimWithinCohort, admission.Never) == admission.Never {
		return "none"
	}
	startsWithin := b.fitsWithoutBorrowing(0)
	for set := range 1 << len(b.candidates) {
		back := b.saveState()
		if b.isLegal(set, startsWithin) && b.fits() {
			back()
			return fmt.Sprint(b.leaving, b.setNames(set))
		}
		back()
	}
	return "none"
}

func (b *exhaustiveSearch) setNames(set int) []string {
	var names []string
	for i, name := range b.candidates {
		if set&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// isLegal takes the set one by one and reports whether each of it may be taken in some way. Each workload holds one, so that
// the order makes no difference.
func (b *exhaustiveSearch) isLegal(set int, startsWithin bool) bool {
	p := b.facts.Queues[b.request.Queue].Preemption
	// Own workloads first: they decide whether the queue borrows.
	names := b.setNames(set)
	slices.SortStableFunc(names, func(x, y string) int {
		return b.commonLevel(b.facts.Reservations[x].Queue) - b.commonLevel(b.facts.Reservations[y].Queue)
	})
	outside, inside := true, true
	for _, name := range names {
		r := b.facts.Reservations[name]
		level := b.commonLevel(r.Queue)
		switch {
		case level == 0:
			if !b.isCandidate(r, p.WithinQueue, 0) {
				return false
			}
			b.addVictim(r, "")
		case b.options.FairSharing:
			if !b.isCandidate(r, p.ReclaimWithinCohort, level) || !b.passesFairly(r, startsWithin) {
				return false
			}
		default:
			_, mayBorrow, _ := b.classicalReason(r, b.rootLevel(), b.rootLevel())
			inside = inside && mayBorrow
			outside = outside && b.isCandidate(r, p.ReclaimWithinCohort, level)
			b.addVictim(r, "")
		}
	}
	return b.options.FairSharing || inside || outside && b.fitsWithoutBorrowing(0)
}

func (b *exhaustiveSearch) passesFairly(r admission.Reservation, startsWithin bool) bool {
	return slices.ContainsFunc(b.options.Strategies, func(s preempt.Strategy) bool {
		return b.passesShareTest(r, s, startsWithin && b.options.WithinNominal, "")
	})
}

// checkMinimal gives each victim back in turn: then there is no room any more, or none without borrowing if quota was
// taken back.
func (b *exhaustiveSearch) checkMinimal(t *testing.T, victims []admission.Victim, where string) {
	t.Helper()
	level := b.rootLevel()
	for _, v := range victims {
		if !b.options.FairSharing && !v.Evicted && v.Reason == admission.InCohortReclamation {
			level = 0
		}
	}
	b.facts = b.initialFacts
	for _, v := range victims {
		b.addVictim(b.facts.Reservations[v.Workload.Name], "")
	}
	if !b.isSatisfied(level) {
		t.Errorf("%s are not enough in\n%s", victimsText(victims), where)
	}
	for _, v := range b.victims {
		b.facts.Reservations[v.Name] = v.Reservation
		if b.isSatisfied(level) {
			t.Errorf("%s could stay, but %s go in\n%s", v.Name, victimsText(victims), where)
		}
		delete(b.facts.Reservations, v.Name)
	}
}
