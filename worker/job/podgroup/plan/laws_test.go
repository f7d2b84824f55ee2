package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// randomFacts draws facts, also such as should never be.
func randomFacts(dice *rand.Rand) Facts {
	yes := func() bool { return dice.IntN(2) == 0 }
	rarely := func() bool { return dice.IntN(5) == 0 }
	f := Facts{
		Now: noon, Single: rarely(), FastRelease: rarely(), TotalCount: dice.IntN(5) - 1, Fast: rarely(), Serving: rarely(), Prebuilt: rarely(),
		Link: Link(dice.IntN(int(LinkMatching) + 1)),
	}
	if yes() {
		f.Link = LinkMatching
	}
	if rarely() {
		f.CannotCompose = CannotCompose
	}
	n := dice.IntN(6)
	if f.Single {
		n = min(n, 1)
	}
	for i := range n {
		f.Members = append(f.Members, Member{
			Name: fmt.Sprintf("p%d", i), Role: string(rune('a' + dice.IntN(3))), Created: noon.Add(time.Duration(dice.IntN(5)) * time.Second),
			Phase: Phase(dice.IntN(4)), Gated: yes(), Finalizer: yes(), Deleting: yes(), DeleteBy: noon.Add(time.Duration(dice.IntN(3)-1) * time.Minute),
			OnNode: yes(), Ready: yes(), Told: yes(), Unretriable: rarely(), Owner: yes(), CannotPlace: rarely(), Index: dice.IntN(4) - 1, TotalCount: f.TotalCount,
		})
	}
	if f.Link == LinkNone || f.Link == LinkAwaited {
		return f
	}
	f.Workload = Workload{
		HasPodOwners: yes(), HasOtherOwners: rarely(), Deleting: rarely(), Reserved: yes(), Admitted: yes(), Evicted: yes(), Finished: rarely(), FinishedAsJob: yes(), Finalizer: yes(),
		CannotPlace: rarely(), Elsewhere: rarely(), Waiting: yes(), Outdated: rarely(), StatusOutdated: rarely(),
	}
	for i := range dice.IntN(3) {
		f.Roles = append(f.Roles, Role{string(rune('a' + i)), dice.IntN(4)})
	}
	if rarely() {
		f.RetireAt = noon.Add(time.Duration(dice.IntN(3)-1) * time.Minute)
	}
	return f
}

// checkLaws says which law a plan breaks, "" if none.
func checkLaws(f Facts, p Plan) string {
	seen := map[int]bool{}
	for _, c := range p.Pods {
		if c.Member < 0 || c.Member >= len(f.Members) || seen[c.Member] {
			return "a change is of one pod, and there is one for each"
		}
		seen[c.Member] = true
		m := &f.Members[c.Member]
		switch {
		case !c.Ungate && !c.Tell && !c.Finalize && !c.Delete:
			return "a change changes something"
		case c.Ungate && (!m.Gated || !f.Admitted || f.Evicted || f.Link != LinkMatching || f.Deleting || f.Finished || f.Elsewhere):
			return "pods are let go with an admission of their own that holds, and by it alone"
		case c.Ungate && (c.Tell || c.Finalize || c.Delete):
			return "a pod that is let go is kept"
		case c.Tell && !c.Delete, c.Tell && m.isTerminal():
			return "who is told to terminate runs, and is deleted"
		case c.Finalize && !m.Finalizer, c.Delete && m.Deleting:
			return "nothing is done twice"
		case c.Finalize && !c.Delete && !m.Deleting && m.mayRun():
			return "a pod that runs is kept in sight"
		}
	}
	switch {
	case p.Do == DoRelease && (f.any(f.isActive) || !f.Evicted || !f.Reserved || len(f.where((*Member).mayRun)) > 0):
		return "quota is released after an eviction, when no pod runs"
	case p.Do == DoCreate && (f.Link != LinkNone || f.any(f.isActive) || len(f.Members) == 0):
		return "a Workload is made where there is none, for pods that do not run"
	case p.Do == DoFinish && (!f.isOurs() || f.Finished):
		return "the Workload that finishes is the pods' own, and finishes once"
	case !p.RequeueAt.IsZero() && !p.RequeueAt.After(f.Now):
		return "a time to look again lies ahead"
	}
	return ""
}

// settle makes the facts what they are after the plan was carried out, pods that run and are deleted being gone at once.
func settle(f Facts, p Plan) Facts {
	for _, c := range p.Pods {
		m := &f.Members[c.Member]
		m.Told = m.Told || c.Tell
		m.Finalizer = m.Finalizer && !c.Finalize
		if c.Ungate {
			m.Gated = false
		}
		if c.Delete {
			m.Deleting, m.DeleteBy = true, f.Now
			if m.Phase == Running {
				m.Phase = Failed
			}
		}
	}
	kept := f.Members[:0:0]
	for _, m := range f.Members {
		if !m.Deleting || m.Finalizer || f.isActive(&m) {
			kept = append(kept, m)
		}
	}
	f.Members = kept
	switch p.Do {
	case DoNothing:
	case DoCreate, DoDiscard, DoForget:
		f.Link, f.Workload = LinkAwaited, Workload{} // as if another one were awaited
	case DoAdopt:
		f.Link = LinkMatching
		for i := range f.Members {
			f.Members[i].Owner = true
		}
	case DoUpdate:
		f.Outdated = false
	case DoFinish:
		f.Finished, f.FinishedAsJob, f.Finalizer = true, p.Outcome != nil, false
	case DoRemoveFinalizer:
		f.Finalizer = false
	case DoRelease:
		f.Reserved, f.Admitted, f.Waiting, f.StatusOutdated = false, false, p.Waiting, false
	case DoUpdateStatus:
		f.Waiting, f.StatusOutdated = p.Waiting, false
	}
	return f
}

func checkRun(t *testing.T, seed uint64) {
	t.Helper()
	f := randomFacts(rand.New(rand.NewPCG(seed, 1)))
	start := fmt.Sprintf("%+v", f)
	const enough = 20
	for range enough {
		p := Step(f)
		if law := checkLaws(f, p); law != "" {
			t.Fatalf("seed %d: %s\nfacts %+v\nplan %s\nfrom %s", seed, law, f, show(f, p), start)
		}
		if p.Do == DoNothing && len(p.Pods) == 0 {
			return
		}
		f = settle(f, p)
	}
	t.Fatalf("seed %d does not come to rest: %s\nfrom %s", seed, show(f, Step(f)), start)
}

func TestStepKeepsItsLawsAndComesToRest(t *testing.T) {
	for seed := range uint64(50_000) {
		checkRun(t, seed)
	}
}

func FuzzStep(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkRun(t, seed) })
}

// Whatever the pods are like, those that run without the right to are stopped or have ended.
func TestNoPodRunsOnWithoutARight(t *testing.T) {
	for seed := range uint64(50_000) {
		f := randomFacts(rand.New(rand.NewPCG(seed, 2)))
		right := f.Link == LinkMatching && f.Admitted && !f.Evicted && !f.Deleting || f.isOurs() && f.FinishedAsJob && f.Finished
		if right || len(f.Members) == 0 || f.Link == LinkStray || f.Link == LinkUnowned || f.outcome() != nil {
			continue
		}
		p := Step(f)
		for i := range f.Members {
			if !f.Members[i].mayRun() {
				continue
			}
			stopped := false
			for _, c := range p.Pods {
				stopped = stopped || c.Member == i && c.Delete
			}
			if !stopped {
				t.Fatalf("seed %d: %s runs on\nfacts %+v\nplan %s", seed, f.Members[i].Name, f, show(f, p))
			}
		}
	}
}

func BenchmarkStepForAThousandPods(b *testing.B) {
	f := Facts{Now: noon, TotalCount: 1000, Link: LinkMatching, Workload: Workload{Roles: []Role{{"a", 500}, {"b", 500}}, Reserved: true, Admitted: true}}
	for i := range 1000 {
		f.Members = append(f.Members, Member{
			Name: fmt.Sprintf("p%d", i), Role: string(rune('a' + i%2)), Finalizer: true, Owner: true, Phase: Running, OnNode: true, Index: -1,
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		if p := Step(f); p.Reason != PodsRun {
			b.Fatal(p.Reason)
		}
	}
}
