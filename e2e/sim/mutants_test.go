package sim

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/e2e/sim/script"
)

// seedsPerMutant is within how many seeds a mutant must be caught; one that takes a rare schedule to show has four times as many.
const seedsPerMutant = 2000

// mutant is a dispatcher, a fence, a ranking or a worker with one mistake. A mutant that survives means that an invariant is
// missing. One that is caught by another law than those that it is meant to break means that its effect is not understood.
type mutant struct {
	mistake string
	// invariants are the laws that it is meant to break, of which it must break one.
	invariants []string
	step       StepFunc
	fence      FenceFunc
	rank       RankFunc
	before     EpochFunc
	job        JobFunc
	slice      SliceFunc
	tracker    *trackerMutant
	driverBugs DriverBugs
	// rare: most schedules do not come across what shows the mistake.
	rare bool
}

// seedLimit is within how many seeds the mutant must be caught.
func (m mutant) seedLimit() uint64 {
	if m.rare {
		return 4 * seedsPerMutant
	}
	return seedsPerMutant
}

// parts are the real ones, but for the mistake.
func (m mutant) parts() Parts {
	p := RealParts()
	p.DriverBugs = m.driverBugs
	if m.step != nil {
		p.Step = func(s dispatch.State, o dispatch.Observation, policy dispatch.Policy) dispatch.Plan {
			plan := m.step(s, o, policy)
			present := dispatch.CheckResult{State: o.Local.Check.State, Message: o.Local.Check.Message}
			plan.Stores = !plan.Next.Equal(s) || plan.CheckResult != present
			return plan
		}
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
	if m.slice != nil {
		p.Slice = m.slice
	}
	if m.tracker != nil {
		p.NewTracker = func(window time.Duration) Tracker {
			mutant := *m.tracker
			mutant.Tracker = newTracker(window)
			return &mutant
		}
	}
	return p
}

// findViolation is the law that it breaks in the schedule of a seed, "" if none.
func (m mutant) findViolation(scripts *scriptCache, seed uint64) string {
	if len(m.invariants) > 0 && slices.Contains(RankInvariants(), m.invariants[0]) {
		return invariantOf(FindRankViolation(m.rank, seed, map[string]int{}))
	}
	return invariantOf(FindViolation(m.parts(), scripts.get(seed)))
}

func TestEveryMutantIsCaught(t *testing.T) {
	scripts := &scriptCache{lines: map[uint64][]string{}}
	for _, m := range mutants() {
		t.Run(strings.ReplaceAll(m.mistake, " ", "_"), func(t *testing.T) {
			t.Parallel()
			other := ""
			for seed := uint64(1); seed <= m.seedLimit(); seed++ {
				switch law := m.findViolation(scripts, seed); {
				case law == "":
				case slices.Contains(m.invariants, law):
					t.Logf("seed %d: %s", seed, law)
					return
				case other == "":
					other = law
					t.Logf("seed %d: %s, which it is not meant to break", seed, law)
				}
			}
			t.Errorf("survives %d seeds: it breaks none of %q, only %q", m.seedLimit(), m.invariants, other)
		})
	}
}

// Every law is broken by some mutant, or it is not known to notice anything.
func TestEveryInvariantIsMeantToBeBrokenByAMutant(t *testing.T) {
	unbroken := map[string]string{
		invLateEpoch: "a call that lands that late, where a later epoch's copy is, is rarer than the schedules are many",
	}
	for _, law := range slices.Concat(Invariants(), RankInvariants()) {
		broken := slices.ContainsFunc(mutants(), func(m mutant) bool { return m.invariants[0] == law })
		if why := unbroken[law]; broken == (why != "") {
			t.Errorf("%q: broken by a mutant: %v, excused because %q", law, broken, why)
		}
	}
}

// scriptCache keeps the random scripts, which all mutants run.
type scriptCache struct {
	mu    sync.Mutex
	lines map[uint64][]string
}

func (l *scriptCache) get(seed uint64) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.lines[seed]; !ok {
		l.lines[seed] = script.Random(seed, *scriptLength)
	}
	return l.lines[seed]
}

func mutants() []mutant {
	return slices.Concat(mutantsOfState(), mutantsOfEvidence(), mutantsOfTime(), mutantsOfActions(), mutantsOfDriver(),
		mutantsOfHolds(), mutantsOfFence(), mutantsOfPlacement(), mutantsOfRank(), mutantsOfGates(), mutantsOfDeletion(), mutantsOfConfigChange(), mutantsOfTrust(), mutantsOfTracker(), mutantsOfSlices(), mutantsOfRetention())
}

// mutantsOfState are careless about what is stored.
func mutantsOfState() []mutant {
	return []mutant{
		{mistake: "acts before it writes", invariants: []string{invOneJob, invNoRerun, invResultKept, invNoOlderJob}, driverBugs: DriverBugs{ActsBeforeWrite: true}, step: func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
			plan := dispatch.Step(s, o, p)
			if plan.Stores {
				o.Local.Check.State, o.Local.Check.Message = plan.CheckResult.State, plan.CheckResult.Message
				plan.Actions = dispatch.Step(plan.Next, o, p).Actions
			}
			return plan
		}},
		{mistake: "never raises the epoch", invariants: []string{invOneJob, invNoRerun, invResultKept, invProgress, invFixedPoint}, step: mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			plan.Next.Epoch = s.Epoch
		})},
		{mistake: "forgets its debts", invariants: []string{invNoOlderJob, invNeverLose, invRunOnce, invFixedPoint, invNoOrphan, invNoRerun, invOneJob, invProgress, invResultKept}, step: mutateInput(func(s *dispatch.State, _ *dispatch.Observation, _ *dispatch.Policy) {
			s.Debts = slices.DeleteFunc(slices.Clone(s.Debts), func(d dispatch.Debt) bool { return d.Cluster != s.Bound })
		})},
		{mistake: "writes a fresh record over a lost one", rare: true, invariants: []string{invNoOlderJob, invRunOnce, invNeverLose}, step: mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			if plan.Next.Epoch > s.Epoch && plan.Reason != dispatch.RecordLost && plan.Reason != dispatch.NoRecord {
				plan.Next.Debts = slices.DeleteFunc(slices.Clone(plan.Next.Debts), func(d dispatch.Debt) bool {
					return d.Cluster != s.Bound && !isDebtor(s, d.Cluster)
				})
			}
		})},
		{mistake: "forgets in its suspicion what it knew of a debtor", invariants: []string{invDebts}, step: mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			if plan.Next.Epoch == s.Epoch || plan.Reason != dispatch.RecordLost {
				return
			}
			plan.Next.Debts = slices.Clone(plan.Next.Debts)
			for i := range plan.Next.Debts {
				plan.Next.Debts[i].StopsOnHubLost = false
			}
		})},
		{mistake: "takes every reservation for the first one", invariants: []string{invOneJob, invNoRerun, invResultKept, invFixedPoint, invProgress, invNoOlderJob}, step: mutateInput(func(s *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Quota.Evictions, o.Local.Quota.Reservation, s.Reservation = 0, "", ""
		})},
		{mistake: "lets the epoch fall", invariants: []string{invEpochs}, step: mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			if plan.Next.Epoch > s.Epoch && s.Epoch > 1 {
				plan.Next.Epoch = s.Epoch - 1
			}
		})},
		{mistake: "moves the binding", invariants: []string{invImmutable}, step: mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			if s.Bound != "" && len(plan.Next.Debts) > len(s.Debts) {
				plan.Next.Bound = "w9"
			}
		})},
		{mistake: "keeps the nominations when it binds", invariants: []string{invExclusive}, step: mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			if s.Bound == "" && plan.Next.Bound != "" {
				plan.Next.Nominated = s.Nominated
			}
		})},
		{mistake: "binds whom it likes", invariants: []string{invNominated}, step: mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			if s.Bound == "" && plan.Next.Bound != "" {
				plan.Next.Bound = "w" + string('1'+('5'-plan.Next.Bound[1]))
			}
		})},
		{mistake: "says Ready as soon as it has nominated", invariants: []string{invReady}, step: mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			if len(s.Nominated) == 0 && len(plan.Next.Nominated) == 1 {
				plan.CheckResult = dispatch.CheckResult{State: dispatch.Ready, Message: "too early"}
			}
		})},
		{mistake: "counts objects of any epoch as its own", invariants: []string{invFixedPoint, invReady, invResultKept, invProgress, invNoOrphan}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
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
		{mistake: "trusts the cache about debts", invariants: []string{invNoOlderJob, invStatusShown, invNeverLose, invRunOnce, invResultKept, invFixedPoint}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			owed := slices.ContainsFunc(s.Debts, func(d dispatch.Debt) bool { return d.Cluster == v.Name })
			if owed && v.Name != s.Bound {
				v.Live = &dispatch.Live{Epoch: s.Epoch, Copy: v.Copy, Job: v.Job}
			}
		}))},
		{mistake: "trusts the cache about the bound cluster", invariants: []string{invUnseenWork, invProgress, invResultKept}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			if v.Name == s.Bound {
				v.Live = &dispatch.Live{Epoch: s.Epoch, Copy: v.Copy, Job: v.Job}
			}
		}))},
		{mistake: "uses an old answer again", invariants: []string{invResultKept, invPriority, invNoOlderJob, invUnseenWork, invStatusShown, invFixedPoint, invRunOnce, invNeverLose, invProgress}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			if v.Live != nil {
				v.Live.Epoch = s.Epoch
				v.Live.Copy, v.Live.Job = dispatch.Copy{}, dispatch.Job{}
			}
		}))},
		{mistake: "takes what has vanished for unfinished", invariants: []string{invResultKept}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Ended.Unfinished = true
		}))},
		{mistake: "does not see that a job has taken up the copy", invariants: []string{invNoRerun}, driverBugs: DriverBugs{AdoptsTwice: true}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Copy.Adopted = false
			if v.Live != nil {
				v.Live.Copy.Adopted = false
			}
		}))},
		{mistake: "takes foreign objects for its own", invariants: []string{invForeign}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Copy.Holder == dispatch.Foreign || v.Job.Holder == dispatch.Foreign {
				v.Copy, v.Job = dispatch.Copy{}, dispatch.Job{}
			}
		}))},
		{mistake: "honours no result of a run it gave up", invariants: []string{invProgress, invPriority, invResultKept, invFixedPoint}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			if s.Retreating() || v.Name != s.Bound {
				v.Copy.Finished, v.Job.Finished = nil, nil
				if v.Live != nil {
					v.Live.Copy.Finished, v.Live.Job.Finished = nil, nil
				}
			}
		}))},
		{mistake: "takes an out-of-sync copy for a result", invariants: []string{invEnded}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Copy.Finished != nil {
				v.Copy.Finished = &dispatch.Outcome{Reason: "Succeeded"}
			}
		}))},
		{mistake: "offers before the other checks are ready", invariants: []string{invOtherChecks}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Check.OthersReady = true
		})},
		{mistake: "does not see that a Workload is deleted", invariants: []string{invFinishedFinal}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Deleted = false
		})},
	}
}

// mutantsOfTime have no patience.
func mutantsOfTime() []mutant {
	return []mutant{
		{mistake: "gives up a lost cluster at once", invariants: []string{invGrace, invRunOnce, invNeverLose, invNoOlderJob, invCutOff}, step: mutateInput(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) {
			p.WorkerLostTimeout = 0
		})},
		{mistake: "never believes that it is cut off itself", invariants: []string{invCutOff, invRunOnce, invNeverLose, invGrace}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, p *dispatch.Policy) {
			p.CutOffWindow = -time.Second
			o.CutOffEnded = time.Time{}
		})},
		{mistake: "takes itself for cut off only if nobody is left", invariants: []string{invCutOff, invGrace, invRunOnce}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, p *dispatch.Policy) {
			if slices.ContainsFunc(o.Clusters, func(v dispatch.ClusterView) bool { return v.Link.State == dispatch.Connected }) {
				p.CutOffWindow = -time.Second
			}
		})},
		{mistake: "forgets how long it was cut off", invariants: []string{invGrace, invRunOnce, invNeverLose}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.CutOffEnded = time.Time{}
		})},
		{mistake: "gives no round its time", invariants: []string{invRound}, step: mutateInput(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) {
			p.RoundTimeout = 0
		})},
		{mistake: "takes a call that failed for a refusal although its copy is there", invariants: []string{invRound, invProgress}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			if v.Health.Trouble != "" && v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == max(s.Epoch, 1) && v.Copy.SpecMatches && !v.Offer.GateRequested {
				v.Copy.Refused = true
			}
		}))},
		{mistake: "forgets when a round began", invariants: []string{invHedge, invProgress, invFixedPoint, invRound, invOfferTime}, step: mutateInput(func(s *dispatch.State, _ *dispatch.Observation, _ *dispatch.Policy) {
			s.Round = time.Time{}
		})},
		{mistake: "forgives the debts of clusters out of reach", invariants: []string{invNoOlderJob, invNeverLose, invRunOnce}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			owed := slices.ContainsFunc(s.Debts, func(d dispatch.Debt) bool { return d.Cluster == v.Name })
			if owed && v.Link.State == dispatch.Unreachable {
				v.Link.Since = startTime()
			}
		}))},
	}
}

// mutantsOfActions do too much, too little, or the wrong thing first.
func mutantsOfActions() []mutant {
	drop := func(gone func(dispatch.State, *dispatch.Plan, dispatch.Action) bool) StepFunc {
		return mutateOutput(func(s dispatch.State, plan *dispatch.Plan) {
			plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a dispatch.Action) bool { return gone(s, plan, a) })
		})
	}
	return []mutant{
		{mistake: "creates the job before it retracts the losers", invariants: []string{invLosers}, step: drop(func(_ dispatch.State, plan *dispatch.Plan, a dispatch.Action) bool {
			last := len(plan.Actions) - 1
			return a.Verb == dispatch.Retract && last >= 0 && plan.Actions[last].Verb == dispatch.CreateJob
		})},
		{mistake: "lets the losers keep their copies", invariants: []string{invNoOrphan, invLosers}, step: drop(func(s dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.Retract && s.Bound != "" && a.Epoch > s.Epoch
		})},
		{mistake: "spares no result that nobody has seen", invariants: []string{invResultKept}, step: mutateOutput(func(_ dispatch.State, plan *dispatch.Plan) {
			for i := range plan.Actions {
				plan.Actions[i].SpareFinished = false
			}
		})},
		{mistake: "does not tell the worker that the hub evicts", invariants: []string{invEviction}, step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.EvictRemote
		})},
		{mistake: "lets the hub's job look active for ever", invariants: []string{invProgress, invStatusShown}, step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.DrainStatus
		})},
		{mistake: "never copies the status", invariants: []string{invStatusShown}, step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.CopyStatus
		})},
		{mistake: "never updates a priority", invariants: []string{invPriority}, step: drop(func(_ dispatch.State, _ *dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.UpdateOffer
		})},
		{mistake: "acts on clusters out of reach", invariants: []string{invConnected}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Link = dispatch.Link{State: dispatch.Connected}
		}))},
		{mistake: "offers to debtors", invariants: []string{invFixedPoint, invNoOlderJob, invNoRerun}, step: offersToDebtors},
		{mistake: "offers to clusters that the config does not list", invariants: []string{invListed}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			v.InConfig = v.InConfig || slices.Contains(s.Nominated, v.Name)
		}))},
	}
}

// mutantsOfDriver leave Step as it is and make a mistake around it.
func mutantsOfDriver() []mutant {
	return []mutant{
		{mistake: "keeps answers that are out of date", invariants: []string{invFixedPoint, invProgress, invResultKept, invUnseenWork}, step: dispatch.Step, driverBugs: DriverBugs{KeepsLiveReads: true}},
		{mistake: "overwrites what others have written", invariants: []string{invNominated, invEpochs, invRound, invReady, invFinishedFinal, invImmutable, invExclusive, invOneJob}, step: dispatch.Step, driverBugs: DriverBugs{IgnoresConflicts: true}},
		{mistake: "looks at no other cluster once one is bound", invariants: []string{invCutOff, invNoOrphan, invNoOlderJob, invFixedPoint, invGrace, invLosers, invUnseenWork}, step: dispatch.Step, driverBugs: DriverBugs{IgnoresOtherClusters: true}},
	}
}

func offersToDebtors(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
	plan := dispatch.Step(s, o, p)
	if plan.Stores || s.Bound != "" || !o.Local.Quota.Reserved {
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

// mutateInput is Step with a mistake in what it is given, after one in what it answers.
func mutateInput(change func(*dispatch.State, *dispatch.Observation, *dispatch.Policy)) StepFunc {
	return func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
		o.Clusters = slices.Clone(o.Clusters)
		change(&s, &o, &p)
		return dispatch.Step(s, o, p)
	}
}

func mutateOutput(change func(dispatch.State, *dispatch.Plan)) StepFunc {
	return func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
		plan := dispatch.Step(s, o, p)
		change(s, &plan)
		return plan
	}
}

// mutateViews changes every cluster's view.
func mutateViews(change func(dispatch.State, *dispatch.ClusterView)) func(*dispatch.State, *dispatch.Observation, *dispatch.Policy) {
	return func(s *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
		for i := range o.Clusters {
			change(*s, &o.Clusters[i])
		}
	}
}
