package dispatch

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// FuzzStepDecidesAlikeWithoutTheClustersThatDoNotMatter compares what Step makes of everything with what it makes of the
// clusters that the State names or that show something, where NeedsAll says that those are enough.
func FuzzStepDecidesAlikeWithoutTheClustersThatDoNotMatter(f *testing.F) {
	for seed := range uint64(6000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := &inputGenerator{rand.New(rand.NewPCG(seed, 2))}
		s, o, p := g.state(), g.observation(), g.policy()
		for i := range o.Clusters {
			if v := &o.Clusters[i]; !g.chance(3) {
				v.Copy, v.Job, v.Live, v.Ended.Unfinished = Copy{}, Job{}, nil, false
			}
		}
		near := o.Relevant(s)
		if NeedsAll(s, near) {
			return
		}
		if all, few := Step(s, o, p), Step(s, near, p); !reflect.DeepEqual(all, few) {
			t.Errorf("with all clusters\n%+v\nwithout %d of them\n%+v\nfor %+v\n%+v", all, len(o.Clusters)-len(near.Clusters), few, s, o)
		}
	})
}

func TestARunningWorkloadNeedsItsOwnClusterOnly(t *testing.T) {
	for _, c := range []struct {
		name, state, local, clusters string
		all                          bool
	}{
		{"running", "bound w1", "quota Ready", "w1 up copy@1 admitted job@1", false},
		{"not yet connected", "bound w1", "quota Ready", "w1 unknown", false},
		{"finished", "bound w1", "quota Ready finished", "w1 up", false},
		{"waiting for the hub's quota", "", "", "", false},
		{"lost", "bound w1", "quota Ready", "w1 lost@1m", true},
		{"owed by a cluster that is lost", "epoch 2 of r1; bound w1; owed w2@1", "quota Ready evictions=1", "w1 up copy@2 admitted \n w2 lost@1m", true},
		{"being drained", "bound w1", "quota Ready", "w1 up copy@1 admitted job@1 draining", true},
		{"its record lost", "bound w1", "quota Ready", "w1 up copy@3 admitted job@3", true},
		{"looking for a cluster", "nominated w1", "quota", "w1 up copy@1", true},
		{"given up", "epoch 2; bound w1; owed w1@1", "quota Retry", "w1 up", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Observation{Now: time.Time{}, Local: parseLocal(t, c.local), Clusters: parseClusters(t, c.clusters)}
			if got := NeedsAll(parseState(t, c.state), o); got != c.all {
				t.Errorf("needs all clusters: %v", got)
			}
		})
	}
}
