package controller

import "testing"

func TestTheClusterThatWasAskedToOpenItsGateIsRememberedForTheEpochAndUntilAnotherIs(t *testing.T) {
	var g gates
	asked := func(cluster string, epoch int64, want bool) {
		t.Helper()
		if got := g.isAsked(key(), cluster, epoch); got != want {
			t.Errorf("asked %s in epoch %d: got %t", cluster, epoch, got)
		}
	}
	asked("w1", 1, false)
	g.ask(key(), "w1", 1)
	asked("w1", 1, true)
	asked("w2", 1, false)
	asked("w1", 2, false)
	g.ask(key(), "w2", 1)
	asked("w1", 1, false)
	asked("w2", 1, true)
	g.over(key())
	asked("w2", 1, false)
}
