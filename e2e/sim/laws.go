package sim

import (
	"fmt"
	"slices"
)

// The names of the invariants. Nothing else can be violated.
const (
	lawOnce    = "run once never has two epochs of a job running at the same instant"
	lawLose    = "never lose never starts a second run, and gives nothing up because it cannot be seen"
	lawFence   = "a fence stops only what is stamped so"
	lawLease   = "nothing is offered where a fence would stop it"
	lawCordon  = "nothing new is offered to a cordoned cluster"
	lawDrain   = "a drained cluster is left only for another that can take the workload"
	lawSibling = "siblings are bound to one cluster"
	lawAgain   = "a job that has run is not made again in its epoch"
	lawReady   = "a check is Ready only on the word of the cluster that is bound"
	lawSent    = "nobody is hedged against before it had its time with the offer"
	lawFit     = "the first offer goes to a cluster with room, if one is known"
	lawUnfit   = "nothing is offered to a cluster that is known not to be able to take it"
	lawSick    = "no offer waits for a cluster that does not answer while another would take it"
	lawOrder   = "clusters are nominated in the order that the policy says"
	lawHedge   = "whoever does not admit in time is hedged against"

	lawPriority  = "a copy has the Workload's priority"
	lawFact      = "a finished run is a fact"
	lawForeign   = "a foreign object is never touched"
	lawOneRun    = "a job runs once"
	lawGrace     = "a lost cluster is never given up before its grace"
	lawRest      = "after faults heal every workload finishes or waits with a true reason"
	lawFixed     = "at a fixed point Step returns the same state and no actions"
	lawExclusive = "clusterName and nominatedClusterNames are mutually exclusive"
	lawImmutable = "clusterName is immutable once set"
	lawEpochs    = "epochs never fall"
	lawAbsorbing = "Finished is absorbing"
	lawLosers    = "losers are retracted before the job is created"
	lawReach     = "no action targets a disconnected cluster"
	lawRound     = "no cluster is nominated before its round"
	lawOneJob    = "no epoch has jobs on two clusters"
	lawOlder     = "no job is created while a reachable cluster may hold an older epoch's job"
	lawOutlives  = "no remote object outlives its owner"
	lawUnseen    = "no work is destroyed because it could not be seen"
	lawCutOff    = "nothing is retried while the hub is cut off"
	lawEnded     = "only a run that has ended is recorded as finished"
	lawListed    = "only what the config lists is offered to"
	lawShows     = "the hub shows what the worker shows"
	lawEvicts    = "what the hub evicts stops"
	lawNominated = "when setting clusterName it must be one of the nominatedClusterNames"
	lawChecks    = "nothing is offered before the other checks are ready"
	lawGates     = "no two preemption gates are open at a time"
	lawStops     = "the hub has its quota back when the worker has stopped"
	lawGoes      = "what somebody has deleted goes"
	lawWord      = "a person's word counts only of a cluster that was tried in vain"
	lawLeaves    = "while a cluster is being drained the check says why a job stays there"
	lawLegacy    = "no job is created while its predecessor was last seen running on a cluster that is lost"
	lawAdrift    = "a workload that has lost its check or config is not forgotten"
	lawHeir      = "a job made anew takes nothing of its predecessor's runs"
	lawOwes      = "what is known of a debt is not forgotten before it is settled"
	lawLate      = "no job runs on the strength of a later epoch's offer"
)

// Laws are the names of all invariants of the model; those of placement alone are RankLaws.
func Laws() []string {
	return []string{
		lawOnce, lawLose, lawFence, lawLease, lawCordon, lawDrain, lawSibling, lawFit, lawUnfit, lawSick, lawOrder, lawSent, lawAgain, lawReady,
		lawHedge, lawPriority, lawFact, lawForeign, lawOneRun, lawGrace, lawRest, lawFixed, lawExclusive, lawImmutable, lawEpochs,
		lawAbsorbing, lawLosers, lawReach, lawRound, lawOneJob, lawOlder, lawOutlives, lawUnseen, lawCutOff, lawEnded, lawListed,
		lawShows, lawEvicts, lawNominated, lawChecks, lawGates, lawLate, lawStops, lawGoes, lawHeir, lawAdrift,
		lawWord, lawLeaves, lawLegacy, lawOwes,
	}
}

// must puts an invariant to the test.
func (w *World) must(law string, holds bool, format string, args ...any) {
	w.ledger.checks[law]++
	if !holds {
		w.violate(law, format, args...)
	}
}

// violate records the first broken invariant.
func (w *World) violate(law, format string, args ...any) {
	if !slices.Contains(Laws(), law) {
		panic("sim: no such invariant: " + law)
	}
	if w.ledger.violation == "" {
		w.ledger.violation = law + ": " + fmt.Sprintf(format, args...)
		w.say("VIOLATION %s", w.ledger.violation)
	}
}

// Event is something that random runs must come across, or they test less than they seem to.
type Event string

// The events.
const (
	FenceStops    Event = "a fence stops a job"
	Lapsed        Event = "a run lease cannot be renewed"
	FenceAwaited  Event = "a lost job runs again elsewhere because its fence must have stopped it"
	GraceOver     Event = "a lost cluster is given up"
	HubCutOff     Event = "the hub is cut off"
	Hedges        Event = "best fit hedges"
	Drains        Event = "a job is moved from a drained cluster"
	LateResults   Event = "a result comes too late"
	ResultUnknown Event = "a job is gone and nobody saw how it ended"
	DebtSettled   Event = "a debt is settled"
	RecordLost    Event = "a record was lost"
	TornFinish    Event = "a turn ends between the last status and Finished"
	Returns       Event = "a lost cluster is back in time"
	GoneDeclared  Event = "a person's word ends a wait"
	GateOpens     Event = "a gate is opened"
	Preempts      Event = "a copy preempts"
	LandsLate     Event = "a call lands late"
	RefusedLate   Event = "a worker refuses what is of an epoch that is over"
	Degrades      Event = "a cluster does not answer and is not known to be lost"
	Refuses       Event = "a cluster refuses an offer for good"
	QuotaAwaited  Event = "the hub waits for its quota until the worker has stopped"
	Kept          Event = "a deleted workload is kept because its job may run"
	WordIgnored   Event = "a person's word about a cluster that was not tried is not heeded"
	Stays         Event = "the check says why a job stays on a cluster that it is to leave"
	SiblingYields Event = "a sibling gives its offers up for one that comes before it"
	Sluggish      Event = "a fence needs longer than the hub allows"
	Adrift        Event = "a workload under way has lost its check or config"
	CacheBehind   Event = "a removal is given up because the hub's cache is behind"
	OfferedBehind Event = "an offer is given up because the hub's cache is behind"
	Legacy        Event = "a predecessor's job out of reach is a debt"
	UnderNoQuota  Event = "a running job is removed after the quota was given back, under a policy that promises something"
	Forges        Event = "somebody makes a job that says it has succeeded"
	Relabels      Event = "somebody takes the hub's label off its job"
	Remade        Event = "a job is made anew while its predecessor's workload is there"
)

// Events are all of them.
func Events() []Event {
	return []Event{
		FenceStops, Lapsed, FenceAwaited, GraceOver, HubCutOff, Hedges, Drains, LateResults, ResultUnknown, DebtSettled, RecordLost, TornFinish,
		Returns, GoneDeclared, GateOpens, Preempts, LandsLate, RefusedLate, Degrades, Refuses, QuotaAwaited, Kept, Remade, Adrift, CacheBehind, OfferedBehind,
		WordIgnored, Stays, SiblingYields, Sluggish, Legacy, UnderNoQuota, Forges, Relabels,
	}
}

// reach notes that something has happened.
func (w *World) reach(e Event) { w.ledger.reached[e]++ }
