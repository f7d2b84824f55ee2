package dispatch

import (
	"testing"
	"time"
)

func TestACopyThatIsThereRefutesTheCallThatFailed(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.OrchestratePreemption, p.ExplainAfter = true, 0
	const two = "nominated w1 w2"
	runExplanationCases(t, p, []explanationCase{
		{"its gate is opened", two, "quota", "w1 up copy@1 blocked@9s trouble:timeout \n w2 up copy@1 refused", "Offered; OpenGate w1@1"},
		{"one of an earlier epoch refutes nothing", "epoch 2 of r1; nominated w1", "quota evictions=1", "w1 up copy@1 blocked@9s trouble:timeout",
			"Offered; Retract w1 below 2 sparing"},
		{"nor one whose priority cannot be changed", two, "quota", "w1 up copy@1 reprioritized blocked@9s trouble:no-rights \n w2 up copy@1 blocked@5s",
			"Offered; UpdateOffer w1@1; OpenGate w2@1"},
		{"nor one whose gate cannot be opened", two, "quota", "w1 up copy@1 blocked@9s asked trouble:no-rights \n w2 up copy@1 blocked@5s",
			"Offered; OpenGate w2@1"},
	})
	p = bestFit()
	runExplanationCases(t, p, []explanationCase{
		{"a cluster that has the offer keeps its time", "nominated w1; round 1s", "quota", "w1 up copy@1 trouble:timeout \n w2 up", "Offered; wake in 9s"},
		{"one that has not does not", "nominated w1; round 1s", "quota", "w1 up trouble:timeout \n w2 up", "Nominated; nominated w1 w2; round"},
	})
}

func TestACordonedClusterThatHasLostItsNominationGetsNoOtherForHavingAdmitted(t *testing.T) {
	const admitted = "w1 up cordoned copy@1 admitted \n w2 up copy@1"
	runStepCases(t, []stepCase{
		{"its copy is withdrawn", "nominated w2", "quota", admitted, "Offered; Retract w1 below 2 sparing; wake in 4s"},
		{"one that has its nomination wins", "nominated w1 w2", "quota", admitted,
			`Won; bound w1; nominated; Ready The workload was admitted on "w1"; event`},
	})
	p := Compatible(15 * time.Minute)
	p.Dispatcher, p.StepSize, p.ExplainAfter = Incremental, 2, 0
	runExplanationCases(t, p, []explanationCase{
		{"in rounds too", "nominated w2; round 10m", "quota", "w1 up draining copy@1 admitted \n w2 up copy@1", "Offered; Retract w1 below 2 sparing"},
	})
}

func TestACopyOutOfSyncDoesNotSayThatItsPodsHaveEnded(t *testing.T) {
	const given, local = "epoch 2; bound w1; owed w1@1", "quota evicted awaited evictions=1"
	const outOfSync = "w1 up copy@1 admitted adopted finished:OutOfSync "
	const removed = "Draining; Retract w1 below 2 in the foreground"
	runStepCases(t, []stepCase{
		{"its job is removed", given, local, outOfSync + "job@1", removed},
		{"and waited for", given, local, "w1 up job@1 deleting", "Draining"},
		{"the copy too, if the job has gone already", given, local, outOfSync, removed + "; LiveRead w1"},
		{"a read that finds nothing ends it", given, local, "w1 up live@2", "LocalEvicted; bound"},
		{"one that has lost its quota had lost its pods before", given, local, "w1 up copy@1 adopted evicted finished:OutOfSync job@1", "LocalEvicted; bound"},
	})
}

func TestARecordThatWasLostWithTheRunIsTakenFromTheOffersThatAreLeft(t *testing.T) {
	const unknown = `ResultUnknown; Ready Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; ` +
		`delete the workload, or deactivate and reactivate it to run it again`
	runStepCases(t, []stepCase{
		{"nothing is done before the bound cluster was asked", "bound w1", "quota Ready", "w1 up \n w2 up copy@3", "Looking; LiveRead w1"},
		{"the epoch is that of the offers", "bound w1", "quota r1 Ready", "w1 up live@1 \n w2 up copy@3 \n w3 up", "RecordLost; epoch 3 of r1; owed w2@2 w3@2"},
		{"a predecessor's job does not change that", "bound w1", "quota r1 Ready", "w1 up live@1 job@1 predecessor \n w2 up copy@3",
			"RecordLost; epoch 3 of r1; owed w2@2"},
		{"then it is said, and they are not of a later epoch any more", "epoch 3 of r1; bound w1", "quota r1 Ready evictions=2", "w1 up live@3 \n w2 up copy@3", unknown},
	})
}
