package dispatch

import "testing"

// Whose word counts: any user that may make a Job on a worker can write our public label on it.
func TestWhoseResultCounts(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"a job on a cluster that the state does not name ends nothing", "nominated w1", "quota", "w1 up copy@1 \n w2 up job@1 finished:Succeeded",
			"RecordLost; epoch 2 of r1; nominated w1 w2; owed w1@1 w2@1",
		}, {
			"nor while the workload waits for quota", "", "Pending", "w1 up job@0 finished:Succeeded unstamped",
			"NoQuota; Retract w1 below 2 sparing",
		}, {
			"and what was found not to count is not spared again", "", "Pending",
			"w1 up job@0 finished:Succeeded unstamped live@1 job@0 finished:Succeeded unstamped",
			"NoQuota; Retract w1 below 2",
		}, {
			"a copy that says so without a job ends nothing, and the cluster is asked first", "bound w1", "quota Ready",
			"w1 up copy@1 admitted finished:Succeeded unadopted",
			"Looking; LiveRead w1",
		}, {
			"asked, it is given up", "bound w1", "quota Ready",
			"w1 up copy@1 admitted finished:Succeeded unadopted live@1 copy@1 admitted finished:Succeeded unadopted",
			"RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists",
		}, {
			"a copy on a cluster that was merely offered it has to have a job that says so, too", "nominated w1", "quota",
			"w1 up copy@1 admitted finished:Succeeded live@1 copy@1 admitted finished:Succeeded",
			"Offered; wake in 4s",
		}, {
			"as after a restore of the hub", "nominated w1", "quota", "w1 up copy@1 admitted finished:Succeeded job@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"but not where the config does not list it", "nominated w1", "quota",
			"w1 up unlisted copy@1 finished:Succeeded job@1 finished:Succeeded",
			"RecordLost; epoch 2 of r1; nominated; owed w1@1",
		}, {
			"who owes may end it, listed or not", "epoch 2; owed w1@1", "quota evictions=1",
			"w1 up unlisted copy@1 finished:Succeeded job@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"a job without stamp ends it if the copy is its", "bound w1", "quota Ready",
			"w1 up copy@1 admitted adopted job@0 finished:Succeeded unstamped",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"and not before that is seen", "bound w1", "quota Ready", "w1 up copy@1 admitted job@0 finished:Succeeded unstamped",
			"Looking; LiveRead w1",
		}, {
			"nor if that is not so, as a copy of ours gets a job of ours", "bound w1", "quota Ready",
			"w1 up copy@1 admitted job@0 finished:Succeeded unstamped live@1 copy@1 admitted job@0 finished:Succeeded unstamped",
			`NameCollision; epoch 2; owed w1@1; Retry An object of the same name on worker cluster "w1" is not ours, resetting for re-dispatch, Previously: "Ready"; warning`,
		}, {
			"a stock hub's may be about to take up its copy", "bound w1", "quota Ready",
			"w1 up copy@0 unmarked admitted job@0 unstamped live@1 copy@0 unmarked admitted job@0 unstamped",
			"Looking",
		}, {
			"nor without a copy", "bound w1", "quota Ready",
			"w1 up job@0 finished:Succeeded unstamped live@1 job@0 finished:Succeeded unstamped",
			"ResultUnknown; Ready Result unknown: the job is gone from worker cluster \"w1\" and nobody saw how it ended; " +
				"delete the workload, or deactivate and reactivate it to run it again",
		}, {
			"a job that has taken the place of the one that the copy is of ends nothing", "bound w1", "quota Ready",
			"w1 up copy@1 admitted adopted job@1 another finished:Succeeded live@1 copy@1 admitted adopted job@1 another finished:Succeeded",
			"ResultUnknown; Ready Result unknown: the job is gone from worker cluster \"w1\" and nobody saw how it ended; " +
				"delete the workload, or deactivate and reactivate it to run it again",
		}, {
			"nor is its status shown", "bound w1", "quota Ready",
			"w1 up copy@1 admitted adopted job@1 another behind live@1 copy@1 admitted adopted job@1",
			"Looking",
		}, {
			"nor while the hub evicts", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1",
			"w1 up copy@1 admitted evicted adopted job@1 another behind",
			"Draining",
		}, {
			"a stamped job out of reach whose copy is behind has ended", "bound w1", "quota Ready", "w1 lost@1m copy@1 admitted job@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"an end that was reached before the retreat was stored is noted first", "", "Pending evictions=1", "w1 up copy@1 finished:Succeeded job@1 finished:Succeeded",
			"NoQuota; epoch 2; owed w1@1",
		}, {
			"also one that the informers do not show yet", "", "Pending evictions=1", "w1 up copy@1 adopted job@1 live@1 copy@1 adopted job@1 finished:Succeeded",
			"NoQuota; epoch 2; owed w1@1",
		}, {
			"also of a later epoch", "epoch 3 of r1", "Pending evictions=3", "w1 up copy@3 finished:Succeeded job@3 finished:Succeeded",
			"NoQuota; epoch 4; owed w1@3",
		},
	})
}

// What others have changed on a worker is still ours where it may run.
func TestWhatHasLostItsLabelMayStillRun(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"a debtor's job that bears our stamp is no cleared debt", "epoch 2 of r1; owed w1@1", "quota evictions=1", "w1 up live@2 job@1 relabelled \n w2 up",
			"Nominated; nominated w1 w2",
		}, {
			"it is removed while the others bid", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up live@2 job@1 relabelled \n w2 up copy@2 admitted",
			"Owed; Retract w1 below 2 sparing; wake in 4s",
		}, {
			"a debtor's job that bears our name is left alone and waited for", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up job@1 foreign live@2 job@1 foreign \n w2 up copy@2 admitted",
			"Owed; wake in 4s",
		}, {
			"until it has ended", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up job@1 foreign live@2 job@1 foreign finished:Succeeded \n w2 up copy@2 admitted",
			`Won; bound w2; nominated; owed; Ready The workload was admitted on "w2"; event`,
		}, {
			"one of the name that is of no hub is in no hub's way", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up job@1 foreign live@2 job@0 foreign unstamped unnamed \n w2 up copy@2 admitted",
			`Won; bound w2; nominated; owed; Ready The workload was admitted on "w2"; event`,
		}, {
			"a bound job that has lost its label runs on, though it was seen to go", "bound w1", "quota Ready",
			"w1 up copy@1 admitted adopted ended-unfinished live@1 copy@1 admitted adopted job@1 relabelled",
			"Looking",
		}, {
			"and its copy tells how it ends", "bound w1", "quota Ready",
			"w1 up copy@1 admitted finished:Succeeded live@1 copy@1 admitted adopted job@1 relabelled",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"what it says itself does not count", "bound w1", "quota Ready",
			"w1 up copy@1 admitted adopted live@1 copy@1 admitted adopted job@1 relabelled finished:Succeeded",
			"Looking",
		}, {
			"a copy that has lost its label has gone", "bound w1", "quota Ready", "w1 up job@1 live@1 copy@1 relabelled admitted adopted job@1",
			`RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists`,
		},
	})
}
