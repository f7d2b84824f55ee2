package dispatch

import (
	"testing"
	"time"
)

func TestGatesAreOpenedOneAfterAnother(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.OrchestratePreemption, p.ExplainAfter = true, 0
	runExplanationCases(t, p, []explanationCase{
		{"copies are made with a closed gate", "nominated w1", "quota", "w1 up", "Offered; CreateOffer w1@1 gated"},
		{"a sibling's copy is made without", "nominated w1", "quota pin=w1", "w1 up", "Offered; CreateOffer w1@1"},
		{"no copy has signalled", "nominated w1 w2", "quota", "w1 up copy@1 gated \n w2 up copy@1 gated", "Offered"},
		{"the first to signal is opened", "nominated w1 w2", "quota", "w1 up copy@1 blocked@5s \n w2 up copy@1 blocked@9s", "Offered; OpenGate w2@1"},
		{"equal times go by name", "nominated w1 w2", "quota", "w2 up copy@1 blocked@5s \n w1 up copy@1 blocked@5s", "Offered; OpenGate w1@1"},
		{"who was asked stays the one, although another's signal turns up that was earlier by its clock", "nominated w1 w2", "quota", "w1 up copy@1 blocked@9s \n w2 up copy@1 blocked@5s asked", "Offered; OpenGate w2@1"},
		{"unless it refuses now", "nominated w1 w2", "quota", "w1 up copy@1 blocked@9s \n w2 up copy@1 blocked@5s evicted asked", "Offered; OpenGate w1@1"},
		{"the next one after five minutes", "nominated w1 w2", "quota", "w1 up copy@1 blocked@5m \n w2 up copy@1 opened@4m", "Offered; wake in 1m0s"},
		{"and then", "nominated w1 w2", "quota", "w1 up copy@1 blocked@5m \n w2 up copy@1 opened@5m", "Offered; OpenGate w1@1"},
		{"a copy of an earlier epoch does not count", "epoch 2 of r1; nominated w1", "quota evictions=1", "w1 up copy@1 blocked@5m", "Offered; Retract w1 below 2 sparing"},
		{"who has refused does not", "nominated w1 w2", "quota", "w1 up copy@1 blocked@5s evicted \n w2 up copy@1", "Offered"},
		{"an admission goes first", "nominated w1 w2", "quota", "w1 up copy@1 blocked@5s \n w2 up copy@1 admitted", `Won; bound w2; nominated; Ready The workload was admitted on "w2"; event`},
	})
}

func TestWhoseGateMayBeOpenRemainsTheOne(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.OrchestratePreemption, p.ExplainAfter = true, 0
	const both, ready = "nominated w1 w2", "w1 up copy@1 blocked@9s \n "
	runExplanationCases(t, p, []explanationCase{
		{"it is asked again until it is seen", both, "quota", ready + "w2 up copy@1 blocked@5s asked@1s@1s", "Offered; OpenGate w2@1; wake in 4m59s"},
		{"also if that has failed: it is not known what became of it", both, "quota", ready + "w2 up copy@1 blocked@5s asked@9s@1s trouble:reset", "Offered; OpenGate w2@1; wake in 4m59s"},
		{"if the cluster is lost", "nominated w1", "quota", ready + "w2 lost@1s copy@1 blocked@5s asked@1s@1s", "Offered; wake in 4m59s"},
		{"if the cluster is lost and nothing was seen there", "nominated w1", "quota", ready + "w2 lost@1s asked@1s@1s", "Offered; wake in 4m59s"},
		{"if its queue is closed now", both, "quota", ready + "w2 up copy@1 refused blocked@5s asked@1s@1s", "Offered; wake in 4m59s"},
		{"if it was evicted before, or as good as then", both, "quota", ready + "w2 up copy@1 evicted@3m blocked@3m asked@3m@3m", "Offered; wake in 2m0s"},
		{"but not if it was evicted since: that has closed its gate", both, "quota", ready + "w2 up copy@1 evicted@1m blocked@1m asked@3m@3m", "Offered; OpenGate w1@1"},
		{"nor once its copy is gone", "nominated w1", "quota", ready + "w2 up cordoned asked@1s@1s", "Offered; OpenGate w1@1"},
		{"or if nothing was asked of it that may have succeeded", both, "quota", ready + "w2 up copy@1 blocked@5s asked trouble:no-rights", "Offered; OpenGate w1@1"},
		{"who alone could preempt is asked again", "nominated w2", "quota", "w2 up copy@1 blocked@5s asked trouble:no-rights", "Offered; OpenGate w2@1"},
		{"after five minutes it is asked no more", both, "quota", ready + "w2 up copy@1 blocked@6m asked@5m@1m", "Offered; wake in 4m0s"},
		{"and when what was asked last has had its time, another is", both, "quota", ready + "w2 up copy@1 blocked@11m asked@10m@5m", "Offered; OpenGate w1@1"},
		{"a lost one has its time too, and no more", "nominated w1", "quota", ready + "w2 lost@5m asked@5m@5m", "Offered; OpenGate w1@1"},
		{"if it is the only one its turn comes again", "nominated w2", "quota", "w2 up copy@1 blocked@11m asked@10m@5m", "Offered; OpenGate w2@1"},
	})
}

func TestNoGateOpensWhileAnotherClusterMayAdmitWithoutPreemption(t *testing.T) {
	p := bestFit()
	p.OrchestratePreemption = true
	runExplanationCases(t, p, []explanationCase{
		{"one that is not offered it yet is", "nominated w1; round 1s", "quota", "w1 up copy@1 blocked@1s \n w2 up", "Nominated; nominated w1 w2; round"},
		{"and has the time of a hedge", "nominated w1 w2; round 1s", "quota", "w1 up copy@1 blocked@4s \n w2 up copy@1", "Offered; wake in 6s"},
		{"and no more", "nominated w1 w2; round 1s", "quota", "w1 up copy@1 blocked@10s \n w2 up copy@1", "Offered; OpenGate w1@1"},
		{"if all must preempt there is nothing to wait for", "nominated w1; round 1s", "quota", "w1 up preempting copy@1 blocked@1s \n w2 up preempting", "Offered; OpenGate w1@1; wake in 9s"},
	})
}

func TestNoGateIsOpenedUnlessPreemptionIsOrchestrated(t *testing.T) {
	p := bestFit()
	if got, want := step(t, p, "nominated w1; round 1s", "quota", "w1 up copy@1 blocked@1s"), "Offered"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
