package sim

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// patience is within how many seeds a mutant must be caught.
const patience = 2000

// mutant is a dispatcher with one mistake. A mutant that survives means that an invariant is missing.
type mutant struct {
	mistake string
	step    StepFunc
	fence   FenceFunc
	rank    RankFunc
	shell   Shell
}

// parts are the real ones, but for the mistake.
func (m mutant) parts() Parts {
	p := Real()
	p.Shell = m.shell
	if m.step != nil {
		p.Step = m.step
	}
	if m.fence != nil {
		p.Fence = m.fence
	}
	if m.rank != nil {
		p.Rank = m.rank
	}
	return p
}

func TestEveryMutantIsCaught(t *testing.T) {
	scripts := &library{lines: map[uint64][]string{}}
	for _, m := range mutants() {
		t.Run(strings.ReplaceAll(m.mistake, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= patience; seed++ {
				if law := Broken(m.parts(), scripts.of(seed)); law != "" {
					t.Logf("seed %d: %s", seed, law)
					return
				}
			}
			t.Errorf("survives %d seeds: which invariant is missing?", patience)
		})
	}
}

// library keeps the random scripts, which all mutants run.
type library struct {
	mu    sync.Mutex
	lines map[uint64][]string
}

func (l *library) of(seed uint64) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.lines[seed]; !ok {
		l.lines[seed] = Script(seed, *length)
	}
	return l.lines[seed]
}

func mutants() []mutant {
	return slices.Concat(mutantsOfState(), mutantsOfEvidence(), mutantsOfTime(), mutantsOfActions(), mutantsOfShell(),
		mutantsOfHolds(), mutantsOfFence(), mutantsOfPlacement())
}

// mutantsOfState are careless about what is stored.
func mutantsOfState() []mutant {
	return []mutant{
		{mistake: "acts before it writes", shell: Shell{ActsFirst: true}, step: func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
			plan := dispatch.Step(s, o, p)
			if plan.Writes(s, o.Local) {
				o.Local.Check, o.Local.CheckMessage = plan.Verdict.Check, plan.Verdict.Message
				plan.Actions = dispatch.Step(plan.Next, o, p).Actions
			}
			return plan
		}},
		{mistake: "never raises the epoch", step: after(func(s dispatch.State, plan *dispatch.Plan) {
			plan.Next.Epoch = s.Epoch
		})},
		{mistake: "forgets its debts", step: before(func(s *dispatch.State, _ *dispatch.Observation, _ *dispatch.Policy) {
			s.Debts = slices.DeleteFunc(slices.Clone(s.Debts), func(d dispatch.Debt) bool { return d.Cluster != s.Bound })
		})},
		{mistake: "takes every reservation for the first one", step: before(func(s *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Evictions, o.Local.Reservation, s.Reservation = 0, "", ""
		})},
		{mistake: "says Ready as soon as it has nominated", step: after(func(s dispatch.State, plan *dispatch.Plan) {
			if len(s.Nominated) == 0 && len(plan.Next.Nominated) == 1 {
				plan.Verdict = dispatch.Verdict{Check: dispatch.Ready, Message: "too early"}
			}
		})},
		{mistake: "counts objects of any epoch as its own", step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			v.Copy.Epoch, v.Job.Epoch = s.Epoch, s.Epoch
			if v.Live != nil {
				v.Live.Copy.Epoch, v.Live.Job.Epoch = s.Epoch, s.Epoch
			}
		}))},
	}
}

// mutantsOfEvidence believe what they should not, or not what they should.
func mutantsOfEvidence() []mutant {
	return []mutant{
		{mistake: "trusts the cache about debts", step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			owed := slices.ContainsFunc(s.Debts, func(d dispatch.Debt) bool { return d.Cluster == v.Name })
			if owed && v.Name != s.Bound {
				v.Live = &dispatch.Live{Epoch: s.Epoch, Copy: v.Copy, Job: v.Job}
			}
		}))},
		{mistake: "trusts the cache about the bound cluster", step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			if v.Name == s.Bound {
				v.Live = &dispatch.Live{Epoch: s.Epoch, Copy: v.Copy, Job: v.Job}
			}
		}))},
		{mistake: "uses an old answer again", step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			if v.Live != nil {
				v.Live.Epoch = s.Epoch
				v.Live.Copy, v.Live.Job = dispatch.Copy{}, dispatch.Job{}
			}
		}))},
		{mistake: "takes what has vanished for unfinished", step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.EndedUnfinished = true
		}))},
		{mistake: "does not see that a job has taken up the copy", shell: Shell{AdoptsAgain: true}, step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Copy.Adopted = false
			if v.Live != nil {
				v.Live.Copy.Adopted = false
			}
		}))},
		{mistake: "takes foreign objects for its own", step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Copy.Holder == dispatch.Foreign || v.Job.Holder == dispatch.Foreign {
				v.Copy, v.Job = dispatch.Copy{}, dispatch.Job{}
			}
		}))},
		{mistake: "honours no result of a run it gave up", step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			if s.Retreating() || v.Name != s.Bound {
				v.Copy.Finished, v.Job.Finished = nil, nil
				if v.Live != nil {
					v.Live.Copy.Finished, v.Live.Job.Finished = nil, nil
				}
			}
		}))},
		{mistake: "takes an out-of-sync copy for a result", step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Copy.Finished != nil {
				v.Copy.Finished = &dispatch.Outcome{Reason: "Succeeded"}
			}
		}))},
		{mistake: "does not see that a Workload is deleted", step: before(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Deleted = false
		})},
	}
}

// mutantsOfTime have no patience.
func mutantsOfTime() []mutant {
	return []mutant{
		{mistake: "gives up a lost cluster at once", step: before(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) {
			p.WorkerLostTimeout = 0
		})},
		{mistake: "never believes that it is cut off itself", step: before(func(_ *dispatch.State, o *dispatch.Observation, p *dispatch.Policy) {
			p.CutOffWindow = -time.Second
			o.CutOffEnded = time.Time{}
		})},
		{mistake: "forgets how long it was cut off", step: before(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.CutOffEnded = time.Time{}
		})},
		{mistake: "gives no round its time", step: before(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) {
			p.RoundTimeout = 0
		})},
		{mistake: "forgets when a round began", step: before(func(s *dispatch.State, _ *dispatch.Observation, _ *dispatch.Policy) {
			s.Round = time.Time{}
		})},
		{mistake: "forgives the debts of clusters out of reach", step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			owed := slices.ContainsFunc(s.Debts, func(d dispatch.Debt) bool { return d.Cluster == v.Name })
			if owed && v.Link.State == dispatch.Unreachable {
				v.Link.Since = epoch()
			}
		}))},
	}
}

// mutantsOfActions do too much, too little, or the wrong thing first.
func mutantsOfActions() []mutant {
	drop := func(gone func(dispatch.State, *dispatch.Plan, dispatch.Action) bool) StepFunc {
		return after(func(s dispatch.State, plan *dispatch.Plan) {
			plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a dispatch.Action) bool { return gone(s, plan, a) })
		})
	}
	return []mutant{
		{mistake: "creates the job before it retracts the losers", step: drop(func(_ dispatch.State, plan *dispatch.Plan, a dispatch.Action) bool {
			last := len(plan.Actions) - 1
			return a.Verb == dispatch.Retract && last >= 0 && plan.Actions[last].Verb == dispatch.CreateJob
		})},
		{mistake: "lets the losers keep their copies", step: drop(func(s dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.Retract && s.Bound != "" && a.Epoch > s.Epoch
		})},
		{mistake: "spares no result that nobody has seen", step: after(func(_ dispatch.State, plan *dispatch.Plan) {
			for i := range plan.Actions {
				plan.Actions[i].Spare = false
			}
		})},
		{mistake: "does not tell the worker that the hub evicts", step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.EvictRemote
		})},
		{mistake: "lets the hub's job look active for ever", step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.DrainStatus
		})},
		{mistake: "never copies the status", step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.CopyStatus
		})},
		{mistake: "never updates a priority", step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.UpdateOffer
		})},
		{mistake: "acts on clusters out of reach", step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Link = dispatch.Link{State: dispatch.Connected}
		}))},
		{mistake: "offers to debtors", step: offersToDebtors},
		{mistake: "offers to clusters that the config does not list", step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			v.InConfig = v.InConfig || slices.Contains(s.Nominated, v.Name)
		}))},
	}
}

// mutantsOfShell leave Step as it is and make a mistake around it.
func mutantsOfShell() []mutant {
	return []mutant{
		{mistake: "keeps answers that are out of date", step: dispatch.Step, shell: Shell{KeepsAnswers: true}},
		{mistake: "overwrites what others have written", step: dispatch.Step, shell: Shell{Overwrites: true}},
		{mistake: "looks at no other cluster once one is bound", step: dispatch.Step, shell: Shell{NeverLooksAround: true}},
	}
}

func offersToDebtors(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
	plan := dispatch.Step(s, o, p)
	if plan.Writes(s, o.Local) || s.Bound != "" || !o.Local.QuotaReserved {
		return plan
	}
	for _, v := range o.Clusters {
		owed := slices.ContainsFunc(s.Debts, func(d dispatch.Debt) bool { return d.Cluster == v.Name })
		if owed && v.Link.State == dispatch.Connected && v.Copy.Holder == dispatch.Absent && slices.Contains(s.Nominated, v.Name) {
			plan.Actions = append(plan.Actions, dispatch.Action{Verb: dispatch.CreateOffer, Cluster: v.Name, Epoch: s.Epoch})
		}
	}
	return plan
}

// before is Step with a mistake in what it is given, after one in what it answers.
func before(change func(*dispatch.State, *dispatch.Observation, *dispatch.Policy)) StepFunc {
	return func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
		o.Clusters = slices.Clone(o.Clusters)
		change(&s, &o, &p)
		return dispatch.Step(s, o, p)
	}
}

func after(change func(dispatch.State, *dispatch.Plan)) StepFunc {
	return func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
		plan := dispatch.Step(s, o, p)
		change(s, &plan)
		return plan
	}
}

// eachView changes every cluster's view.
func eachView(change func(dispatch.State, *dispatch.ClusterView)) func(*dispatch.State, *dispatch.Observation, *dispatch.Policy) {
	return func(s *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
		for i := range o.Clusters {
			change(*s, &o.Clusters[i])
		}
	}
}
