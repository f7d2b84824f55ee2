package dispatch

import "testing"

func TestCleaningUp(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"a deleted workload is removed from every cluster that can be reached", "bound w1", "deleted quota Ready",
			"w1 up copy@1 admitted job@1 \n w2 lost@1h copy@1 \n w3 up copy@1",
			"Deleted; Retract w1 below 2; Retract w3 below 2",
		}, {
			"a finished workload is removed too, whatever epoch its objects are of", "epoch 2 of r1; bound w1", "finished",
			"w1 up copy@2 finished:Succeeded job@2 finished:Succeeded \n w2 up copy@7",
			"Done; Retract w1 below 8; Retract w2 below 8",
		}, {
			"a job on its way out is left to go", "bound w1", "finished", "w1 up job@1 deleting",
			"Done",
		}, {
			"a foreign object is never touched", "bound w1", "deleted", "w1 up copy@1 foreign job@1 foreign",
			"Deleted",
		}, {
			"without quota everything goes, but no result that was not seen", "", "Pending", "w1 up copy@1",
			"NoQuota; Retract w1 below 2 sparing",
		}, {
			"a binding that outlived its quota is turned into a debt", "bound w1", "Pending", "w1 up copy@1",
			"NoQuota; epoch 2; bound; owed w1@1",
		}, {
			"a queued workload that holds nothing anywhere costs nothing", "", "Pending", "w1 up \n w2 up",
			"NoQuota",
		}, {
			"a predecessor's run on a cluster out of reach is noted before a restart can forget it", "", "Pending",
			"w1 lost@1m copy@1 predecessor admitted \n w2 up copy@1 predecessor admitted",
			"NoQuota; owed w1@0",
		}, {
			"a debt alone causes no read while the workload is queued", "epoch 2; owed w1@1", "Pending evictions=1", "w1 up",
			"NoQuota",
		},
	})
}

func TestRefusing(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"an owner of a kind without adapter is rejected", "", "quota NoAdapter v1, Kind=Foo", "w1 up",
			`NoAdapter; Rejected No multikueue adapter found for owner kind "v1, Kind=Foo", Previously: "Pending"`,
		}, {
			"a workload without an owner is rejected", "", "quota NoAdapter", "w1 up",
			`NoAdapter; Rejected No multikueue adapter found, Previously: "Pending"`,
		}, {
			"an owner that does not ask for it is rejected", "", "quota NotManaged Expecting spec.managedBy to be x", "w1 up",
			`NotManaged; Rejected The owner is not managed by Kueue: Expecting spec.managedBy to be x, Previously: "Pending"`,
		}, {
			"one that is bound already retreats in the same write", "bound w1", "quota Ready NotManaged no more", "w1 up copy@1 admitted",
			`NotManaged; epoch 2; owed w1@1; Rejected The owner is not managed by Kueue: no more, Previously: "Ready"`,
		}, {
			"rejected once is enough", "", "quota Rejected NoAdapter", "w1 up",
			"Draining",
		}, {
			"without quota nothing is refused yet", "", "NoAdapter", "w1 up",
			"NoQuota",
		},
	})
}

func TestARunThatHasEnded(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"the copy's word is recorded", "bound w1", "quota Ready", "w1 up copy@1 admitted finished:Failed job@1 finished:Succeeded",
			"RunFinished; Finish w1 Failed",
		}, {
			"the job's word is as good if the copy has not said it yet", "bound w1", "quota Ready", "w1 up copy@1 admitted job@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"a job that is gone again has ended nevertheless", "bound w1", "quota Ready", "w1 up was:Succeeded@1",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"the last status is read before it is copied", "bound w1", "quota Ready", "w1 up copy@1 finished:Succeeded job@1 behind",
			"RunFinished; LiveRead w1",
		}, {
			"and then it is", "bound w1", "quota Ready", "w1 up copy@1 finished:Succeeded job@1 live@1 copy@1 finished:Succeeded job@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"a result seen before the cluster was lost counts", "bound w1", "quota Ready", "w1 lost@5m copy@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"a result counts although the hub has just lost its quota", "epoch 2; owed w1@1", "evictions=1", "w1 up copy@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"a result of an earlier epoch counts while no cluster is bound", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up copy@1 finished:Succeeded job@1 finished:Succeeded \n w2 up copy@2",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"but not once another cluster is", "epoch 2 of r1; bound w2; owed w1@1", "quota Ready evictions=1",
			"w1 up copy@1 finished:Succeeded job@1 finished:Succeeded \n w2 up copy@2 admitted job@2",
			"Running; Retract w1 below 3",
		}, {
			"nor if the workload has been changed since", "epoch 2 of r1; nominated w1 w2; owed w1@1", "quota evictions=1",
			"w1 up copy@1 changed finished:Succeeded \n w2 up copy@2",
			"Offered; Retract w1 below 2; wake in 4s",
		}, {
			"a copy out of sync with its job is dispatched again, with a warning", "bound w1", "quota Ready",
			"w1 up copy@1 admitted finished:OutOfSync job@1 live@1 copy@1 finished:OutOfSync job@1",
			`RemoteOutOfSync; epoch 2; owed w1@1; Retry Remote workload on worker cluster "w1" is out of sync with its user job, ` +
				`resetting for re-dispatch, Previously: "Ready"; warning`,
		},
	})
}

func TestOffering(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"every connected cluster is nominated", "", "quota", "w2 up \n w1 up \n w3 lost@1m",
			"Nominated; nominated w1 w2",
		}, {
			"nothing is nominated before the other checks are ready", "", "quota waiting", "w1 up",
			"WaitingForChecks",
		}, {
			"a cluster with a foreign object of our name is skipped", "", "quota", "w1 up copy@0 foreign \n w2 up",
			"Nominated; nominated w2",
		}, {
			"a cluster outside the config is skipped", "", "quota", "w1 up unlisted \n w2 up",
			"Nominated; nominated w2",
		}, {
			"without any cluster the workload waits", "", "quota", "w1 lost@1m",
			"NoCluster; wake in 4s",
		}, {
			"nominated clusters get a copy each", "nominated w1 w2", "quota", "w1 up \n w2 up copy@1",
			"Offered; CreateOffer w1@1; wake in 4s",
		}, {
			"a nominated cluster that is lost is nominated no more", "nominated w1 w2", "quota", "w1 up copy@1 \n w2 lost@1m copy@1",
			"Nominated; nominated w1",
		}, {
			"a copy elsewhere goes", "nominated w1", "quota", "w1 up copy@1 \n w2 up unlisted copy@1",
			"Offered; Retract w2 below 2 sparing; wake in 4s",
		}, {
			"a copy whose priority is old is updated", "nominated w1", "quota", "w1 up copy@1 reprioritized",
			"Offered; UpdateOffer w1@1; wake in 4s",
		}, {
			"a copy of an older spec is made anew", "nominated w1", "quota", "w1 up copy@1 changed",
			"Offered; Retract w1 below 2; wake in 4s",
		}, {
			"what a predecessor of the same name left goes first", "nominated w1", "quota", "w1 up copy@1 predecessor",
			"Offered; Retract w1 below 1 sparing; wake in 4s",
		}, {
			"an offer that finished without running is left alone", "nominated w1 w2", "quota", "w1 up copy@1 finished:OutOfSync \n w2 up copy@1",
			"Offered; wake in 4s",
		}, {
			"after a while the check says why, cluster by cluster", "nominated w1 w2", "quota since=1m", "w1 up copy@1 \n w2 up copy@1 quota \n w3 lost@1h",
			`Offered; Pending waiting for a cluster to admit the workload (clusters: 2 waiting, 1 lost); "w1" waiting: waits for quota; ` +
				`"w2" waiting: has quota, waits for its admission checks; "w3" lost since 2026-01-01T11:00:00Z: cannot be reached`,
		}, {
			"and what a cluster does not take", "nominated w1 w2", "quota since=1m", "w1 up trouble:namespace-missing \n w2 up copy@1 quota",
			`Offered; Pending waiting for a cluster to admit the workload (clusters: 1 waiting, 1 refused); "w1" refused: does not take it: namespace-missing; ` +
				`"w2" waiting: has quota, waits for its admission checks`,
		}, {
			"nothing is offered or bound while the hub evicts", "nominated w1 w2", "quota evicted evictions=1", "w1 up copy@1 admitted \n w2 up",
			"LocalEvicted; epoch 2; nominated",
		}, {
			"and what was offered goes", "epoch 2", "quota evicted evictions=1", "w1 up copy@1 admitted \n w2 up",
			"Draining; Retract w1 below 2 sparing",
		},
	})
}

func TestWinning(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"the cluster that admitted first wins", "nominated w1 w2", "quota", "w1 up copy@1 admitted@5s \n w2 up copy@1 admitted@9s",
			`Won; bound w2; nominated; Ready The workload was admitted on "w2"; event`,
		}, {
			"equal times are broken by name", "nominated w1 w2", "quota", "w2 up copy@1 admitted \n w1 up copy@1 admitted",
			`Won; bound w1; nominated; Ready The workload was admitted on "w1"; event`,
		}, {
			"only a nominated cluster can win", "nominated w1", "quota", "w1 up copy@1 \n w2 up unlisted copy@1 admitted",
			"Offered; Retract w2 below 2 sparing; wake in 4s",
		}, {
			"a copy of another epoch cannot win", "epoch 2 of r1; nominated w1", "quota evictions=1", "w1 up copy@1 admitted",
			"Offered; Retract w1 below 2 sparing; wake in 4s",
		}, {
			"a copy being evicted cannot win", "nominated w1", "quota", "w1 up copy@1 admitted evicted",
			"Offered; wake in 4s",
		}, {
			"no cluster wins while a reachable cluster owes", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up unlisted \n w2 up copy@2 admitted",
			"Owed; LiveRead w1; wake in 4s",
		}, {
			"a debt is discharged by a live read, and the winner bound in the same write", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up unlisted live@2 \n w2 up copy@2 admitted",
			`Won; bound w2; nominated; owed; Ready The workload was admitted on "w2"; event`,
		}, {
			"a live read of an earlier epoch discharges nothing", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up unlisted live@1 \n w2 up copy@2 admitted",
			"Owed; LiveRead w1; wake in 4s",
		}, {
			"a live read that finds the old job has it removed", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 up unlisted live@2 job@1 \n w2 up copy@2 admitted",
			"Owed; Retract w1 below 2 sparing; wake in 4s",
		}, {
			"an unreachable debtor blocks until its grace is over", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1",
			"w1 lost@14m \n w2 up copy@2 admitted",
			"Owed; wake in 4s",
		}, {
			"and no longer", "epoch 2 of r1; nominated w2; owed w1@1", "quota evictions=1", "w1 lost@15m \n w2 up copy@2 admitted",
			`Won; bound w2; nominated; Ready The workload was admitted on "w2"; event`,
		}, {
			"an old job that is seen blocks although it was not recorded", "epoch 2 of r1; nominated w2", "quota evictions=1",
			"w1 up unlisted job@1 \n w2 up copy@2 admitted",
			"Owed; Retract w1 below 2 sparing; wake in 4s",
		}, {
			"nothing is offered to a debtor: its old job would take it up", "epoch 2 of r1; nominated w1 w2; owed w1@1", "quota evictions=1",
			"w1 up \n w2 up",
			"Offered; LiveRead w1; CreateOffer w2@2; wake in 4s",
		},
	})
}

func TestEpochs(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"a recorded retreat opens its epoch in the next reservation", "epoch 2; owed w1@1", "quota r2 evictions=1", "w1 up \n w2 up",
			"Opened; epoch 2 of r2; nominated w1 w2",
		}, {
			"an epoch of another reservation ended unrecorded: everybody is suspected", "epoch 2 of r1", "quota r2 evictions=2", "w1 up \n w2 up",
			"RecordLost; epoch 3 of r2; nominated w1 w2; owed w1@2 w2@2",
		}, {
			"so did the first epoch of a workload that was evicted", "", "quota r2 evictions=1", "w1 up \n w2 lost@1m",
			"RecordLost; epoch 2 of r2; nominated w1; owed w1@1 w2@1",
		}, {
			"a stamp from the future says that the record was lost", "nominated w1", "quota", "w1 up copy@4 \n w2 up",
			"RecordLost; epoch 5 of r1; nominated w1 w2; owed w1@4 w2@4",
		}, {
			"so does a job of this epoch although no cluster is bound", "nominated w1", "quota", "w1 up copy@1 job@1 \n w2 up",
			"RecordLost; epoch 2 of r1; nominated w1 w2; owed w1@1 w2@1",
		}, {
			"and a copy of this epoch on a debtor", "epoch 2 of r1; nominated w1; owed w1@1", "quota evictions=1", "w1 up copy@2",
			"RecordLost; epoch 3 of r1; owed w1@2",
		}, {
			"a record lost while bound is restored from the bound cluster's stamp", "bound w1", "quota Ready evictions=3", "w1 up copy@4 admitted job@4 \n w2 up",
			"RecordLost; epoch 4 of r1; owed w2@3",
		}, {
			"what another program with our origin began is taken over in the first epoch", "bound w1", "quota Ready", "w1 up copy@0 admitted adopted job@0",
			"Running",
		}, {
			"an eviction that the record does not know raises the epoch by it", "bound w1", "quota Ready evictions=4", "w1 lost@1h \n w2 up",
			`RemoteLost; epoch 6; owed w1@5 w2@5; Retry Admitting remote lost`,
		},
	})
}

func TestStarting(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"the losers' copies go before the job is created", "bound w1", "quota Ready", "w1 up copy@1 admitted \n w2 up copy@1 admitted \n w3 lost@1m copy@1",
			"Starting; Retract w2 below 2; CreateJob w1@1",
		}, {
			"a check that does not say so yet becomes Ready first", "bound w1", "quota", "w1 up copy@1 admitted",
			`Running; Ready The workload was admitted on "w1"; event`,
		}, {
			"a job that cannot be made is tried again, and after a while the check says why", "bound w1", "quota Ready since=1m", "w1 up copy@1 admitted trouble:webhook-says-no",
			`Starting; Ready The workload was admitted on "w1"; its job cannot be created there: webhook-says-no`,
		}, {
			"a copy that some job has adopted gets no second one", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted",
			"Looking; LiveRead w1",
		}, {
			"a debt found after all keeps the job from being created", "epoch 4 of r1; bound w1; owed w2@3", "quota Ready evictions=3", "w1 up copy@4 admitted \n w2 up",
			"Owed; LiveRead w2",
		}, {
			"an old job of ours on the winner goes first", "epoch 2 of r1; bound w1", "quota Ready evictions=1", "w1 up copy@2 admitted job@1",
			"Owed; Retract w1 below 2 sparing",
		}, {
			"a foreign job on the winner is looked at", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@0 foreign", "Looking; LiveRead w1",
		}, {
			"it may have taken the name of one of ours that has ended", "bound w1", "quota Ready",
			"w1 up copy@1 admitted adopted job@0 foreign live@1 copy@1 admitted adopted job@0 foreign another",
			`ResultUnknown; Ready Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; ` +
				`delete the workload, or deactivate and reactivate it to run it again`,
		}, {
			"or have been there before ours, and sends the workload elsewhere", "bound w1", "quota Ready",
			"w1 up copy@1 admitted job@0 foreign live@1 copy@1 admitted job@0 foreign",
			`NameCollision; epoch 2; owed w1@1; Retry An object of the same name on worker cluster "w1" is not ours, ` +
				`resetting for re-dispatch, Previously: "Ready"; warning`,
		}, {
			"a status that is behind is copied", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1 behind",
			"Running; CopyStatus w1",
		}, {
			"a changed priority reaches the running copy", "bound w1", "quota Ready", "w1 up copy@1 admitted reprioritized job@1",
			"Running; UpdateOffer w1@1",
		}, {
			"a record that is behind removes nothing: the job of a later epoch may be the one that counts", "bound w1", "quota Ready",
			"w1 up copy@1 admitted adopted job@1 \n w2 up copy@2 admitted adopted job@2 \n w3 up copy@1",
			"Running",
		}, {
			"and it starts nothing", "bound w1", "quota Ready", "w1 up copy@1 admitted \n w2 up copy@2 admitted adopted job@2",
			"Looking",
		}, {
			"at rest there is nothing to do", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1 \n w2 up",
			"Running",
		},
	})
}

func TestLosingABoundCluster(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"it keeps its job during the grace", "bound w1", "quota Ready", "w1 lost@5m copy@1 admitted job@1 \n w2 up",
			"InGrace; wake in 10m0s",
		}, {
			"then the job is dispatched again", "bound w1", "quota Ready", "w1 lost@15m copy@1 admitted job@1 \n w2 up",
			"RemoteLost; epoch 2; owed w1@1; Retry Admitting remote lost",
		}, {
			"a cluster never tried yet is not lost", "bound w1", "quota Ready", "w1 unknown \n w2 up",
			"InGrace",
		}, {
			"when all vanish together the hub is cut off and waits", "bound w1", "quota Ready", "w1 lost@5h \n w2 lost@5h",
			"CutOffHub",
		}, {
			"the only cluster there is, is given up like any other", "bound w1", "quota Ready", "w1 lost@15m",
			"RemoteLost; epoch 2; owed w1@1; Retry Admitting remote lost",
		}, {
			"a cluster out of the config and out of reach keeps its grace", "bound w1", "quota Ready", "w1 unlisted lost@5m \n w2 up",
			"InGrace; wake in 10m0s",
		}, {
			"the losers' copies go meanwhile", "bound w1", "quota", "w1 lost@5m \n w2 up copy@1",
			"InGrace; Retract w2 below 2; wake in 10m0s",
		},
	})
}

func TestTroubleOnABoundCluster(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"an eviction there is confirmed first", "bound w1", "quota Ready", "w1 up copy@1 evicted job@1",
			"Looking; LiveRead w1",
		}, {
			"and then the workload is dispatched again", "bound w1", "quota Ready", "w1 up copy@1 evicted job@1 live@1 copy@1 evicted job@1",
			`RemoteEvicted; epoch 2; owed w1@1; Retry Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Ready"; event`,
		}, {
			"also if its job was seen to go unfinished", "bound w1", "quota Ready", "w1 up copy@1 evicted adopted ended-unfinished live@1 copy@1 evicted adopted",
			`RemoteEvicted; epoch 2; owed w1@1; Retry Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Ready"; event`,
		}, {
			"but not on an answer of a minute ago", "bound w1", "quota Ready", "w1 up copy@1 evicted job@1 live@1 old copy@1 evicted job@1",
			"Looking; LiveRead w1",
		}, {
			"unless it is over", "bound w1", "quota Ready", "w1 up copy@1 evicted job@1 live@1 copy@1 admitted adopted job@1",
			"Looking",
		}, {
			"a copy that the cache does not show is looked for", "bound w1", "quota Ready", "w1 up job@1",
			"Looking; LiveRead w1",
		}, {
			"a copy removed while its job is there means Retry", "bound w1", "quota Ready", "w1 up job@1 live@1 job@1",
			"RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists",
		}, {
			"copy and job gone unseen means that the result is unknown", "bound w1", "quota Ready", "w1 up live@1",
			`ResultUnknown; Ready Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; ` +
				`delete the workload, or deactivate and reactivate it to run it again`,
		}, {
			"also before the check was Ready: the job may have been created", "bound w1", "quota", "w1 up live@1",
			`ResultUnknown; Pending Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; ` +
				`delete the workload, or deactivate and reactivate it to run it again`,
		}, {
			"seen to go unfinished, it is dispatched again", "bound w1", "quota Ready", "w1 up ended-unfinished live@1",
			"RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists",
		}, {
			"a job missing under an admitted copy is not made again", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted live@1 copy@1 admitted adopted",
			`ResultUnknown; Ready Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; ` +
				`delete the workload, or deactivate and reactivate it to run it again`,
		}, {
			"a copy not admitted any more means Retry", "bound w1", "quota Ready", "w1 up copy@1 job@1 live@1 copy@1 job@1",
			"RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists",
		}, {
			"so does one of an older spec", "bound w1", "quota Ready", "w1 up copy@1 admitted changed job@1 live@1 copy@1 admitted changed job@1",
			"RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists",
		}, {
			"and one in a cluster taken out of the config", "bound w1", "quota Ready", "w1 up unlisted copy@1 admitted job@1 live@1 copy@1 admitted job@1",
			"RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists",
		}, {
			"Ready without a binding means Retry, and suspicion of everybody", "", "quota Ready", "w1 up \n w2 up",
			"NoRecord; epoch 2; owed w1@1 w2@1; Retry Admission check is Ready but no admitting cluster is recorded; " +
				"this is unexpected, please report it",
		},
	})
}

func TestRetreating(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"an eviction by the hub is recorded before the worker is told", "bound w1", "quota Ready evicted evictions=1", "w1 up copy@1 admitted job@1",
			"LocalEvicted; epoch 2; owed w1@1",
		}, {
			"then the worker is told", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active", "w1 up copy@1 admitted job@1 behind",
			"Draining; EvictRemote w1 Evicted on manager: preempted; CopyStatus w1",
		}, {
			"once", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active", "w1 up copy@1 admitted deactivating job@1",
			"Draining",
		}, {
			"the worker is not told before the core evicts", "epoch 2; bound w1; owed w1@1", "quota Retry active", "w1 up copy@1 admitted job@1",
			"Draining",
		}, {
			"other clusters lose their copies at once", "epoch 2; bound w1; owed w1@1", "quota Retry", "w1 up copy@1 evicted job@1 \n w2 up copy@1",
			"Draining; Retract w2 below 2 sparing",
		}, {
			"a job that no cluster can report on is looked for", "epoch 2; bound w1; owed w1@1", "quota Retry evicted evictions=1 active", "w1 up",
			"Draining; LiveRead w1",
		}, {
			"and then the hub's job is drained", "epoch 2; bound w1; owed w1@1", "quota Retry evicted evictions=1 active", "w1 up live@2",
			"Draining; DrainStatus",
		}, {
			"the last status of a job that may show pods when it has none is copied", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active stale",
			"w1 up copy@1 evicted job@1 behind",
			"Draining; CopyStatus w1",
		}, {
			"and the hub's job drained if that still says active", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active stale",
			"w1 up copy@1 evicted job@1",
			"Draining; DrainStatus",
		}, {
			"which differs from the worker's, and is left so", "epoch 2; bound w1; owed w1@1", "quota Retry evicted evictions=1 stale", "w1 up copy@1 evicted job@1 behind",
			"Draining",
		}, {
			"a job that keeps its quota may still report", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active stale", "w1 up copy@1 quota evicted job@1",
			"Draining",
		}, {
			"a job whose status tells of its pods does", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active",
			"w1 up copy@1 evicted job@1",
			"Draining",
		}, {
			"nothing tells any more that a job without its copy has stopped", "epoch 2; bound w1; owed w1@1", "quota Retry evicted evictions=1 active stale",
			"w1 up job@1",
			"Draining; Retract w1 below 2 sparing in the foreground",
		}, {
			"but its status does, if it tells of its pods", "epoch 2; bound w1; owed w1@1", "quota Retry evicted evictions=1 active", "w1 up job@1",
			"Draining",
		}, {
			"until it has told the last", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1", "w1 up copy@1 evicted job@1 behind",
			"Draining; CopyStatus w1",
		}, {
			"of a lost cluster, when its grace is over", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active", "w1 lost@5m",
			"Draining; wake in 10m0s",
		}, {
			"and not before", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active", "w1 lost@15m",
			"Draining; DrainStatus",
		}, {
			"Retry without a recorded retreat is completed", "bound w1", "quota Retry", "w1 up copy@1 admitted job@1",
			"RecordLost; epoch 2; owed w1@1",
		}, {
			"so is a retreat without Retry", "epoch 2; bound w1; owed w1@1", "quota Ready", "w1 up copy@1 admitted job@1",
			"RemoteGone; Retry Admitting remote no longer exists",
		}, {
			"a rejected workload waits for the core", "bound w1", "quota Rejected", "w1 up copy@1 admitted job@1",
			"Draining",
		},
	})
}

func TestACheckThatWasDropped(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"a run goes on", "bound w1", "quota dropped", "w1 up copy@1 admitted job@1 behind",
			"Running; CopyStatus w1",
		}, {
			"a job that was not made yet is made", "bound w1", "quota dropped", "w1 up copy@1 admitted",
			"Starting; CreateJob w1@1",
		}, {
			"its end is recorded", "bound w1", "quota dropped", "w1 up copy@1 admitted job@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"an eviction by the hub stops it", "bound w1", "quota dropped evicted", "w1 up copy@1 admitted job@1",
			"LocalEvicted; epoch 2; owed w1@1",
		}, {
			"and goes on as any other", "epoch 2; bound w1; owed w1@1", "quota dropped evicted evictions=1", "w1 up copy@1 admitted job@1",
			"Draining; EvictRemote w1 Evicted on manager: preempted",
		}, {
			"the hub could not be told to evict it, so that it is not given up", "bound w1", "quota dropped",
			"w1 up copy@1 admitted evicted job@1 live@1 copy@1 admitted evicted job@1 \n w2 up copy@1",
			"RemoteEvicted; Retract w2 below 2",
		}, {
			"nor because it was lost", "bound w1", "quota dropped", "w1 lost@1h", "RemoteLost",
		}, {
			"nor refused", "bound w1", "quota dropped NotManaged no more", "w1 up copy@1 admitted job@1", "NotManaged",
		}, {
			"debts are settled", "epoch 2 of r1; owed w1@1", "quota dropped evictions=1", "w1 up unlisted live@2", "Settled; owed",
		},
	})
}

func TestTheHubHasItsQuotaBackWhenTheClusterHasStoppedTheJob(t *testing.T) {
	given := "epoch 2; bound w1; owed w1@1"
	local := "quota evicted awaited evictions=1"
	runStepCases(t, []stepCase{
		{
			"not before it was told", given, local, "w1 up copy@1 admitted adopted job@1",
			"Draining; EvictRemote w1 Evicted on manager: preempted",
		}, {
			"nor before it has stopped the pods", given, local, "w1 up copy@1 admitted evicted deactivating adopted job@1", "Draining",
		}, {
			"then the binding goes, and the debt stays", given, local, "w1 up copy@1 evicted deactivating adopted job@1",
			"LocalEvicted; bound",
		}, {
			"the hub's job tells of pods until the last status is copied", given, local + " active", "w1 up copy@1 evicted deactivating adopted job@1 behind",
			"Draining; CopyStatus w1",
		}, {
			"a copy without a job has no pods to stop", given, local, "w1 up copy@1 admitted evicted deactivating", "LocalEvicted; bound",
		}, {
			"before it is evicted there a job may still adopt it", given, local, "w1 up copy@1 admitted deactivating", "Draining",
		}, {
			"a job that is not seen is looked for", given, local, "w1 up copy@1 admitted evicted deactivating adopted", "Draining; LiveRead w1",
		}, {
			"and if there is none it has ended", given, local, "w1 up copy@1 admitted evicted deactivating adopted live@2 copy@1 admitted evicted adopted",
			"LocalEvicted; bound",
		}, {
			"so has one that is gone with its copy", given, local, "w1 up live@2", "LocalEvicted; bound",
		}, {
			"absence in a cache is not evidence", given, local, "w1 up", "Draining; LiveRead w1",
		}, {
			"a cluster out of reach has its grace", given, local, "w1 lost@5m copy@1 admitted adopted job@1", "Draining; wake in 10m0s",
		}, {
			"and no more than that", given, local, "w1 lost@15m copy@1 admitted adopted job@1", "LocalEvicted; bound",
		}, {
			"nothing waits after an eviction for the check's sake", given, "quota evicted evictions=1", "w1 up copy@1 evicted deactivating adopted job@1", "Draining",
		}, {
			"what is left is removed afterwards", "epoch 2; owed w1@1", local, "w1 up copy@1 evicted deactivating adopted job@1",
			"Draining; Retract w1 below 2 sparing",
		},
	})
}
