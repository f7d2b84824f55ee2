package dispatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhatACopyWaitsForIsSaidByTheWorkersOwnReason(t *testing.T) {
	at := testNow().Add(-time.Hour)
	for _, c := range []struct {
		because, message string
		refused          bool
		reason           Reason
		want             string
	}{
		{"", "", false, WaitingForQuota, "waiting since 2026-01-01T11:00:00Z: waits for quota"},
		{"WaitingForQuota", "no room", false, WaitingForQuota, "waiting since 2026-01-01T11:00:00Z: waits for quota: no room (WaitingForQuota)"},
		{
			"WaitingForPreemptedWorkloads", "2 victims", false, WaitingForQuota,
			"waiting since 2026-01-01T11:00:00Z: waits for preempted workloads to stop: 2 victims (WaitingForPreemptedWorkloads)",
		},
		{
			"WaitingForPodsReady", "others start", false, WaitingThere,
			"waiting since 2026-01-01T11:00:00Z: waits for the pods of other workloads to be ready: others start (WaitingForPodsReady)",
		},
		{
			"TopologyPlacementFailed", "racks are full", false, WaitingThere,
			"waiting since 2026-01-01T11:00:00Z: waits for nodes that are close enough to each other: racks are full (TopologyPlacementFailed)",
		},
		{"PendingEvaluation", "", false, WaitingThere, "waiting since 2026-01-01T11:00:00Z: waits to be looked at (PendingEvaluation)"},
		{"AdmissionGated", "by x", false, WaitingThere, "waiting since 2026-01-01T11:00:00Z: waits for its admission gates: by x (AdmissionGated)"},
		{"OnHold", "", false, WaitingThere, "waiting since 2026-01-01T11:00:00Z: is on hold (OnHold)"},
		{"Pending", "in a word of old", false, WaitingThere, "waiting since 2026-01-01T11:00:00Z: waits: in a word of old (Pending)"},
		{"Misconfigured", "no such queue", true, Refused, "refused since 2026-01-01T11:00:00Z: cannot admit it: no such queue (Misconfigured)"},
	} {
		s, views := parseState(t, "nominated w1"), parseClusters(t, "w1 up copy@1")
		copied := &views[0].Copy
		copied.WaitingReason, copied.WaitingMessage, copied.Refused, copied.Since = c.because, c.message, c.refused, at
		got := Explain(s, Observation{Now: testNow(), Local: parseLocal(t, "quota"), Clusters: views}, Compatible(time.Minute)).Clusters[0]
		if got.Reason != c.reason || got.String() != c.want {
			t.Errorf("%q: %s\n got %s\nwant %s", c.because, got.Reason, got, c.want)
		}
	}
}

func TestSinceWhenIsSaidWhereItIsKnown(t *testing.T) {
	at := func(minutes int) time.Time { return testNow().Add(-time.Duration(minutes) * time.Minute) }
	views := parseClusters(t, `
		w1 up copy@1 foreign
		w2 up job@1 foreign
		w3 up copy@1 evicted
		w4 up trouble:namespace-missing
		w5 up unlisted trouble:unserved`)
	views[0].Copy.Since, views[1].Job.Since, views[2].Copy.EvictedAt = at(1), at(2), at(3)
	got := map[string]time.Time{}
	for _, e := range Explain(parseState(t, "nominated w3 w4; round 4m"), Observation{Now: testNow(), Local: parseLocal(t, "quota"), Clusters: views}, Compatible(time.Minute)).Clusters {
		got[e.Cluster] = e.Since
	}
	want := map[string]time.Time{"w1": at(1), "w2": at(2), "w3": at(3), "w4": at(4), "w5": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSinceWhenIsSaidOnceAClusterIsChosen(t *testing.T) {
	views := parseClusters(t, "w1 up copy@1 admitted@9m trouble:namespace-missing \n w2 up")
	since := testNow().Add(-9 * time.Minute)
	for _, e := range Explain(parseState(t, "bound w1"), Observation{Now: testNow(), Local: parseLocal(t, "quota Ready"), Clusters: views}, Compatible(time.Minute)).Clusters {
		if !e.Since.Equal(since) {
			t.Errorf("%s %s", e.Cluster, e)
		}
	}
}
