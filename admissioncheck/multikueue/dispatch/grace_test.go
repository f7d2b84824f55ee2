package dispatch

import (
	"slices"
	"testing"
	"time"
)

func at(minutes float64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(minutes * float64(time.Minute)))
}

func lostLink(minutes float64) Link { return Link{State: Unreachable, Since: at(minutes)} }

func TestTheHubIsCutOffWhenMostClustersVanishTogether(t *testing.T) {
	up := Link{State: Connected}
	unknown := Link{}
	never := Link{State: Unreachable, Since: at(0), NeverConnected: true}
	for name, c := range map[string]struct {
		links []Link
		want  bool
	}{
		"no cluster is lost": {[]Link{up, up}, false},
		"the only cluster is lost: no other one could tell": {[]Link{lostLink(0)}, false},
		"one of two is lost":                                  {[]Link{lostLink(0), up}, false},
		"both of two are lost together":                       {[]Link{lostLink(0), lostLink(0.5)}, true},
		"both of two are lost, but hours apart":               {[]Link{lostLink(0), lostLink(120)}, false},
		"half of four are lost together":                      {[]Link{lostLink(0), lostLink(0.5), up, up}, false},
		"three of five are lost together":                     {[]Link{lostLink(0), lostLink(0.5), lostLink(0.9), up, up}, true},
		"two of two that were left are lost together":         {[]Link{lostLink(-300), lostLink(0), lostLink(0.5)}, true},
		"one was lost long before and one now, of three":      {[]Link{lostLink(-300), lostLink(0), up}, false},
		"what was never tried does not count in either way":   {[]Link{lostLink(0), lostLink(0), unknown, unknown, up}, true},
		"two together, while three were lost after them":      {[]Link{lostLink(0), lostLink(0), lostLink(9), lostLink(20), lostLink(30)}, false},
		"most were never seen, but one is alive":              {[]Link{never, never, up}, false},
		"most were never seen, and none is alive":             {[]Link{never, never, lostLink(0)}, true},
		"none was ever seen":                                  {[]Link{never, never}, true},
		"the living vanish together, never mind the others":   {[]Link{never, never, lostLink(0), lostLink(0), up}, true},
		"everybody is lost together":                          {[]Link{lostLink(0), lostLink(0), lostLink(0)}, true},
		"lost one by one, each a little after the one before": {[]Link{lostLink(0), lostLink(5), lostLink(10)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := slices.ContainsFunc(c.links, func(l Link) bool { return CutOff(c.links, l, time.Minute) }); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The clock of a cluster that stays lost after the others are back begins when the hub was back.
func TestAGraceBeginsNoEarlierThanTheEndOfACutOff(t *testing.T) {
	v := ClusterView{Name: "w1", Link: lostLink(0)}
	o, p := Observation{Now: at(70), Clusters: []ClusterView{v, {Name: "w2", Link: Link{State: Connected}}}, CutOffEnded: at(60)}, Compatible(15*time.Minute)
	lost := lostClusters{observed: &o, policy: &p}
	if end, runs := lost.graceEnd(v); !runs || !end.Equal(at(75)) {
		t.Errorf("ends %v, %v", end, runs)
	}
	if lost.graceOver(v) {
		t.Error("is over too early")
	}
	o.Now = at(75)
	if !lost.graceOver(v) {
		t.Error("is not over in time")
	}
}

// Two of a config's three clusters vanish together, but the hub has six, and reaches four of them: it is not cut off.
func TestWhetherTheHubIsCutOffIsToldFromAllItsClusters(t *testing.T) {
	up := Link{State: Connected}
	v := ClusterView{Name: "a1", Link: lostLink(0)}
	o, p := Observation{Now: at(5), Clusters: []ClusterView{v, {Name: "a2", Link: lostLink(0.5)}, {Name: "a3", Link: up}}}, Compatible(15*time.Minute)
	lost := lostClusters{observed: &o, policy: &p}
	if _, runs := lost.graceEnd(v); runs {
		t.Error("a clock runs while most of all clusters are lost together")
	}
	o.Fleet = []Link{lostLink(0), lostLink(0.5), up, up, up, up}
	if end, runs := lost.graceEnd(v); !runs || !end.Equal(at(15)) {
		t.Errorf("ends %v, %v", end, runs)
	}
	o.Fleet = []Link{lostLink(0), lostLink(0.5), lostLink(0.2), lostLink(0.2), up, up}
	if _, runs := lost.graceEnd(v); runs {
		t.Error("a clock runs while the hub is cut off")
	}
}
