package dispatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryClusterIsExplainedWithItsPhaseReasonAndTime(t *testing.T) {
	p := RunOnce(5*time.Minute, 40*time.Second, 20*time.Second)
	p.Dispatcher = BestFit
	s, l := parseState(t, "epoch 2 of r1; nominated w1 w2 w3; owed w7@1 w8@1!"), parseLocal(t, "quota evictions=1")
	o := Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, `
		w1 up copy@2 quota
		w2 up trouble:namespace-missing
		w3 up
		w4 up cordoned
		w5 up unfit:NoRoom
		w6 lost@1m
		w7 up
		w8 lost@6m fenced@30s
		w9 lost@9m gone`)}
	ago := func(d time.Duration) time.Time { return testNow().Add(-d) }
	want := []Explanation{
		{Cluster: "w1", Phase: ClusterWaiting, Reason: WaitingForAdmission, Message: "has quota, waits for its admission checks"},
		{Cluster: "w2", Phase: ClusterRefused, Reason: Refused, Message: "does not take it: namespace-missing", Since: testNow()},
		{Cluster: "w3", Phase: ClusterOffered, Reason: Offered, Message: "being offered", Since: testNow()},
		{Cluster: "w4", Phase: ClusterNotEligible, Reason: Cordoned, Message: "is cordoned"},
		{Cluster: "w5", Phase: ClusterNotEligible, Reason: "NoRoom", Message: "no"},
		{Cluster: "w6", Phase: ClusterLost, Reason: NotReachable, Message: "cannot be reached", Since: ago(time.Minute)},
		{Cluster: "w7", Phase: ClusterLeaving, Reason: Retracting, Message: "what an earlier attempt left there is being removed"},
		{
			Cluster: "w8", Phase: ClusterLost, Reason: FenceWait, Since: ago(6 * time.Minute),
			Message: "cannot be reached, may still run an earlier attempt; its job must have been stopped there by 2026-01-01T12:00:30Z, and may run elsewhere then",
		},
		{Cluster: "w9", Phase: ClusterNotEligible, Reason: DeclaredGone, Message: "declared gone"},
	}
	if diff := cmp.Diff(want, Explain(s, o, p).Clusters); diff != "" {
		t.Error(diff)
	}
}

func TestTheSummaryIsOneLine(t *testing.T) {
	p := RunOnce(5*time.Minute, 40*time.Second, 20*time.Second)
	for _, c := range []struct{ name, state, local, clusters, want string }{
		{
			"waiting", "nominated w1 w2", "quota", "w1 up copy@1 \n w2 up copy@1 refused \n w3 lost@1m",
			`waiting for a cluster to admit the workload (clusters: 1 waiting, 1 refused, 1 lost); policy "run once"`,
		},
		{
			"running", "bound w1; stops", "quota Ready", "w1 up copy@1 stops admitted job@1 \n w2 up",
			`running on w1 (clusters: 1 admitted, 1 not eligible); policy "run once"`,
		},
		{
			"lost", "bound w1; stops", "quota Ready", "w1 lost@1m fenced@1m \n w2 up",
			`w1 cannot be reached; its job must have been stopped there by 2026-01-01T12:04:00Z, and may run elsewhere then ` +
				`(clusters: 1 lost, 1 not eligible); policy "run once" until 2026-01-01T12:04:00Z`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := parseLocal(t, c.local)
			got := Explain(parseState(t, c.state), Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, c.clusters)}, p).Summary
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}
