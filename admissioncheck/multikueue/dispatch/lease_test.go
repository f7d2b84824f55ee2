package dispatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUnderRunOnceNothingIsOfferedWhereAFenceWouldStopIt(t *testing.T) {
	won := `Won; bound w1; stops; nominated; Ready The workload was admitted on "w1"; event`
	runExplanationCases(t, runOnce(), []explanationCase{
		{"whose lease cannot be renewed is passed over", "", "quota", "w1 up lease-lapsed:no \n w2 up", "Nominated; nominated w2"},
		{"and loses the offer", "nominated w1 w2", "quota", "w1 up lease-lapsed:no copy@1 \n w2 up copy@1", "Nominated; nominated w2"},
		{"which is removed", "nominated w2", "quota", "w1 up lease-lapsed:no copy@1 \n w2 up copy@1", "Offered; Retract w1 below 2 sparing in the foreground"},
		{"also if it is admitted: the job would be stopped", "nominated w1", "quota", "w1 up lease-lapsed:no copy@1 stops admitted", "Nominated; nominated"},
		{"with no other the workload waits", "", "quota", "w1 up lease-lapsed:no", "NoCluster"},
		{"renewed, it is offered to again", "", "quota", "w1 up", "Nominated; nominated w1"},
		{"nothing new is offered before the first renewal", "", "quota", "w1 up lease-awaited \n w2 up", "Nominated; nominated w2"},
		{"nor sent", "nominated w1 w2", "quota", "w1 up lease-awaited \n w2 up", "Offered; CreateOffer w2@1 stops"},
		{"but what is there stays: after a restart no renewal is known", "nominated w1", "quota", "w1 up lease-awaited copy@1 stops", "Offered"},
		{"and may win", "nominated w1", "quota", "w1 up lease-awaited copy@1 stops admitted", won},
		{"a job that runs is left alone: its worker stops it if need be", "bound w1; stops", "quota Ready", "w1 up lease-lapsed:no copy@1 stops admitted job@1", "Running"},
		{"no job moves there", "bound w1; stops", "quota Ready", "w1 up draining copy@1 stops admitted job@1 \n w2 up lease-lapsed:no \n w3 up lease-awaited", "Running"},
	})
	runExplanationCases(t, Compatible(time.Minute), []explanationCase{
		{"no other policy cares", "", "quota", "w1 up lease-lapsed:no \n w2 up lease-awaited", "Nominated; nominated w1 w2"},
	})
}

func TestBestFitDoesNotWaitForAClusterWhoseLeaseIsNotRenewed(t *testing.T) {
	p := bestFit()
	p.OnHubLost = Stop
	runExplanationCases(t, p, []explanationCase{
		{"it is not the first choice", "", "quota", "w1 up fit@1 \n w2 up fit@9 lease-lapsed:no", "Nominated; nominated w1; round"},
		{"nor before its first renewal", "", "quota", "w1 up fit@1 \n w2 up fit@9 lease-awaited", "Nominated; nominated w1; round"},
		{"what it was to be offered goes to the next", "nominated w2; round 1s", "quota", "w1 up fit@1 \n w2 up fit@9 lease-awaited", "Nominated; nominated w1 w2; round"},
		{"unless there is none", "nominated w2; round 1s", "quota", "w1 up unfit:NoRoom \n w2 up fit@9 lease-awaited", "Offered"},
	})
}

func TestTheExplanationSaysThatTheLeaseIsNotRenewed(t *testing.T) {
	s, l := parseState(t, "nominated w3"), parseLocal(t, "quota")
	o := Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, "w1 up lease-lapsed:no-rights \n w2 up lease-awaited \n w3 up lease-awaited:slow")}
	want := []Explanation{
		{Cluster: "w1", Phase: ClusterNotEligible, Reason: NotLeased, Message: "its fence would stop the job, because the run lease there is not renewed: no-rights"},
		{Cluster: "w2", Phase: ClusterNotEligible, Reason: NotLeased, Message: "waits for its run lease to be renewed"},
		{Cluster: "w3", Phase: ClusterNotEligible, Reason: NotLeased, Message: "waits for its run lease to be renewed: slow"},
	}
	if diff := cmp.Diff(want, Explain(s, o, runOnce()).Clusters); diff != "" {
		t.Error(diff)
	}
}
