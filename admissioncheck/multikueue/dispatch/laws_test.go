package dispatch

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzTheLawsOfStep gives Step anything at all, the impossible included, and checks what must hold of every answer. That
// a crash after any prefix of the actions is harmless is shown by the simulation (e2e/sim), which crashes there.
func FuzzTheLawsOfStep(f *testing.F) {
	for seed := range uint64(2000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := &inputGenerator{rand.New(rand.NewPCG(seed, 1))}
		s, o, p := g.state(), g.observation(), g.policy()
		plan := Step(s, o, p)
		if again := Step(s, o, p); !reflect.DeepEqual(plan, again) {
			t.Fatalf("Step is not deterministic:\n%+v\n%+v", plan, again)
		}
		checkState(t, s, o, plan)
		checkDebts(t, s, o, plan)
		checkPods(t, s, o, p, plan)
		checkActions(t, s, o, plan)
		checkHolds(t, s, o, p, plan)
		checkSlices(t, s, o, plan)
		checkTrust(t, s, o, plan)
		checkRetention(t, s, o, p, plan)
		checkWrites(t, s, o, p)
		if told := Explain(s, o, p); len(told.Clusters) != len(o.Clusters) || told.Summary == "" {
			t.Errorf("%d explanations for %d clusters; %q", len(told.Clusters), len(o.Clusters), told.Summary)
		}
	})
}

// checkState checks what is stored, and when to look again.
func checkState(t *testing.T, s State, o Observation, plan Plan) {
	t.Helper()
	next := plan.Next
	if next.Epoch > MaxEpoch {
		t.Errorf("epoch %d cannot be read", next.Epoch)
	}
	if r, ok := Encode(next); ok && !Decode(&r, next.Nominated, next.Bound).Equal(next) {
		t.Errorf("%+v is not read back from %q", next, r.Message)
	}
	if next.Epoch < s.Epoch {
		t.Errorf("the epoch falls from %d to %d", s.Epoch, next.Epoch)
	}
	if next.Bound != "" && len(next.Nominated) > 0 && s.Bound == "" {
		t.Errorf("both bound and nominated: %+v", next)
	}
	switch {
	case next.Bound == s.Bound:
	case plan.Reason == TakenOver && s.Bound == "" && next.Bound == o.Local.Slice.Before.Bound:
	case next.Bound == "" && (!o.Local.Quota.Reserved || o.Local.KeptForJob):
	case s.Bound == "" && slices.Contains(s.Nominated, next.Bound):
	case next.Bound == "" && o.Local.Quota.Evicted && o.Local.Quota.AwaitsUnbinding && s.Retreating():
	default:
		t.Errorf("bound goes from %q to %q, nominated were %v", s.Bound, next.Bound, s.Nominated)
	}
	if !slices.IsSortedFunc(next.Debts, func(a, b Debt) int { return strings.Compare(a.Cluster, b.Cluster) }) {
		t.Errorf("debts are not sorted: %+v", next.Debts)
	}
	if (o.Local.Deleted && !o.Local.KeptForJob || o.Local.Finished) && plan.Stores {
		t.Errorf("a workload that is over is written to: %+v", plan)
	}
	if plan.Reason == "" || !plan.WakeAt.IsZero() && !plan.WakeAt.After(o.Now) {
		t.Errorf("because %q, wake at %v when it is %v", plan.Reason, plan.WakeAt, o.Now)
	}
}

// checkDebts checks that what is owed is not forgotten: an epoch that begins on a record that is not all there was suspects
// every cluster, and one that owes already keeps what is known of it.
func checkDebts(t *testing.T, s State, o Observation, plan Plan) {
	t.Helper()
	next, l := plan.Next, o.Local
	before := l.Quota.Evictions
	if l.Quota.Evicted || !l.Quota.Reserved {
		before--
	}
	dropped := s.Epoch == 1 && s.Reservation == "" && before > 0
	unended := s.Reservation != "" && l.Quota.Reserved && s.Reservation != l.Quota.Reservation
	if newest := o.normalizeStamps(s.Epoch).newestEpoch(); next.Epoch > s.Epoch && (dropped || unended || s.Unreadable || newest > s.Epoch) && plan.Reason != TakenOver {
		for _, v := range o.Clusters {
			if !next.hasDebt(v.Name) && v.Name != next.Bound {
				t.Errorf("epoch %d begins as if no cluster had owed: %+v", next.Epoch, next)
			}
		}
	}
	for _, d := range s.Debts {
		shows := o.normalizeStamps(s.Epoch).view(d.Cluster).newestEpoch() >= s.Epoch
		if d.StopsOnHubLost && !shows && slices.Contains(next.Debts, Debt{Cluster: d.Cluster, Epoch: next.Epoch - 1}) {
			t.Errorf("forgets that %s stops its job: %+v", d.Cluster, next)
		}
	}
}

// checkPods checks that under a policy that promises something no debt is dropped while pods of a job that is gone may run.
func checkPods(t *testing.T, s State, o Observation, p Policy, plan Plan) {
	t.Helper()
	if p.OnHubLost != Stop && p.OnWorkerLost != Hold {
		return
	}
	for _, d := range s.Debts {
		v := o.view(d.Cluster)
		if !v.connected() || plan.Next.hasDebt(d.Cluster) || v.Ended.StoppedEpoch >= d.Epoch {
			continue
		}
		since := d.AbsentSince
		if since.IsZero() && v.Live != nil {
			since = v.Live.At
		}
		if o.Now.Before(since.Add(o.Local.Job.KillGrace + p.SkewMargin)) {
			t.Errorf("forgets that pods may end on %s until then: %+v", d.Cluster, plan)
		}
	}
}

// checkActions checks what is done.
func checkActions(t *testing.T, s State, o Observation, plan Plan) {
	t.Helper()
	if o.Local.Check.State == "" && plan.CheckResult != (CheckResult{Message: o.Local.Check.Message}) {
		t.Errorf("says something that has no entry to be in: %+v", plan.CheckResult)
	}
	differs := !plan.Next.Equal(s) || plan.CheckResult != CheckResult{State: o.Local.Check.State, Message: o.Local.Check.Message}
	if plan.Stores != differs || plan.Stores && len(plan.Actions) > 0 {
		t.Errorf("stores %t what differs %t: %+v", plan.Stores, differs, plan)
	}
	for i, a := range plan.Actions {
		v := o.view(a.Cluster)
		if a.Remote() && !v.connected() {
			t.Errorf("%s targets %s, which is %v", a.Verb, a.Cluster, v.Link.State)
		}
		if a.Verb == Retract && !v.removable() && v.Live == nil {
			t.Errorf("Retract from %s, where nothing of ours is", a.Cluster)
		}
		if a.Verb == Retract && s.Epoch < maxPlausibleEpoch && v.Copy.Holder == Ours && ReadStamp(v.Copy.Epoch, s.Epoch) == UnreadableEpoch && !IsBelow(v.Copy.Epoch, a.Epoch) {
			t.Errorf("leaves what cannot be read: %s of %+v", describeAction(a), v.Copy)
		}
		if a.Verb == CreateOffer && (v.Operator.Cordoned || v.Operator.Draining || v.Operator.DeclaredGone || o.Local.Siblings.Awaited || o.Local.Siblings.Pin != "" && o.Local.Siblings.Pin != v.Name) {
			t.Errorf("offers to %s: %+v", a.Cluster, v)
		}
		if a.Verb == OpenGate && (!v.Copy.GateClosed || !v.Copy.BlockedOnGate || v.Copy.Admitted || !s.isNominated(v.Name)) {
			t.Errorf("opens the gate of %+v", v)
		}
		if a.Verb == CreateOffer && (v.hasCollision() || !v.InConfig || s.Bound != "" && !takesOver(s, o, v) || s.hasDebt(a.Cluster) || !o.Local.Quota.Reserved) {
			t.Errorf("offers to %s: %+v with %+v", a.Cluster, v, s)
		}
		if a.Verb == ResizeJob && (v.Name != s.Bound || s.Retreating() || v.Job.Holder != Ours || !o.Local.Quota.Reserved || o.Local.Deleted) {
			t.Errorf("resizes the job on %s: %+v with %+v", a.Cluster, v.Job, s)
		}
		if a.Verb == CreateJob {
			checkCreateJob(t, s, o, v, i == len(plan.Actions)-1)
		}
	}
}

// takesOver tells whether a slice may be offered to the cluster that it has from the one before.
func takesOver(s State, o Observation, v ClusterView) bool {
	return o.Local.Slice.Replacement && v.Name == s.Bound && o.Local.Check.State == Pending
}

// checkSlices checks that a slice takes over all that is known of its job, and that one whose job is another's leaves that alone.
func checkSlices(t *testing.T, s State, o Observation, plan Plan) {
	t.Helper()
	l := o.Local
	if plan.Reason == TakenOver {
		from, next := l.Slice.Before, plan.Next
		same := next.Epoch == max(from.Epoch, s.Epoch) && (len(from.Debts) == 0 || reflect.DeepEqual(next.Debts, from.Debts)) && (from.Bound == "" || next.Bound == from.Bound)
		over := l.Quota.Evictions > 0 && next.Epoch > from.Epoch && next.Bound == "" && (from.Bound == "" || next.hasDebt(from.Bound)) // it was given up since
		for _, d := range from.Debts {
			over = over && next.hasDebt(d.Cluster)
		}
		if !same && !over {
			t.Errorf("takes over %+v from %+v", next, *from)
		}
		if again := Step(next, o, Policy{}); again.Reason == TakenOver {
			t.Errorf("takes over twice: %+v", again.Next)
		}
	}
	if !l.Slice.Passive {
		return
	}
	if plan.Stores {
		t.Errorf("a slice whose job is another's stores %+v", plan.Next)
	}
	for _, a := range plan.Actions {
		if v := o.view(a.Cluster); a.Verb != LiveRead && (a.Verb != Retract || !a.OnlyCopy || a.Cluster == l.Slice.NextOn && (v.Copy.QuotaReserved || v.Copy.Admitted || v.Copy.Finished != nil) ||
			a.Cluster != l.Slice.NextOn && v.Job.NamesWorkload && v.Copy.Finished == nil) {
			t.Errorf("a slice whose job is another's does %s", describeAction(a))
		}
	}
}

func checkCreateJob(t *testing.T, s State, o Observation, v ClusterView, last bool) {
	t.Helper()
	l := o.Local
	if v.Name != s.Bound || s.Retreating() || !last {
		t.Errorf("creates a job on %s while bound to %q, last action: %v", v.Name, s.Bound, last)
	}
	if !l.Quota.Reserved || l.Quota.Evicted || l.Finished || l.Deleted || l.Check.State != Ready && l.Check.State != "" {
		t.Errorf("creates a job for %+v", l)
	}
	if v.Job.Holder != Absent || !v.Copy.Admitted || v.Copy.Adopted || !s.isCurrent(v.Copy.Epoch) {
		t.Errorf("creates a job where there is %+v", v)
	}
	for _, d := range s.Debts {
		if o.view(d.Cluster).connected() {
			t.Errorf("creates a job while %s owes", d.Cluster)
		}
	}
}

// checkHolds checks what the policies promise: nothing is given up, and no job created, while a cluster out of reach may run
// one. It reckons on its own what Step reckons in hold.
func checkHolds(t *testing.T, s State, o Observation, p Policy, plan Plan) {
	t.Helper()
	mayRun := func(name string, stops bool) bool {
		v := o.view(name)
		tried := v.Link.State == Unreachable && !v.Link.Untried
		if v.connected() || v.Operator.DeclaredGone && (tried || v.Link.State == Unreachable && lostLinkFor(o, v) >= p.WorkerLostTimeout) {
			return false
		}
		stopped := v.Fence.RenewedAt.Add(p.LeaseDuration + p.SkewMargin + o.Local.Job.KillGrace)
		return p.OnWorkerLost == Hold || p.OnHubLost == Stop && (!stops || !v.Fence.Alive || o.Now.Before(stopped))
	}
	l := o.Local
	alive := plan.Reason != TakenOver && !l.Deleted && s.Bound != "" && !s.Retreating() && l.Quota.Reserved && !l.Quota.Evicted && l.Job.Refusal.Reason == "" && (l.Check.State == Pending || l.Check.State == Ready)
	if alive && plan.Next.Epoch > s.Epoch && mayRun(s.Bound, s.StopsOnHubLost) {
		t.Errorf("gives up %s, which may still run the job: %+v", s.Bound, plan)
	}
	for _, d := range s.Debts {
		if l.Deleted && !plan.Next.hasDebt(d.Cluster) && mayRun(d.Cluster, d.StopsOnHubLost) {
			t.Errorf("forgets that %s may still run the job: %+v", d.Cluster, plan)
		}
	}
	for _, a := range plan.Actions {
		for _, d := range s.Debts {
			if a.Verb == CreateJob && mayRun(d.Cluster, d.StopsOnHubLost) {
				t.Errorf("creates a job while %s may still run one: %+v", d.Cluster, plan)
			}
		}
	}
}

// checkTrust checks that nothing is believed of clusters that were not asked, and nothing shown of a job that took another's
// name. It reckons on its own which cluster may say what.
func checkTrust(t *testing.T, s State, o Observation, plan Plan) {
	t.Helper()
	for _, a := range plan.Actions {
		v := o.view(a.Cluster)
		asked := s.Bound == v.Name || s.hasDebt(v.Name)
		sound := func(c Copy, j Job) bool {
			taken := c.Holder == Ours && c.AdoptedBy == j.UID
			contested := c.Holder == Ours && c.AdoptedBy != "" && !taken
			said := c.Holder == Ours && c.Finished != nil && c.Adopted && asked
			return said || !contested && (taken || j.HasWorkloadUID && asked)
		}
		switch {
		case a.Verb == Finish && !asked && (!s.isNominated(v.Name) || !v.InConfig):
			t.Errorf("takes the word of %s, which was not asked: %+v", v.Name, s)
		case a.Verb == Finish && !sound(v.Copy, v.Job) && (v.Live == nil || !sound(v.Live.Copy, v.Live.Job)),
			a.Verb == CopyStatus && !sound(v.Copy, v.Job):
			t.Errorf("%s of a job that is not known to be the workload's: %+v", a.Verb, v)
		}
	}
	for _, d := range s.Debts {
		live := o.view(d.Cluster).Live
		marked := live != nil && (live.Job.Holder == Relabelled || live.Job.Holder == Foreign && live.Job.Finished == nil && (live.Job.NamesWorkload || live.Job.HasWorkloadUID))
		if marked && !plan.Next.hasDebt(d.Cluster) && o.view(d.Cluster).connected() {
			t.Errorf("%s owes nothing any more, where there is %+v", d.Cluster, live.Job)
		}
	}
}

// checkRetention checks that a retention changes nothing but what happens on the bound cluster while it lasts, and that there a job that
// has ended in the present epoch stays, with a copy that has. It reckons on its own how long it lasts.
func checkRetention(t *testing.T, s State, o Observation, p Policy, plan Plan) {
	t.Helper()
	l, v := o.Local, o.view(s.Bound)
	without := p
	without.RetainFinished = 0
	at := Step(s, o, without)
	left := l.FinishedAt.Add(p.RetainFinished).Sub(o.Now)
	lasts := left > 0 && left <= 2*p.RetainFinished && !v.Operator.BeingDrained && v.connected() && s.Bound != "" && !s.Retreating()
	switch {
	case plan.Reason != Retained && !reflect.DeepEqual(plan, at):
		t.Errorf("is another plan without retention: %+v\n%+v", plan, at)
	case plan.Reason == Retained && (!lasts || at.Reason != Done):
		t.Errorf("%v is left of the retention: %+v", left, plan)
	case plan.Reason == Retained && (plan.WakeAt.IsZero() || plan.WakeAt.After(o.Now.Add(2*p.RetainFinished))):
		t.Errorf("wakes at %v, when %v is left: %+v", plan.WakeAt, left, plan)
	}
	elsewhere := func(actions []Action) []Action {
		return slices.DeleteFunc(slices.Clone(actions), func(a Action) bool { return a.Cluster == s.Bound })
	}
	if plan.Reason == Retained && !slices.Equal(elsewhere(plan.Actions), elsewhere(at.Actions)) {
		t.Errorf("does elsewhere %+v, and without retention %+v", plan.Actions, at.Actions)
	}
	own := func(h Holder, stamp int64) bool { return h == Ours && s.isCurrent(ReadStamp(stamp, s.Epoch)) }
	copyEnded := own(v.Copy.Holder, v.Copy.Epoch) && v.Copy.Finished != nil && v.Copy.Finished.isRunEnd()
	jobEnded := own(v.Job.Holder, v.Job.Epoch) && v.Job.Finished != nil && v.Job.HasWorkloadUID && (v.Copy.Holder == Absent || copyEnded && v.Copy.AdoptedBy == v.Job.UID)
	known := v.Live == nil && (v.Copy.Holder != Absent || v.Copy.AdoptedBy == "" && v.Copy.Finished == nil)
	if !l.Finished || l.Deleted || l.Slice.Passive || !lasts || !jobEnded || !known {
		return
	}
	for _, a := range plan.Actions {
		if a.Verb == Retract && a.Cluster == s.Bound && !a.OnlyCopy {
			t.Errorf("removes a job that stays for another %v: %+v", left, v)
		}
	}
}

func lostLinkFor(o Observation, v ClusterView) time.Duration { return o.Now.Sub(v.Link.Since) }

// checkWrites checks that writing comes to an end: stored as told, Step soon has nothing more to store.
func checkWrites(t *testing.T, s State, o Observation, p Policy) {
	t.Helper()
	for range 5 {
		plan := Step(s, o, p)
		if !plan.Stores {
			return
		}
		s = plan.Next
		o.Local.Check.State, o.Local.Check.Message = plan.CheckResult.State, plan.CheckResult.Message
	}
	t.Errorf("does not stop writing: %+v\n%+v", s, o)
}

// inputGenerator makes random inputs of three clusters.
type inputGenerator struct{ *rand.Rand }

func (g *inputGenerator) chance(one int) bool { return g.IntN(one) == 0 }

// epoch is a small one, mostly, and now and then one that only a user can have made up.
func (g *inputGenerator) epoch() int64 {
	if g.chance(40) {
		return []int64{maxPlausibleEpoch - 1, maxPlausibleEpoch, maxPlausibleEpoch + 1, MaxEpoch - 1, MaxEpoch, MaxEpoch + 1, math.MaxInt64 - 1, math.MaxInt64, -1, math.MinInt64}[g.IntN(10)]
	}
	return int64(1 + g.IntN(3))
}

// own is an epoch that a record may have.
func (g *inputGenerator) own() int64 { return min(max(g.epoch(), 1), MaxEpoch) }

func (g *inputGenerator) name() string { return []string{"w1", "w2", "w3"}[g.IntN(3)] }
func (g *inputGenerator) pastTime() time.Time {
	return testNow().Add(-time.Duration(g.IntN(30)) * time.Minute)
}

func (g *inputGenerator) state() State {
	s := State{Epoch: g.own(), Unreadable: g.chance(20)}
	if s.Epoch > 1 && !g.chance(3) {
		s.Reservation = []string{"r1", "r2"}[g.IntN(2)]
	}
	for range g.IntN(3) {
		d := Debt{Cluster: g.name(), Epoch: g.own(), StopsOnHubLost: g.chance(2)}
		if g.chance(3) {
			d.AbsentSince = testNow().Add(-time.Duration(g.IntN(200)) * time.Second)
		}
		s = s.withDebt(d)
	}
	if g.chance(2) {
		s.Bound, s.StopsOnHubLost = g.name(), g.chance(2)
		return s
	}
	for range g.IntN(4) {
		s.Nominated = append(s.Nominated, g.name())
	}
	slices.Sort(s.Nominated)
	s.Nominated = slices.Compact(s.Nominated)
	if g.chance(3) {
		s.Round = g.pastTime()
	}
	return s
}

func (g *inputGenerator) policy() Policy {
	p := Compatible(15 * time.Minute)
	if g.chance(4) {
		p.OnWorkerLost = Hold
	}
	if g.chance(3) {
		p.OnHubLost, p.LeaseDuration, p.SkewMargin = Stop, 40*time.Second, 20*time.Second
	}
	p.HedgeAfter, p.OrchestratePreemption = time.Duration(g.IntN(3))*time.Minute, g.chance(3)
	p.SyncSpec = g.chance(2)
	p.RetainFinished = time.Duration(g.IntN(3)) * 20 * time.Minute
	p.Dispatcher = []Dispatcher{AllAtOnce, AllAtOnce, Incremental, BestFit, External}[g.IntN(5)]
	p.StepSize, p.ByName = g.IntN(3), g.chance(2)
	return p
}

func (g *inputGenerator) observation() Observation {
	o := Observation{Now: testNow(), Local: g.local()}
	for _, name := range []string{"w1", "w2", "w3"} {
		o.Clusters = append(o.Clusters, g.view(name))
	}
	if g.chance(4) {
		o.CutOffEnded = g.pastTime()
	}
	return o
}

func (g *inputGenerator) local() Local {
	l := Local{
		Deleted: g.chance(12), Finished: g.chance(12),
		Quota: LocalQuota{Reserved: !g.chance(5), Evicted: g.chance(5), Evictions: int64(g.IntN(3)), AwaitsUnbinding: g.chance(2)},
		Check: LocalCheck{OthersReady: !g.chance(6), State: []CheckState{Pending, Pending, Ready, Ready, Retry, Rejected, ""}[g.IntN(7)]},
		Job:   LocalJob{Active: g.chance(2), StatusOutlivesPods: g.chance(4)},
	}
	if l.KeptForJob = l.Deleted && g.chance(2); l.Finished {
		l.FinishedAt = g.pastTime().Add(time.Duration(g.IntN(2)) * time.Hour)
	}
	if l.Quota.Reserved {
		l.Quota.Reservation, l.Quota.ReservedAt = []string{"r1", "r2"}[g.IntN(2)], g.pastTime()
	}
	l.Job.KillGrace, l.Siblings.Awaited = time.Duration(g.IntN(3))*time.Minute, g.chance(8)
	if g.chance(8) {
		l.Siblings.Pin = g.name()
	}
	if g.chance(3) {
		l.Slice = Slice{Elastic: true, Passive: g.chance(4), Replacement: g.chance(2)}
		if l.Slice.Passive && g.chance(2) {
			l.Slice.NextOn = g.name()
		}
		if l.Slice.Replacement && g.chance(2) {
			before := g.state()
			l.Slice.Before = &before
		}
	}
	if g.chance(15) {
		l.Job.Refusal = Refusal{Reason: NoAdapter}
	}
	return l
}

func (g *inputGenerator) view(name string) ClusterView {
	v := ClusterView{Name: name, InConfig: !g.chance(6), Ended: EndedJob{Unfinished: g.chance(6)}, Copy: g.copy(), Job: g.job()}
	if g.chance(3) {
		v.Replaced = g.copy()
	}
	if g.chance(6) {
		v.Health.Trouble = "namespace missing"
	}
	v.Fence.Alive, v.Operator.DeclaredGone, v.Operator.Cordoned, v.Operator.Draining, v.Fit.Preempting = !g.chance(3), g.chance(8), g.chance(8), g.chance(8), g.chance(4)
	v.Ended.StoppedEpoch, v.Operator.BeingDrained = int64(g.IntN(4)), v.Operator.Draining || g.chance(10)
	v.Fence.RenewedAt, v.Fit.Score = g.pastTime(), g.IntN(3)
	if g.chance(2) {
		v.Offer.StartedAt = g.pastTime()
	}
	if g.chance(6) {
		v.Fit.Reason = Refused
	}
	switch g.IntN(5) {
	case 0:
		v.Link = Link{State: Unreachable, Since: g.pastTime(), Untried: g.chance(4)}
	case 1:
		v.Link = Link{State: Unknown}
	default:
		v.Link = Link{State: Connected}
	}
	if g.chance(2) {
		v.Live = &Live{Epoch: g.own(), Copy: g.copy(), Job: g.job(), At: testNow().Add(-time.Duration(g.IntN(200)) * time.Second)}
	}
	return v
}

func (g *inputGenerator) uid() string { return []string{"a", "a", "a", "b"}[g.IntN(4)] }

func (g *inputGenerator) holder() Holder {
	return []Holder{Absent, Absent, Ours, Ours, Ours, Ours, Predecessor, Foreign, Relabelled}[g.IntN(9)]
}

func (g *inputGenerator) outcome() *Outcome {
	if !g.chance(8) {
		return nil
	}
	return &Outcome{Reason: []string{"Succeeded", "Failed", OutOfSync, SliceReplaced}[g.IntN(4)], Message: "over"}
}

func (g *inputGenerator) copy() Copy {
	c := Copy{Holder: g.holder()}
	if c.Holder == Absent {
		return c
	}
	c.Epoch, c.SpecMatches, c.Finished = g.epoch(), !g.chance(5), g.outcome()
	c.OnlyPriorityDiffers = !c.SpecMatches && g.chance(2)
	c.OnlyLarger = !c.SpecMatches && !c.OnlyPriorityDiffers && g.chance(2)
	c.StopsOnHubLost, c.GateClosed, c.BlockedOnGate, c.BlockedSince = g.chance(2), g.chance(2), g.chance(2), g.pastTime()
	if !c.GateClosed && g.chance(2) {
		c.GateOpenedAt = g.pastTime()
	}
	c.QuotaReserved, c.Adopted, c.Evicted = !g.chance(3), g.chance(3), g.chance(5)
	if c.Adopted {
		c.AdoptedBy = g.uid()
	}
	c.HasWorkloadUID = !g.chance(4)
	c.Admitted, c.AdmittedAt = c.QuotaReserved && !g.chance(3), g.pastTime()
	c.Deactivating, c.Deleting, c.Refused = g.chance(8), g.chance(8), !c.QuotaReserved && g.chance(2)
	return c
}

func (g *inputGenerator) job() Job {
	j := Job{Holder: g.holder()}
	if j.Holder != Absent {
		j.Epoch, j.Finished, j.StatusBehind, j.Deleting = g.epoch(), g.outcome(), g.chance(2), g.chance(8)
		j.SpecBehind, j.SizeBehind = g.chance(4), g.chance(4)
		j.OfSlice = j.Holder == Ours && g.chance(6)
		j.SizeBehind, j.SizeAbove = j.SizeBehind || j.OfSlice, j.OfSlice && g.chance(2)
		j.UID, j.HasWorkloadUID, j.NamesWorkload = g.uid(), !g.chance(4), !g.chance(6)
	}
	return j
}
