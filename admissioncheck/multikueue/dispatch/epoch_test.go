package dispatch

import (
	"math"
	"testing"
)

func TestAStampAboveEveryPossibleEpochIsUnreadable(t *testing.T) {
	for _, c := range []struct{ stamp, epoch, want int64 }{
		{0, 1, 0}, {3, 1, 3}, {maxPlausibleEpoch, 1, maxPlausibleEpoch}, {maxPlausibleEpoch + 1, 1, UnreadableEpoch}, {math.MaxInt64, 1, UnreadableEpoch}, {-1, 1, UnreadableEpoch},
		{math.MinInt64, 1, UnreadableEpoch}, {maxPlausibleEpoch + 7, maxPlausibleEpoch + 7, maxPlausibleEpoch + 7}, {maxPlausibleEpoch + 8, maxPlausibleEpoch + 7, UnreadableEpoch},
	} {
		if got := ReadStamp(c.stamp, c.epoch); got != c.want {
			t.Errorf("%d says %d in epoch %d, want %d", c.stamp, got, c.epoch, c.want)
		}
	}
	for stamp, want := range map[int64]bool{1: true, 2: false, 3: false, -1: true, math.MaxInt64: true, maxPlausibleEpoch: false} {
		if got := IsBelow(stamp, 2); got != want {
			t.Errorf("%d goes with what was made before epoch 2: %v", stamp, got)
		}
	}
	for epoch, want := range map[int64]int64{1: 2, maxPlausibleEpoch: maxPlausibleEpoch + 1, MaxEpoch: MaxEpoch, math.MaxInt64: MaxEpoch} {
		if got := epochAfter(epoch); got != want {
			t.Errorf("after %d comes %d, want %d", epoch, got, want)
		}
	}
}

// A stamp near the largest number, written on a worker by a user, neither moves the Workload's epoch nor leaves anything that no
// plan removes.
func TestAnInventedStampRaisesNothingAndIsRemoved(t *testing.T) {
	const largest, far = "9223372036854775807", "9007199254740993"
	runStepCases(t, []stepCase{
		{"an offer's copy", "nominated w1", "quota", "w1 up copy@" + largest, "Offered; Retract w1 below 1 sparing; wake in 4s"},
		{"the copy of a cluster that lost", "bound w1", "quota Ready", "w1 up copy@1 admitted job@1 \n w2 up copy@" + far, "Running; Retract w2 below 2"},
		{
			"a debtor's job: its debt stays until it is gone", "epoch 2 of r1; nominated w1 w2; owed w1@1", "quota evictions=1",
			"w1 up job@" + largest + " \n w2 up copy@2", "Offered; Retract w1 below 2 sparing; wake in 4s",
		},
		{
			"found by a live read", "epoch 2 of r1; nominated w1 w2; owed w1@1", "quota evictions=1",
			"w1 up live@2 job@" + largest + " \n w2 up copy@2", "Offered; Retract w1 below 2 sparing; wake in 4s",
		},
		{"of a workload that is over", "bound w1", "finished", "w1 up copy@" + largest + " job@" + far, "Done; Retract w1 below 2"},
		{
			"and the eviction is recorded so that it can be read", "bound w1", "quota Ready evicted evictions=1", "w1 up copy@" + largest + " admitted job@1",
			"LocalEvicted; epoch 2; owed w1@1",
		},
	})
}

func TestARecordThatCannotBeReadIsALostOne(t *testing.T) {
	s := Decode(&Record{Message: "epoch 9223372036854775807"}, nil, "w1")
	o := Observation{Now: testNow(), Local: parseLocal(t, "quota Ready evicted evictions=1"), Clusters: parseClusters(t, "w1 up copy@1 admitted \n w2 lost@1h")}
	if got, want := describe(s, o.Local, Step(s, o, runOnce())), "LocalEvicted; epoch 2; owed w1@1 w2@1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
