package dispatch

import (
	"testing"
	"time"
)

func bestFit() Policy {
	p := Compatible(15 * time.Minute)
	p.Dispatcher, p.HedgeAfter, p.ExplainAfter = BestFit, 10*time.Second, 0
	return p
}

func TestBestFitOffersToOneAndHedges(t *testing.T) {
	three := "w1 up fit@1 \n w2 up fit@9 \n w3 up fit@5"
	runExplanationCases(t, bestFit(), []explanationCase{
		{"the best alone", "", "quota", three, "Nominated; nominated w2; round"},
		{"equals go by name", "", "quota", "w3 up fit@5 \n w2 up fit@5 \n w1 up fit@1", "Nominated; nominated w2; round"},
		{"the score says whether preempting is better than waiting", "", "quota", "w1 up fit@1 \n w2 up fit@9 preempting", "Nominated; nominated w2; round"},
		{"who does not fit is offered nothing", "", "quota", "w1 up fit@1 \n w2 up fit@9 unfit:NoRoom", "Nominated; nominated w1; round"},
		{"no cluster fits", "", "quota", "w1 up unfit:NoRoom", "NoCluster"},
		{"it is given time", "nominated w2; round 4s", "quota", "w1 up fit@1 \n w2 up fit@9 copy@1 \n w3 up fit@5", "Offered; wake in 6s"},
		{"then the next best is offered it as well", "nominated w2; round 10s", "quota", "w1 up fit@1 \n w2 up fit@9 copy@1 \n w3 up fit@5", "Nominated; nominated w2 w3; round"},
		{"its time begins when it is sent the offer", "nominated w2; round 10s", "quota", "w1 up fit@1 \n w2 up fit@9 offered@4s copy@1", "Offered; wake in 6s"},
		{"which may take a while to get there", "nominated w2; round 20s", "quota", "w1 up fit@1 \n w2 up fit@9 offered@10s", "Nominated; nominated w1 w2; round"},
		{"not sent yet, it keeps its time", "nominated w2; round 10s", "quota", "w1 up fit@1 \n w2 up fit@9", "Offered; CreateOffer w2@1; wake in 10s"},
		{"nor is one that is still being cleaned up", "epoch 2 of r1; nominated w2; round 10s; owed w2@1", "quota evictions=1", "w1 up fit@1 \n w2 up fit@9 job@1", "Nominated; nominated w1 w2; round"},
		{"but one that refuses is not waited for", "nominated w2 w3; round 20s", "quota", "w1 up fit@1 \n w2 up fit@9 trouble:no \n w3 up offered@20s", "Nominated; nominated w1 w2 w3; round"},
		{"and given twice the time", "nominated w2 w3; round 10s", "quota", "w1 up fit@1 \n w2 up copy@1 \n w3 up copy@1", "Offered; wake in 10s"},
		{"before the third", "nominated w2 w3; round 20s", "quota", "w1 up fit@1 \n w2 up copy@1 \n w3 up copy@1", "Nominated; nominated w1 w2 w3; round"},
		{"a refusal brings the next at once", "nominated w2; round 1s", "quota", "w1 up fit@1 \n w2 up copy@1 refused \n w3 up fit@5", "Nominated; nominated w2 w3; round"},
		{"so does a loss", "nominated w2; round 1s", "quota", "w1 up fit@1 \n w2 lost@1s \n w3 up fit@5", "Nominated; nominated w2 w3; round"},
		{"so does an answer that is overdue", "nominated w2; round 1s", "quota", "w1 up fit@1 \n w2 up fit@9 offered@1s degraded \n w3 up fit@5", "Nominated; nominated w2 w3; round"},
		{"but not as long as everybody is as slow", "nominated w2; round 1s", "quota", "w1 up fit@1 degraded \n w2 up fit@9 offered@1s degraded", "Offered; CreateOffer w2@1; wake in 9s"},
		{"nor is it passed over when it is to be tried", "nominated w2; round 1s", "quota", "w1 up fit@1 \n w2 up fit@9 offered@1s on-trial", "Offered; CreateOffer w2@1; wake in 9s"},
		{"nor where the offer is there already", "nominated w2; round 1s", "quota", "w1 up fit@1 \n w2 up fit@9 copy@1 degraded", "Offered; wake in 9s"},
		{"with two offered a refusal of one waits for the other", "nominated w2 w3; round 1s", "quota", "w1 up fit@1 \n w2 up copy@1 refused \n w3 up copy@1", "Offered; wake in 19s"},
		{"an offer is kept where it does not fit any more: the worker decides", "nominated w2; round 1s", "quota", "w1 up fit@1 \n w2 up copy@1 unfit:NoRoom", "Offered; wake in 9s"},
		{"when everybody has it there is nothing to wake for", "nominated w1 w2; round 1h", "quota", "w1 up copy@1 \n w2 up copy@1", "Offered"},
		{"a cordon moves the offer at once", "nominated w2; round 1s", "quota", "w1 up fit@1 \n w2 up cordoned copy@1", "Nominated; nominated w1; round"},
		{"a new epoch begins with the best again", "nominated w3; round 1s", "quota", "w1 up copy@3 \n w2 up fit@9 \n w3 up", "RecordLost; epoch 4 of r1; nominated w2; round; owed w1@3 w2@3 w3@3"},
	})
}

func TestBestFitDoublesItsPatienceUpToTheRoundTimeout(t *testing.T) {
	p := bestFit()
	p.RoundTimeout = 25 * time.Second
	want := "Offered; wake in 24s"
	if got := step(t, p, "nominated w1 w2 w3; round 1s", "quota", "w1 up copy@1 \n w2 up copy@1 \n w3 up copy@1 \n w4 up"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBestFitWithoutAHedgeWaitsForARefusal(t *testing.T) {
	p := bestFit()
	p.HedgeAfter = 0
	if got, want := step(t, p, "nominated w1; round 9h", "quota", "w1 up copy@1 \n w2 up"), "Offered"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAHedgeComesRatherLateThanEarly(t *testing.T) {
	o := Observation{Now: testNow().Add(900 * time.Millisecond), Local: parseLocal(t, "quota"), Clusters: parseClusters(t, "w1 up \n w2 up")}
	plan := Step(State{Epoch: 1}, o, bestFit())
	if want := testNow().Add(time.Second); !plan.Next.Round.Equal(want) {
		t.Errorf("the round begins %v, want %v", plan.Next.Round, want)
	}
}

func TestCordonedClustersGetNothingNew(t *testing.T) {
	runExplanationCases(t, Compatible(15*time.Minute), []explanationCase{
		{"no nomination", "", "quota", "w1 up cordoned \n w2 up", "Nominated; nominated w2"},
		{"a pending offer is withdrawn", "nominated w1 w2", "quota", "w1 up cordoned copy@1 \n w2 up copy@1", "Nominated; nominated w2"},
		{"and removed", "nominated w2", "quota", "w1 up cordoned copy@1 \n w2 up copy@1", "Offered; Retract w1 below 2 sparing; wake in 4s"},
		{"one that is admitted already may win", "nominated w1 w2", "quota", "w1 up cordoned copy@1 admitted \n w2 up copy@1", `Won; bound w1; nominated; Ready The workload was admitted on "w1"; event`},
		{"what runs there keeps running", "bound w1", "quota Ready", "w1 up cordoned copy@1 admitted job@1 \n w2 up", "Running"},
		{"a cluster declared gone that can be reached gets nothing", "", "quota", "w1 up gone \n w2 up", "Nominated; nominated w2"},
	})
}

func TestADrainedClusterIsLeftIfAnotherOneCanTakeTheWorkload(t *testing.T) {
	moved := `Drained; epoch 2; owed w1@1; Retry Worker cluster "w1" is being drained, resetting for re-dispatch, Previously: "Ready"; event`
	runExplanationCases(t, Compatible(15*time.Minute), []explanationCase{
		{"the cluster is asked first", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 \n w2 up", "Looking; LiveRead w1"},
		{"again, if that was long ago", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 live@1 old copy@1 admitted job@1 \n w2 up", "Looking; LiveRead w1"},
		{"another cluster can", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 live@1 copy@1 admitted job@1 \n w2 up", moved},
		{"nobody can be reached", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 \n w2 lost@1m", `Running; Ready The workload was admitted on "w1"; it is to leave "w1", but no other cluster can take it; "w2" lost: cannot be reached`},
		{"the others are cordoned", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 \n w2 up cordoned", `Running; Ready The workload was admitted on "w1"; it is to leave "w1", but no other cluster can take it; "w2" not eligible: is cordoned`},
		{"the others are known to have no place", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 \n w2 up unfit:NoRoom", `Running; Ready The workload was admitted on "w1"; it is to leave "w1", but no other cluster can take it; "w2" not eligible: no`},
		{"a lost one is not drained", "bound w1", "quota Ready", "w1 lost@1m draining copy@1 admitted job@1 \n w2 up", "InGrace; wake in 14m0s"},
		{"a run that has ended is honoured", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 finished:Succeeded \n w2 up", "RunFinished; Finish w1 Succeeded"},
		{"nothing new goes there", "", "quota", "w1 up draining \n w2 up", "Nominated; nominated w2"},
	})
	runExplanationCases(t, bestFit(), []explanationCase{
		{"it would fit nowhere else", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 \n w2 up unfit:NoRoom", "Running"},
		{"it would fit elsewhere", "bound w1", "quota Ready", "w1 up draining copy@1 admitted job@1 live@1 copy@1 admitted job@1 \n w2 up fit@1", moved},
	})
}

func TestSiblingsStayTogether(t *testing.T) {
	runExplanationCases(t, Compatible(15*time.Minute), []explanationCase{
		{"only the sibling's cluster is nominated", "", "quota pin=w2", "w1 up \n w2 up", "Nominated; nominated w2"},
		{"what others were offered is withdrawn", "nominated w1 w2", "quota pin=w2", "w1 up copy@1 \n w2 up", "Nominated; nominated w2"},
		{"what others have admitted does not win", "nominated w1 w2", "quota pin=w2", "w1 up copy@1 admitted \n w2 up copy@1", "Nominated; nominated w2"},
		{"its cluster is out of reach", "", "quota pin=w2 since=1m", "w1 up \n w2 lost@1m",
			`NoCluster; Pending assigned worker cluster "w2" is not available (clusters: 1 lost, 1 not eligible); ` +
				`"w1" not eligible: the other workloads of the same owner are on "w2"; "w2" lost since 2026-01-01T11:59:00Z: cannot be reached`},
		{"until the first one has a cluster the others wait", "", "quota sibling", "w1 up", "SiblingWait; wake in 4s"},
		{"and say so after a while", "", "quota sibling since=1m", "w1 up",
			`SiblingWait; Pending waiting for the other workloads of the same owner (clusters: 1 not eligible); ` +
				`"w1" not eligible: the workload waits for the first of its owner's workloads`},
		{"also a cluster that was nominated before the first one came", "nominated w1", "quota sibling", "w1 up", "SiblingWait; nominated"},
		{"in rounds or not", "nominated w1; round 1s", "quota sibling", "w1 up copy@1", "SiblingWait; nominated; no round"},
		{"what it was offered is withdrawn", "", "quota sibling", "w1 up copy@1", "SiblingWait; Retract w1 below 2 sparing; wake in 4s"},
		{"though it was admitted", "nominated w1", "quota sibling", "w1 up copy@1 admitted", "SiblingWait; nominated"},
		{"siblings leave a drained cluster together", "bound w1", "quota Ready pin=w1", "w1 up draining copy@1 admitted job@1 \n w2 up", "Looking; LiveRead w1"},
		{"the others follow the first in any case", "bound w1", "quota Ready left", "w1 up draining copy@1 admitted job@1 \n w2 up unfit:NoRoom", "Looking; LiveRead w1"},
		{"if there is anybody to follow to", "bound w1", "quota Ready left", "w1 up draining copy@1 admitted job@1 \n w2 lost@1m", `Running; Ready The workload was admitted on "w1"; it is to leave "w1", but no other cluster can take it; "w2" lost: cannot be reached`},
		{"who is not the first leaves too", "bound w1", "quota Ready sibling", "w1 up draining copy@1 admitted job@1 \n w2 up", "Looking; LiveRead w1"},
		{"but not to where the siblings are not", "bound w1", "quota Ready pin=w3", "w1 up draining copy@1 admitted job@1 \n w2 up",
			`Running; Ready The workload was admitted on "w1"; it is to leave "w1", but no other cluster can take it; "w2" not eligible: the other workloads of the same owner are on "w3"`},
	})
}
