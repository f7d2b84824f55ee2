package dispatch

import (
	"testing"
	"time"
)

func TestTheIncrementalDispatcherNominatesInRounds(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.Dispatcher, p.StepSize, p.ExplainAfter = Incremental, 2, 0
	four := "w4 up \n w2 up \n w3 up \n w1 up"
	for _, c := range []struct{ name, state, clusters, want string }{
		{"the first of the config come first", "", four, "Nominated; nominated w2 w4; round"},
		{"they are given time", "nominated w2 w4; round 2m", "w4 up copy@1 \n w2 up copy@1 \n w3 up \n w1 up", "Offered; wake in 3m0s"},
		{
			"then the next follow, and nothing is withdrawn", "nominated w2 w4; round 5m", "w4 up copy@1 \n w2 up copy@1 \n w3 up \n w1 up",
			"Nominated; nominated w1 w2 w3 w4; round",
		},
		{"who has not been nominated is offered nothing", "nominated w2; round 1m", "w2 up \n w1 lost@1m", "Offered; CreateOffer w2@1"},
		{
			"when all are nominated there is nothing to wake for", "nominated w1 w2; round 1h", "w1 up copy@1 \n w2 up copy@1", "Offered",
		},
		{
			"an eviction there brings another at once", "nominated w2 w4; round 1m", "w4 up copy@1 evicted \n w2 up copy@1 \n w3 up \n w1 up",
			"Nominated; nominated w2 w3 w4; round",
		},
		{
			"so does a worker that says it never will admit it", "nominated w2 w4; round 1m", "w4 up copy@1 refused \n w2 up copy@1 \n w3 up \n w1 up",
			"Nominated; nominated w2 w3 w4; round",
		},
		{
			"so does a cluster that does not take it", "nominated w2 w4; round 1m", "w4 up trouble:namespace-missing \n w2 up copy@1 \n w3 up \n w1 up",
			"Nominated; nominated w2 w3 w4; round",
		},
		{
			"so does one that is lost", "nominated w2 w4; round 1m", "w4 lost@10s copy@1 \n w2 up copy@1 \n w3 up \n w1 up",
			"Nominated; nominated w2 w3 w4; round",
		},
		{
			"two refusals bring two", "nominated w2 w4; round 1m", "w4 lost@10s \n w2 up copy@1 foreign \n w3 up \n w1 up",
			"Nominated; nominated w1 w2 w3 w4; round",
		},
		{
			"a refusal in a later round is made up for by the others", "nominated w1 w2 w4; round 1m", "w4 up copy@1 evicted \n w2 up copy@1 \n w3 up \n w1 up copy@1",
			"Offered; wake in 4m0s",
		},
		{"a cluster out of reach is passed over", "", "w4 lost@1m \n w2 up \n w3 unknown \n w1 up", "Nominated; nominated w1 w2; round"},
		{"the last round is as large as it can be", "nominated w2 w4; round 5m", "w4 up copy@1 \n w2 up copy@1 \n w3 up", "Nominated; nominated w2 w3 w4; round"},
		{"a round whose start was lost begins anew", "nominated w2 w4", "w4 up copy@1 \n w2 up copy@1 \n w3 up", "Nominated; round"},
		{
			"a cluster taken out of the config is withdrawn from and made up for", "nominated w2 w4; round 1m",
			"w2 up copy@1 \n w3 up \n w4 unlisted up copy@1", "Nominated; nominated w2 w3; round",
		},
		{"the first to admit wins and ends the rounds", "nominated w2 w4; round 1m", "w4 up copy@1 admitted \n w2 up copy@1", `Won; bound w4; nominated; no round; Ready The workload was admitted on "w4"; event`},
		{"no cluster is there yet", "", "w1 lost@1m", "NoCluster"},
		{"what is seen of a lost record begins an epoch and its first round", "nominated w2; round 1m", "w1 up \n w2 up copy@3", "RecordLost; epoch 4 of r1; nominated w1 w2; round; owed w1@3 w2@3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := step(t, p, c.state, "quota", c.clusters); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTheIncrementalDispatcherMayGoByName(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.Dispatcher, p.StepSize, p.ByName = Incremental, 2, true
	if got, want := step(t, p, "", "quota", "w4 up \n w2 up \n w3 up"), "Nominated; nominated w2 w3; round"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheIncrementalDispatcherSaysWhenNoClusterIsLeft(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.Dispatcher = Incremental
	want := `Offered; Pending waiting for a cluster to admit the workload; no more workers to nominate (clusters: 1 refused); "w1" refused: cannot admit it: never fits`
	if got := step(t, p, "nominated w1; round 10m", "quota since=10m", "w1 up copy@1 refused"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestARetreatEndsTheRounds(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.Dispatcher = Incremental
	want := "LocalEvicted; epoch 2; nominated; no round"
	if got := step(t, p, "nominated w1; round 1m", "quota evicted evictions=1", "w1 up copy@1"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestANewReservationBeginsItsFirstRound(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.Dispatcher, p.StepSize = Incremental, 1
	want := "Opened; epoch 2 of r2; nominated w1; round"
	if got := step(t, p, "epoch 2; owed w1@1", "quota r2 evictions=1", "w1 up live@2 \n w2 up"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
