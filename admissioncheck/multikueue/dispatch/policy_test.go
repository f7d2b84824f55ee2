package dispatch

import (
	"fmt"
	"testing"
	"time"
)

// step is one question under another policy than the compatible one.
func step(t *testing.T, p Policy, stored, local, seen string) string {
	t.Helper()
	s, l := parseState(t, stored), parseLocal(t, local)
	return describe(s, l, Step(s, Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, seen)}, p))
}

func TestWhatAnExternalDispatcherNominatesWaitsForItsSiblings(t *testing.T) {
	p := Compatible(time.Minute)
	p.Dispatcher = External
	runExplanationCases(t, p, []explanationCase{
		{"after a while it says so", "nominated w1", "quota sibling since=1m", "w1 up",
			`SiblingWait; Pending waiting for the other workloads of the same owner (clusters: 1 not eligible); ` +
				`"w1" not eligible: the workload waits for the first of its owner's workloads`},
	})
	p.ExplainAfter = 0
	runExplanationCases(t, p, []explanationCase{
		{"it keeps its nominations", "nominated w1", "quota sibling", "w1 up", "SiblingWait"},
		{"and is offered to no cluster", "nominated w1", "quota sibling", "w1 up copy@1", "SiblingWait; Retract w1 below 2 sparing"},
		{"until the first one has a cluster", "nominated w1", "quota pin=w1", "w1 up", "Offered; CreateOffer w1@1"},
	})
}

func TestAnExternalDispatcherNominates(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.Dispatcher = External
	for _, c := range []struct{ name, state, clusters, want string }{
		{"nothing happens before it does", "", "w1 up", "NoCluster; wake in 4s"},
		{"only what it nominated is offered to", "nominated w2", "w1 up \n w2 up", "Offered; CreateOffer w2@1; wake in 4s"},
		{"a nominated cluster out of reach stays nominated", "nominated w1 w2", "w1 lost@1m \n w2 up copy@1", "Offered; wake in 4s"},
		{"the first of them that admits wins", "nominated w2", "w1 up \n w2 up copy@1 admitted", `Won; bound w2; nominated; Ready The workload was admitted on "w2"; event`},
		{"a cluster that the config does not list is offered nothing", "nominated w2", "w1 up \n w2 unlisted up", "Offered; wake in 4s"},
		{"and cannot win", "nominated w2", "w1 up \n w2 unlisted up copy@1 admitted", "Offered; Retract w2 below 2 sparing; wake in 4s"},
		{"a nominated name of no cluster harms nobody", "nominated w1 w9", "w1 up copy@1 admitted", `Won; bound w1; nominated; Ready The workload was admitted on "w1"; event`},
		{"its nomination outlives a lost record", "nominated w2", "w1 up \n w2 up copy@3", "RecordLost; epoch 4 of r1; owed w1@3 w2@3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := step(t, p, c.state, "quota", c.clusters); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAPolicyMayHoldALostWorkload(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.OnWorkerLost, p.ExplainAfter = Hold, 0
	if got, want := step(t, p, "bound w1", "quota Ready", "w1 lost@50h \n w2 up"), "Held"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// BenchmarkStep is one decision of a Workload that waits on so many clusters.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{2, 20} {
		b.Run(fmt.Sprintf("clusters=%d", n), func(b *testing.B) {
			s := State{Epoch: 1}
			o := Observation{Now: testNow(), Local: Local{Check: LocalCheck{State: Pending, OthersReady: true}, Quota: LocalQuota{Reserved: true, Reservation: "r1"}}}
			for i := range n {
				v := ClusterView{Name: fmt.Sprintf("w%02d", i), InConfig: true, Link: Link{State: Connected}}
				v.Copy = Copy{Holder: Ours, Epoch: 1, SpecMatches: true}
				o.Clusters = append(o.Clusters, v)
				s.Nominated = append(s.Nominated, v.Name)
			}
			p := Compatible(15 * time.Minute)
			b.ReportAllocs()
			for b.Loop() {
				if Step(s, o, p).Reason != Offered {
					b.Fatal("not the case that is measured")
				}
			}
		})
	}
}
