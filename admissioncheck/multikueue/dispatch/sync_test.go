package dispatch

import (
	"testing"
	"time"
)

func TestARunningJobFollowsWhatMayChangeOfTheHubs(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.SyncSpec, p.ExplainAfter = true, 0
	runExplanationCases(t, p, []explanationCase{
		{"after its status was read", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1 behind differing", "Running; CopyStatus w1; SyncSpec w1"},
		{"nothing differs", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1", "Running"},
		{"not where another cluster has the job", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1 \n w2 up copy@1 job@1 differing",
			"Running; Retract w2 below 2"},
		{"not while the hub evicts it", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active", "w1 up copy@1 admitted deactivating job@1 differing", "Draining"},
		{"not when it has ended", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1 differing finished:Succeeded", "RunFinished; Finish w1 Succeeded"},
	})
	p.SyncSpec = false
	runExplanationCases(t, p, []explanationCase{
		{"the gate is off", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1 differing", "Running"},
	})
}
