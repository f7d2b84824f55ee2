package sim

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// patience is within how many seeds a mutant must be caught; one that takes a rare schedule to show has four times as many.
const patience = 2000

// mutant is a dispatcher, a fence, a ranking or a worker with one mistake. A mutant that survives means that an invariant is
// missing; one that is caught by another law than those that it is meant to break, that nobody knows what it does.
type mutant struct {
	mistake string
	// by are the laws that it is meant to break, of which it must break one.
	by     []string
	step   StepFunc
	fence  FenceFunc
	rank   RankFunc
	before EpochFunc
	job    JobFunc
	shell  Shell
	// rare: most schedules do not come across what shows the mistake.
	rare bool
}

// patience is within how many seeds the mutant must be caught.
func (m mutant) patience() uint64 {
	if m.rare {
		return 4 * patience
	}
	return patience
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
	if m.before != nil {
		p.Before = m.before
	}
	if m.job != nil {
		p.Job = m.job
	}
	return p
}

// breaks is the law that it breaks in the schedule of a seed, "" if none.
func (m mutant) breaks(scripts *library, seed uint64) string {
	if len(m.by) > 0 && slices.Contains(RankLaws(), m.by[0]) {
		return lawOf(BrokenByRank(m.rank, seed, map[string]int{}))
	}
	return lawOf(Broken(m.parts(), scripts.of(seed)))
}

func TestEveryMutantIsCaught(t *testing.T) {
	scripts := &library{lines: map[uint64][]string{}}
	for _, m := range mutants() {
		t.Run(strings.ReplaceAll(m.mistake, " ", "_"), func(t *testing.T) {
			t.Parallel()
			other := ""
			for seed := uint64(1); seed <= m.patience(); seed++ {
				switch law := m.breaks(scripts, seed); {
				case law == "":
				case slices.Contains(m.by, law):
					t.Logf("seed %d: %s", seed, law)
					return
				case other == "":
					other = law
					t.Logf("seed %d: %s, which it is not meant to break", seed, law)
				}
			}
			t.Errorf("survives %d seeds: it breaks none of %q, only %q", m.patience(), m.by, other)
		})
	}
}

// Every law is broken by some mutant, or it is not known to notice anything.
func TestEveryLawIsMeantToBeBrokenByAMutant(t *testing.T) {
	unbroken := map[string]string{
		lawLate: "a call that lands that late, where a later epoch's copy is, is rarer than the schedules are many",
	}
	for _, law := range slices.Concat(Laws(), RankLaws()) {
		broken := slices.ContainsFunc(mutants(), func(m mutant) bool { return m.by[0] == law })
		if why := unbroken[law]; broken == (why != "") {
			t.Errorf("%q: broken by a mutant: %v, excused because %q", law, broken, why)
		}
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
		mutantsOfHolds(), mutantsOfFence(), mutantsOfPlacement(), mutantsOfRank(), mutantsOfGates(), mutantsOfPartings(), mutantsOfDrift(), mutantsOfTrust())
}

// mutantsOfState are careless about what is stored.
func mutantsOfState() []mutant {
	return []mutant{
		{mistake: "acts before it writes", by: []string{lawOneJob, lawAgain, lawFact, lawOlder}, shell: Shell{ActsFirst: true}, step: func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
			plan := dispatch.Step(s, o, p)
			if plan.Writes(s, o.Local) {
				o.Local.Check, o.Local.CheckMessage = plan.Verdict.Check, plan.Verdict.Message
				plan.Actions = dispatch.Step(plan.Next, o, p).Actions
			}
			return plan
		}},
		{mistake: "never raises the epoch", by: []string{lawOneJob, lawAgain, lawFact, lawRest, lawFixed}, step: after(func(s dispatch.State, plan *dispatch.Plan) {
			plan.Next.Epoch = s.Epoch
		})},
		{mistake: "forgets its debts", by: []string{lawOlder, lawLose, lawOnce, lawFixed, lawOutlives, lawAgain, lawOneJob, lawRest, lawFact}, step: before(func(s *dispatch.State, _ *dispatch.Observation, _ *dispatch.Policy) {
			s.Debts = slices.DeleteFunc(slices.Clone(s.Debts), func(d dispatch.Debt) bool { return d.Cluster != s.Bound })
		})},
		{mistake: "writes a fresh record over a lost one", rare: true, by: []string{lawOlder, lawOnce, lawLose}, step: after(func(s dispatch.State, plan *dispatch.Plan) {
			if plan.Next.Epoch > s.Epoch && plan.Because != dispatch.RecordLost && plan.Because != dispatch.NoRecord {
				plan.Next.Debts = slices.DeleteFunc(slices.Clone(plan.Next.Debts), func(d dispatch.Debt) bool {
					return d.Cluster != s.Bound && !owed(s, d.Cluster)
				})
			}
		})},
		{mistake: "forgets in its suspicion what it knew of a debtor", by: []string{lawOwes}, step: after(func(s dispatch.State, plan *dispatch.Plan) {
			if plan.Next.Epoch == s.Epoch || plan.Because != dispatch.RecordLost {
				return
			}
			plan.Next.Debts = slices.Clone(plan.Next.Debts)
			for i := range plan.Next.Debts {
				plan.Next.Debts[i].Stops = false
			}
		})},
		{mistake: "takes every reservation for the first one", by: []string{lawOneJob, lawAgain, lawFact, lawFixed, lawRest, lawOlder}, step: before(func(s *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Evictions, o.Local.Reservation, s.Reservation = 0, "", ""
		})},
		{mistake: "lets the epoch fall", by: []string{lawEpochs}, step: after(func(s dispatch.State, plan *dispatch.Plan) {
			if plan.Next.Epoch > s.Epoch && s.Epoch > 1 {
				plan.Next.Epoch = s.Epoch - 1
			}
		})},
		{mistake: "moves the binding", by: []string{lawImmutable}, step: after(func(s dispatch.State, plan *dispatch.Plan) {
			if s.Bound != "" && len(plan.Next.Debts) > len(s.Debts) {
				plan.Next.Bound = "w9"
			}
		})},
		{mistake: "keeps the nominations when it binds", by: []string{lawExclusive}, step: after(func(s dispatch.State, plan *dispatch.Plan) {
			if s.Bound == "" && plan.Next.Bound != "" {
				plan.Next.Nominated = s.Nominated
			}
		})},
		{mistake: "binds whom it likes", by: []string{lawNominated}, step: after(func(s dispatch.State, plan *dispatch.Plan) {
			if s.Bound == "" && plan.Next.Bound != "" {
				plan.Next.Bound = "w" + string('1'+('5'-plan.Next.Bound[1]))
			}
		})},
		{mistake: "says Ready as soon as it has nominated", by: []string{lawReady}, step: after(func(s dispatch.State, plan *dispatch.Plan) {
			if len(s.Nominated) == 0 && len(plan.Next.Nominated) == 1 {
				plan.Verdict = dispatch.Verdict{Check: dispatch.Ready, Message: "too early"}
			}
		})},
		{mistake: "counts objects of any epoch as its own", by: []string{lawFixed, lawReady, lawFact, lawRest, lawOutlives}, step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
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
		{mistake: "trusts the cache about debts", by: []string{lawOlder, lawShows, lawLose, lawOnce, lawFact, lawFixed}, step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			owed := slices.ContainsFunc(s.Debts, func(d dispatch.Debt) bool { return d.Cluster == v.Name })
			if owed && v.Name != s.Bound {
				v.Live = &dispatch.Live{Epoch: s.Epoch, Copy: v.Copy, Job: v.Job}
			}
		}))},
		{mistake: "trusts the cache about the bound cluster", by: []string{lawUnseen, lawRest, lawFact}, step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			if v.Name == s.Bound {
				v.Live = &dispatch.Live{Epoch: s.Epoch, Copy: v.Copy, Job: v.Job}
			}
		}))},
		{mistake: "uses an old answer again", by: []string{lawFact, lawPriority, lawOlder, lawUnseen, lawShows, lawFixed, lawOnce, lawLose, lawRest}, step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			if v.Live != nil {
				v.Live.Epoch = s.Epoch
				v.Live.Copy, v.Live.Job = dispatch.Copy{}, dispatch.Job{}
			}
		}))},
		{mistake: "takes what has vanished for unfinished", by: []string{lawFact}, step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.EndedUnfinished = true
		}))},
		{mistake: "does not see that a job has taken up the copy", by: []string{lawAgain}, shell: Shell{AdoptsAgain: true}, step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Copy.Adopted = false
			if v.Live != nil {
				v.Live.Copy.Adopted = false
			}
		}))},
		{mistake: "takes foreign objects for its own", by: []string{lawForeign}, step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Copy.Holder == dispatch.Foreign || v.Job.Holder == dispatch.Foreign {
				v.Copy, v.Job = dispatch.Copy{}, dispatch.Job{}
			}
		}))},
		{mistake: "honours no result of a run it gave up", by: []string{lawRest, lawPriority, lawFact, lawFixed}, step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			if s.Retreating() || v.Name != s.Bound {
				v.Copy.Finished, v.Job.Finished = nil, nil
				if v.Live != nil {
					v.Live.Copy.Finished, v.Live.Job.Finished = nil, nil
				}
			}
		}))},
		{mistake: "takes an out-of-sync copy for a result", by: []string{lawEnded}, step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Copy.Finished != nil {
				v.Copy.Finished = &dispatch.Outcome{Reason: "Succeeded"}
			}
		}))},
		{mistake: "offers before the other checks are ready", by: []string{lawChecks}, step: before(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.OtherChecksReady = true
		})},
		{mistake: "does not see that a Workload is deleted", by: []string{lawAbsorbing}, step: before(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Deleted = false
		})},
	}
}

// mutantsOfTime have no patience.
func mutantsOfTime() []mutant {
	return []mutant{
		{mistake: "gives up a lost cluster at once", by: []string{lawGrace, lawOnce, lawLose, lawOlder, lawCutOff}, step: before(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) {
			p.WorkerLostTimeout = 0
		})},
		{mistake: "never believes that it is cut off itself", by: []string{lawCutOff, lawOnce, lawLose, lawGrace}, step: before(func(_ *dispatch.State, o *dispatch.Observation, p *dispatch.Policy) {
			p.CutOffWindow = -time.Second
			o.CutOffEnded = time.Time{}
		})},
		{mistake: "takes itself for cut off only if nobody is left", by: []string{lawCutOff, lawGrace, lawOnce}, step: before(func(_ *dispatch.State, o *dispatch.Observation, p *dispatch.Policy) {
			if slices.ContainsFunc(o.Clusters, func(v dispatch.ClusterView) bool { return v.Link.State == dispatch.Connected }) {
				p.CutOffWindow = -time.Second
			}
		})},
		{mistake: "forgets how long it was cut off", by: []string{lawGrace, lawOnce, lawLose}, step: before(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.CutOffEnded = time.Time{}
		})},
		{mistake: "gives no round its time", by: []string{lawRound}, step: before(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) {
			p.RoundTimeout = 0
		})},
		{mistake: "takes a call that failed for a refusal although its copy is there", by: []string{lawRound, lawRest}, step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			if v.Trouble != "" && v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == max(s.Epoch, 1) && v.Copy.SpecMatches && !v.GateAsked {
				v.Copy.Refused = true
			}
		}))},
		{mistake: "forgets when a round began", by: []string{lawHedge, lawRest, lawFixed, lawRound, lawSent}, step: before(func(s *dispatch.State, _ *dispatch.Observation, _ *dispatch.Policy) {
			s.Round = time.Time{}
		})},
		{mistake: "forgives the debts of clusters out of reach", by: []string{lawOlder, lawLose, lawOnce}, step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
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
		{mistake: "creates the job before it retracts the losers", by: []string{lawLosers}, step: drop(func(_ dispatch.State, plan *dispatch.Plan, a dispatch.Action) bool {
			last := len(plan.Actions) - 1
			return a.Verb == dispatch.Retract && last >= 0 && plan.Actions[last].Verb == dispatch.CreateJob
		})},
		{mistake: "lets the losers keep their copies", by: []string{lawOutlives, lawLosers}, step: drop(func(s dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.Retract && s.Bound != "" && a.Epoch > s.Epoch
		})},
		{mistake: "spares no result that nobody has seen", by: []string{lawFact}, step: after(func(_ dispatch.State, plan *dispatch.Plan) {
			for i := range plan.Actions {
				plan.Actions[i].Spare = false
			}
		})},
		{mistake: "does not tell the worker that the hub evicts", by: []string{lawEvicts}, step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.EvictRemote
		})},
		{mistake: "lets the hub's job look active for ever", by: []string{lawRest, lawShows}, step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.DrainStatus
		})},
		{mistake: "never copies the status", by: []string{lawShows}, step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.CopyStatus
		})},
		{mistake: "never updates a priority", by: []string{lawPriority}, step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.UpdateOffer
		})},
		{mistake: "acts on clusters out of reach", by: []string{lawReach}, step: before(eachView(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Link = dispatch.Link{State: dispatch.Connected}
		}))},
		{mistake: "offers to debtors", by: []string{lawFixed, lawOlder, lawAgain}, step: offersToDebtors},
		{mistake: "offers to clusters that the config does not list", by: []string{lawListed}, step: before(eachView(func(s dispatch.State, v *dispatch.ClusterView) {
			v.InConfig = v.InConfig || slices.Contains(s.Nominated, v.Name)
		}))},
	}
}

// mutantsOfShell leave Step as it is and make a mistake around it.
func mutantsOfShell() []mutant {
	return []mutant{
		{mistake: "keeps answers that are out of date", by: []string{lawFixed, lawRest, lawFact, lawUnseen}, step: dispatch.Step, shell: Shell{KeepsAnswers: true}},
		{mistake: "overwrites what others have written", by: []string{lawNominated, lawEpochs, lawRound, lawReady, lawAbsorbing, lawImmutable, lawExclusive, lawOneJob}, step: dispatch.Step, shell: Shell{Overwrites: true}},
		{mistake: "looks at no other cluster once one is bound", by: []string{lawCutOff, lawOutlives, lawOlder, lawFixed, lawGrace, lawLosers, lawUnseen}, step: dispatch.Step, shell: Shell{NeverLooksAround: true}},
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
