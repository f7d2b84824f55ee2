package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

func connected(name string) ClusterLink {
	return ClusterLink{Cluster: name, Link: dispatch.Link{State: dispatch.Connected}}
}

func lost(name string, since time.Time) ClusterLink {
	return ClusterLink{Cluster: name, Link: dispatch.Link{State: dispatch.Unreachable, Since: since}}
}

func TestTheLatestConnectionsDecideWhetherTheHubIsCutOff(t *testing.T) {
	tr := New(time.Minute)
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	type result struct {
		AffectsAll, Changed bool
		EndedAt             time.Time
	}
	for i, step := range []struct {
		links []ClusterLink
		want  result
	}{
		{[]ClusterLink{connected("w1"), connected("w2"), connected("w3")}, result{}},
		{[]ClusterLink{lost("w1", noon), lost("w2", noon), connected("w3")}, result{AffectsAll: true, Changed: true}},
		{[]ClusterLink{lost("w1", noon), lost("w2", noon), connected("w3")}, result{AffectsAll: true}},
		{[]ClusterLink{lost("w1", noon), connected("w2"), connected("w3")}, result{AffectsAll: true, Changed: true, EndedAt: minute(4)}},
		{[]ClusterLink{lost("w1", noon), connected("w2"), connected("w3")}, result{EndedAt: minute(4)}},
		{[]ClusterLink{connected("w1"), connected("w2"), connected("w3")}, result{EndedAt: minute(4)}},
	} {
		seen := tr.ObserveLinks(step.links, minute(i+1))
		if diff := cmp.Diff(step.want, result{seen.AffectsAll, seen.Changed, seen.CutOffEndedAt}); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// Four of five clusters vanish, one after the other, and when the second is back the first is one of few that were lost together
// with it; the last ones still are most of those of their time.
func TestTheHubMayBeBackForOneClusterWhileItIsCutOffFromOthers(t *testing.T) {
	tr := New(time.Minute)
	late, later := noon.Add(54*time.Second), noon.Add(108*time.Second)
	links := []ClusterLink{lost("w1", noon), lost("w2", noon), lost("w3", late), lost("w4", later), connected("w5")}
	tr.ObserveLinks(links, noon)
	links[1] = connected("w2")
	seen := tr.ObserveLinks(links, noon.Add(time.Hour))
	if dispatch.CutOff(seen.Links, links[0].Link, time.Minute) || !dispatch.CutOff(seen.Links, links[2].Link, time.Minute) {
		t.Fatal("the story is another one")
	}
	if !seen.CutOffEndedAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("the clock of the first begins at %v", seen.CutOffEndedAt)
	}
}
