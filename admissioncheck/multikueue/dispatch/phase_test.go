package dispatch

import (
	"testing"
	"time"
)

func TestPhase(t *testing.T) {
	const running = "w1 up copy@1 admitted adopted job@1"
	for _, c := range []struct {
		state, local, clusters string
		want                   Phase
	}{
		{"", "Pending", "w1 up", PhaseQueued},
		{"bound w1", "Pending", running, PhaseQueued},
		{"", "quota Pending", "w1 up", PhaseOpen},
		{"nominated w1", "quota Pending", "w1 up copy@1 admitted", PhaseOpen},
		{"bound w1", "quota Ready", "w1 up copy@1 admitted", PhaseBound},
		{"bound w1", "quota Ready", "w1 lost@1m copy@1 admitted adopted job@1", PhaseBound},
		{"bound w1", "quota Ready", "w1 up copy@2 admitted adopted job@1", PhaseBound},
		{"bound w1", "quota Ready", running, PhaseRunning},
		{"bound w1", "quota Ready NoAdapter", running, PhaseRetreating},
		{"bound w1", "quota Ready evicted", running, PhaseRetreating},
		{"epoch 2; bound w1; owed w1@1", "quota Retry", running, PhaseRetreating},
		{"epoch 2; bound w1; owed w1@1", "quota Ready", running, PhaseRetreating},
		{"bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1 finished", PhaseFinished},
		{"bound w1", "Pending", "w1 up copy@1 admitted adopted job@1 finished", PhaseFinished},
		{"bound w1", "quota Ready finished", running, PhaseFinished},
		{"bound w1", "kept quota Ready", "w1 up copy@1 admitted adopted job@1 finished", PhaseFinished},
		{"bound w1", "kept quota Ready", running, PhaseGone},
		{"bound w1", "deleted quota Ready", running, PhaseGone},
		{"bound w1", "deleted quota Ready finished", running, PhaseGone},
	} {
		o := Observation{Now: testNow(), Local: parseLocal(t, c.local), Clusters: parseClusters(t, c.clusters)}
		if got := Step(parseState(t, c.state), o, Compatible(15*time.Minute)).Phase; got != c.want {
			t.Errorf("%q, %q, %q: %s, want %s", c.state, c.local, c.clusters, got, c.want)
		}
	}
}
