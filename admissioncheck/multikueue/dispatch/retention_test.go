package dispatch

import (
	"testing"
	"time"
)

// With a retention of an hour.
func TestWhatAFinishedWorkloadKeeps(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.RetainFinished = time.Hour
	const ended = "copy@1 admitted finished:Succeeded job@1 finished:Succeeded"
	runStepCasesUnder(t, p, []stepCase{
		{"the job stays on its cluster, and its copy", "bound w1", "finished=10m", "w1 up " + ended, "Retained; wake in 50m0s"},
		{"until the retention is over", "bound w1", "finished=60m", "w1 up " + ended, "Done; Retract w1 below 2"},
		{"what failed stays as well", "bound w1", "finished=10m", "w1 up copy@1 finished:Failed job@1 finished:Failed", "Retained; wake in 50m0s"},
		{"a finish that is not dated was long ago", "bound w1", "finished", "w1 up " + ended, "Done; Retract w1 below 2"},
		{"one that a clock has dated a little ahead is waited for", "bound w1", "finished=-20m", "w1 up " + ended, "Retained; wake in 1h20m0s"},
		{"one further ahead than the retention is not believed", "bound w1", "finished=-61m", "w1 up " + ended, "Done; Retract w1 below 2"},
		{
			"losers keep nothing", "bound w1", "finished=10m", "w1 up " + ended + " \n w2 up copy@1 \n w3 up " + ended,
			"Retained; Retract w2 below 2; Retract w3 below 2; wake in 50m0s",
		},
		{"nor does a job of an earlier epoch", "epoch 2; bound w1", "finished=10m", "w1 up " + ended, "Done; Retract w1 below 3"},
		{
			"nor one that its cluster was given up with", "epoch 2; bound w1; owed w1@1", "finished=10m", "w1 up " + ended,
			"Done; Retract w1 below 3",
		},
		{"nor one whose cluster is not on record", "", "finished=10m", "w1 up " + ended, "Done; Retract w1 below 2"},
		{"nor one of a later epoch than the record knows", "bound w1", "finished=10m", "w1 up copy@2 finished:Succeeded job@2 finished:Succeeded", "Done; Retract w1 below 3"},
		{"nothing is kept of a workload that is deleted", "bound w1", "deleted finished=10m", "w1 up " + ended, "Deleted; Retract w1 below 2"},
		{"nor on a cluster that is being drained", "bound w1", "finished=10m", "w1 up drained " + ended, "Done; Retract w1 below 2"},
		{"a cordon changes nothing", "bound w1", "finished=10m", "w1 up cordoned " + ended, "Retained; wake in 50m0s"},
		{"nor that the config does not list it any more", "bound w1", "finished=10m", "w1 up unlisted " + ended, "Retained; wake in 50m0s"},
		{"a cluster out of reach is asked for nothing, and waits for nothing", "bound w1", "finished=10m", "w1 lost@1m " + ended, "Done"},
		{"where nothing is left nothing is waited for", "bound w1", "finished=10m", "w1 up", "Done"},
		{"a job that its cluster has removed is over, and its copy stays", "bound w1", "finished=10m", "w1 up copy@1 finished:Succeeded was:Succeeded@1", "Retained; wake in 50m0s"},
		{"a copy that its cluster has removed leaves the job", "bound w1", "finished=10m", "w1 up job@1 finished:Succeeded", "Retained; wake in 50m0s"},
		{"a job that is on its way out is left to go", "bound w1", "finished=10m", "w1 up job@1 finished:Succeeded deleting", "Retained; wake in 50m0s"},
		{
			"a copy on its way out is helped, and the job stays", "bound w1", "finished=10m",
			"w1 up copy@1 finished:Succeeded deleting job@1 finished:Succeeded", "Retained; Retract w1 below 2 the copy only; wake in 50m0s",
		},
		{
			"a predecessor's job in its place goes", "bound w1", "finished=10m", "w1 up copy@1 finished:Succeeded job@1 predecessor finished:Succeeded",
			"Done; Retract w1 below 2",
		},
		{
			"the status of a job whose label is lost may stay with its copy", "bound w1", "finished=10m",
			"w1 up copy@1 finished:Succeeded live@1 copy@1 finished:Succeeded job@1 relabelled", "Retained; wake in 50m0s",
		},
	})
}

func TestAJobThatIsNotSeenToHaveEnded(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.RetainFinished = time.Hour
	runStepCasesUnder(t, p, []stepCase{
		{"is removed unless it has", "bound w1", "finished=1s", "w1 up copy@1 admitted job@1", "Retained; Retract w1 below 2 sparing; wake in 59m59s"},
		{
			"and stays if it has", "bound w1", "finished=1s", "w1 up copy@1 admitted job@1 live@1 copy@1 admitted job@1 finished:Succeeded",
			"Retained; wake in 59s",
		},
		{"and goes if it has not", "bound w1", "finished=1s", "w1 up copy@1 admitted job@1 live@1 copy@1 admitted job@1", "Done; Retract w1 below 2"},
		{
			"an older answer does not say that", "bound w1", "finished=1s", "w1 up copy@1 admitted job@1 live@1 old copy@1 admitted job@1",
			"Retained; Retract w1 below 2 sparing; wake in 59m59s",
		},
		{"a copy alone as well", "bound w1", "finished=1s", "w1 up copy@1 admitted adopted", "Retained; Retract w1 below 2 sparing; wake in 59m59s"},
		{
			"one out of sync is not the end of a run", "bound w1", "finished=1s", "w1 up copy@1 finished:OutOfSync job@1 live@1 copy@1 finished:OutOfSync job@1",
			"Done; Retract w1 below 2",
		},
		{
			"nor is another's that has taken the name", "bound w1", "finished=1s",
			"w1 up copy@1 admitted adopted job@1 another finished:Succeeded live@1 copy@1 admitted adopted job@1 another finished:Succeeded",
			"Done; Retract w1 below 2",
		},
	})
}

// A copy that has not finished holds quota of its cluster.
func TestACopyThatDoesNotFinish(t *testing.T) {
	p := Compatible(15 * time.Minute)
	p.RetainFinished = time.Hour
	runStepCasesUnder(t, p, []stepCase{
		{"has a minute", "bound w1", "finished=1s", "w1 up copy@1 admitted job@1 finished:Succeeded", "Retained; wake in 59s"},
		{"is read then", "bound w1", "finished=1m", "w1 up copy@1 admitted job@1 finished:Succeeded", "Retained; LiveRead w1; wake in 59m0s"},
		{
			"goes with its job if it has not finished", "bound w1", "finished=61s",
			"w1 up copy@1 admitted job@1 finished:Succeeded live@1 copy@1 admitted job@1 finished:Succeeded", "Done; Retract w1 below 2",
		},
		{
			"an answer of before does not say so", "bound w1", "finished=60500ms",
			"w1 up copy@1 admitted job@1 finished:Succeeded live@1 copy@1 admitted job@1 finished:Succeeded", "Retained; LiveRead w1; wake in 58m59.5s",
		},
		{
			"stays if it has and that is not seen yet", "bound w1", "finished=5m",
			"w1 up copy@1 admitted job@1 finished:Succeeded live@1 copy@1 finished:Succeeded job@1 finished:Succeeded", "Retained; wake in 55m0s",
		},
	})
}

func TestRetainedUntil(t *testing.T) {
	now := testNow()
	for _, c := range []struct {
		name       string
		retention  time.Duration
		finishedAt time.Time
		want       time.Time
	}{
		{"without a retention nothing stays", 0, now, time.Time{}},
		{"nor with one of less than that", -time.Hour, now, time.Time{}},
		{"from the end on", time.Hour, now.Add(-time.Minute), now.Add(59 * time.Minute)},
		{"to the instant", time.Hour, now.Add(-time.Hour), time.Time{}},
		{"not if it was never", time.Hour, time.Time{}, time.Time{}},
		{"at most twice as long", time.Hour, now.Add(time.Hour), now.Add(2 * time.Hour)},
		{"and not at all beyond", time.Hour, now.Add(time.Hour + 1), time.Time{}},
		{"nor in another age", time.Hour, now.AddDate(1000, 0, 0), time.Time{}},
		{"as long as a duration can be", 1<<63 - 1, now, now.Add(1<<63 - 1)},
	} {
		if got := (Policy{RetainFinished: c.retention}).RetainedUntil(c.finishedAt, now); !got.Equal(c.want) {
			t.Errorf("%s: until %v, want %v", c.name, got, c.want)
		}
	}
}
