package dispatch

import "testing"

func TestASliceTakesOverTheRecordOfTheOneBefore(t *testing.T) {
	runStepCases(t, []stepCase{
		{"where the job runs, which the scheduler has told", "bound w1", "quota slice=bound_w1", "w1 up job@1 of-slice",
			"Offered; CreateOffer w1@1"},
		{"and which it has not", "", "quota slice=bound_w1", "w1 up job@1 of-slice \n w2 up", "TakenOver; bound w1"},
		{"its epoch, and what is owed", "bound w1", "quota slice=epoch_3;_bound_w1;_stops;_owed_w2@2", "w1 up job@3 of-slice \n w2 lost@1m",
			"TakenOver; epoch 3 of r1; stops; owed w2@2"},
		{"once", "epoch 3 of r1; bound w1", "quota slice=epoch_3;_bound_w1;_owed_w2@2", "w1 up job@3 of-slice",
			"Offered; CreateOffer w1@3"},
		{"not again after it was given up itself", "epoch 4; bound w1; owed w1@3", "quota Retry evictions=1 slice=epoch_3;_bound_w1", "w1 up job@3 of-slice",
			"Draining"},
		{"that of one that was being given up is given up too", "", "quota slice=epoch_3;_bound_w1;_owed_w1@2", "w1 up job@2 of-slice",
			"TakenOver; epoch 3 of r1; bound w1; owed w1@2"},
		{"and so is it then", "epoch 3 of r1; bound w1; owed w1@2", "quota slice=epoch_3;_bound_w1;_owed_w1@2", "w1 up job@2 of-slice",
			"RemoteGone; Retry Admitting remote no longer exists"},
		{"but for how the job stops, which the copy may know better", "bound w1; stops", "quota Ready slice=bound_w1", "w1 up copy@1 adopted admitted stops job@1 of-slice",
			"Running; ResizeJob w1"},
		{"also where it is evicted before that", "bound w1", "quota evicted evictions=1 slice=epoch_3;_bound_w1;_owed_w2@2", "w1 up job@3 of-slice",
			"TakenOver; epoch 3 of r1; owed w2@2"},
		{"also where that has ended", "", "evictions=1 slice=epoch_3;_bound_w1;_owed_w2@2", "w1 up job@3 of-slice", "TakenOver; epoch 3; bound w1; owed w2@2"},
		{"where it has run since and nothing is known of that, all are suspected", "", "quota evictions=1 slice=epoch_3;_bound_w1;_owed_w2@2", "w1 up job@3 of-slice \n w2 up \n w3 up",
			"TakenOver; epoch 4 of r1; owed w1@3 w2@2 w3@3"},
		{"if that was dropped, all are suspected", "", "quota slice=epoch_1 earlier-evictions=1", "w1 up \n w2 up",
			"RecordLost; epoch 2 of r1; nominated w1 w2; owed w1@1 w2@1"},
		{"if the clusters are all that is left of it, too", "bound w1", "quota slice=bound_w1 earlier-evictions=2", "w1 up job@3 of-slice \n w2 up", "RecordLost; epoch 3 of r1; owed w2@2"},
		{"one that ran nowhere is offered everywhere", "", "quota slice=epoch_1", "w1 up \n w2 up", "Nominated; nominated w1 w2"},
	})
}

func TestASliceTakesOverWhereTheJobRuns(t *testing.T) {
	const state, local = "epoch 2 of r1; bound w1", "quota slice=epoch_2;_bound_w1"
	runStepCases(t, []stepCase{
		{"it is offered there only, and what others hold is removed", state, local, "w1 up job@2 of-slice \n w2 up copy@2",
			"Offered; Retract w2 below 3; CreateOffer w1@2"},
		{"its copy stops as the job does that it takes over, whatever the policy says now", "epoch 2 of r1; bound w1; stops", "quota slice=epoch_2;_bound_w1;_stops", "w1 up job@2 of-slice",
			"Offered; CreateOffer w1@2 stops"},
		{"not while one before it waits there, which removes its copy", state, local, "w1 up job@2 of-slice replaced:waiting", "Offered"},
		{"nor while the job is there and not seen, which may be too large", state, local, "w1 up copy@2 larger replaced:adopted live@2 copy@2 job@2 of-slice", "Looking"},
		{"while it waits, the status is copied", state, local, "w1 up copy@2 job@2 of-slice behind", "Offered; CopyStatus w1"},
		{"the copy follows the priority, also while the job is not seen", state, local, "w1 up copy@2 reprioritized replaced:adopted live@2 copy@2 job@2 of-slice",
			"Looking; UpdateOffer w1@2"},
		{"the copy follows the hub's", state, local, "w1 up copy@2 larger job@2 of-slice", "Offered; UpdateOffer w1@2"},
		{"a job that runs more pods than it is for is made smaller first", state, local, "w1 up copy@2 larger job@2 of-slice above", "Offered; ResizeJob w1 smaller"},
		{"before it is offered", state, local, "w1 up job@2 of-slice above", "Offered; ResizeJob w1 smaller"},
		{"the job is left alone until the cluster has admitted it", state, local, "w1 up copy@2 adopted quota job@2 of-slice", "Offered"},
		{"the cluster has", state, local, "w1 up copy@2 adopted admitted job@2 of-slice",
			`Won; Ready The workload was admitted on "w1"; event`},
		{"then the job becomes its own, in one write", state, "quota Ready slice=epoch_2;_bound_w1", "w1 up copy@2 adopted admitted job@2 of-slice",
			"Running; ResizeJob w1"},
		{"and runs on", state, "quota Ready slice=epoch_2;_bound_w1", "w1 up copy@2 adopted admitted job@2", "Running"},
		{"the job ends before that", state, local, "w1 up copy@2 job@2 of-slice finished:Succeeded", "RunFinished; Finish w1 Succeeded"},
		{"its own copy is out of sync, and the job ends by that before", state, local, "w1 up copy@2 adopted finished:OutOfSync job@2 of-slice finished:Succeeded", "RunFinished; Finish w1 Succeeded"},
		{"another check is not ready", state, "quota waiting slice=epoch_2;_bound_w1", "w1 up job@2 of-slice", "Offered"},
		{"the cluster is cordoned", state, local, "w1 up cordoned job@2 of-slice", "Offered"},
		{"the cluster is drained", state, local, "w1 up draining job@2 of-slice \n w2 up", "Looking; LiveRead w1"},
		{"and has been read", state, local, "w1 up draining job@2 of-slice live@2 job@2 of-slice \n w2 up",
			`Drained; epoch 3; owed w1@2; Retry Worker cluster "w1" is being drained, resetting for re-dispatch, Previously: "Pending"; event`},
		{"the cluster is lost", state, local, "w1 lost@1m job@2 of-slice", "InGrace; wake in 14m0s"},
		{"for too long", state, local, "w1 lost@16m job@2 of-slice", "RemoteLost; epoch 3; owed w1@2; Retry Admitting remote lost"},
		{"the copy is deactivated there", state, local, "w1 up copy@2 deactivating job@2 of-slice live@2 copy@2 deactivating job@2 of-slice",
			`RemoteEvicted; epoch 3; owed w1@2; Retry Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Pending"; event`},
		{"the copy is evicted there, and waits on", state, local, "w1 up copy@2 evicted job@2 of-slice", "Offered"},
		{"the job is not seen", state, local, "w1 up copy@2 replaced:adopted", "Looking; LiveRead w1"},
		{"and is gone", state, local, "w1 up copy@2 replaced:adopted live@2 copy@2",
			`ResultUnknown; Pending Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; delete the workload, or deactivate and reactivate it to run it again`},
		{"and is still in the cache", state, local, "w1 up draining copy@2 job@2 of-slice live@2 copy@2 \n w2 up",
			`ResultUnknown; Pending Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; delete the workload, or deactivate and reactivate it to run it again`},
		{"and another has its name", state, local, "w1 up copy@2 admitted job@0 unstamped live@2 copy@2 admitted job@0 unstamped",
			`ResultUnknown; Pending Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; delete the workload, or deactivate and reactivate it to run it again`},
		{"and was seen to go unfinished", state, local, "w1 up copy@2 ended-unfinished live@2 copy@2",
			"RemoteGone; epoch 3; owed w1@2; Retry Admitting remote no longer exists"},
		{"the cluster has admitted it, and the job is gone", state, local, "w1 up copy@2 admitted", "Looking; LiveRead w1"},
		{"it seems that it was never made", state, local, "w1 up replaced:unadopted", "Looking; LiveRead w1"},
		{"it was made a moment ago, and may be larger", state, local, "w1 up replaced:unadopted live@2 job@2 of-slice above", "Looking"},
		{"it was never made", state, local, "w1 up replaced:unadopted live@2", "Offered; CreateOffer w1@2"},
		{"it was never made, and is now", state, "quota Ready slice=epoch_2;_bound_w1", "w1 up copy@2 admitted replaced:unadopted live@2 copy@2 admitted", "Starting; CreateJob w1@2"},
		{"nothing tells that it was not made", state, "quota Ready slice=epoch_2;_bound_w1", "w1 up copy@2 admitted", "Looking; LiveRead w1"},
		{"and it is not there", state, "quota Ready slice=epoch_2;_bound_w1", "w1 up copy@2 admitted live@2 copy@2 admitted",
			`ResultUnknown; Ready Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; delete the workload, or deactivate and reactivate it to run it again`},
		{"it has been evicted since, and runs anew", "epoch 3 of r1; bound w1", "quota Ready evictions=1 slice=epoch_2;_bound_w1", "w1 up copy@3 admitted", "Starting; CreateJob w1@3"},
	})
}

func TestASliceIsGivenUpWithTheJobThatItHasTakenOver(t *testing.T) {
	runStepCases(t, []stepCase{
		{"the hub evicts it", "bound w1", "quota evicted awaited evictions=1 slice=bound_w1", "w1 up copy@1 job@1 of-slice", "LocalEvicted; epoch 2; owed w1@1"},
		{"the job is removed, which no copy of its own would stop", "epoch 2; bound w1; owed w1@1", "quota evicted awaited evictions=1 slice=bound_w1",
			"w1 up copy@1 job@1 of-slice", "Draining; Retract w1 below 2 sparing in the foreground"},
		{"though its own copy is out of sync, the end of the job may not have been seen", "epoch 2; owed w1@1", "evictions=1 slice",
			"w1 up copy@1 finished:OutOfSync job@1 of-slice", "NoQuota; Retract w1 below 3 sparing"},
		{"its quota is gone", "epoch 2; owed w1@1", "evictions=1 slice", "w1 up copy@1 job@1 of-slice", "NoQuota; Retract w1 below 3 sparing"},
		{"it is deleted", "bound w1", "deleted slice=bound_w1", "w1 up copy@1 job@1 of-slice", "Deleted; Retract w1 below 2"},
		{"it has finished", "bound w1", "quota finished slice=bound_w1", "w1 up copy@1 job@1 of-slice", "Done; Retract w1 below 2"},
	})
}

func TestASliceWhoseJobIsAnothersLeavesItAlone(t *testing.T) {
	runStepCases(t, []stepCase{
		{"it has been replaced, and the job runs by its copy", "bound w1", "quota finished passive=w1", "w1 up copy@1 admitted adopted job@1", "SlicePassive"},
		{"the next one has been admitted", "bound w1", "quota finished passive", "w1 up copy@1 admitted adopted finished:WorkloadSliceReplaced job@1",
			"SlicePassive; Retract w1 below 2 the copy only"},
		{"the job runs by its copy still", "bound w1", "quota finished passive", "w1 up copy@1 admitted adopted job@1", "SlicePassive"},
		{"the job names the next one", "bound w1", "quota finished passive", "w1 up copy@1 admitted adopted job@1 of-slice", "SlicePassive; Retract w1 below 2 the copy only"},
		{"the job is not seen, so that it may run by the copy", "bound w1", "quota finished passive", "w1 up copy@1 admitted adopted", "SlicePassive; LiveRead w1"},
		{"and does", "bound w1", "quota finished passive", "w1 up copy@1 admitted adopted live@1 copy@1 admitted adopted job@1", "SlicePassive"},
		{"and does not", "bound w1", "quota finished passive", "w1 up copy@1 admitted adopted live@1 copy@1 admitted adopted job@1 of-slice",
			"SlicePassive; Retract w1 below 2 the copy only"},
		{"its copy waits where the next one is to be offered", "bound w1", "quota finished passive=w1", "w1 up copy@1 adopted job@1 unnamed",
			"SlicePassive; Retract w1 below 2 the copy only"},
		{"its offers to others are withdrawn", "nominated w1 w2", "quota passive", "w1 up copy@1 \n w2 up copy@1",
			"SlicePassive; Retract w1 below 2 the copy only; Retract w2 below 2 the copy only"},
		{"one that waits to take over has nothing", "", "passive", "w1 up job@1 unnamed \n w2 up", "SlicePassive"},
		{"it is deleted meanwhile", "", "deleted passive", "w1 up job@1 unnamed", "SlicePassive"},
		{"it says nothing of how the run ended", "bound w1", "quota passive", "w1 up copy@1 adopted finished:Succeeded job@1 finished:Succeeded", "SlicePassive; Retract w1 below 2 the copy only"},
	})
}

func TestASliceThatWasReplacedOnAWorkerAloneHasNotFinished(t *testing.T) {
	runStepCases(t, []stepCase{
		{"by something that a user has made there", "bound w1", "quota Ready slice", "w1 up copy@1 admitted finished:WorkloadSliceReplaced job@1 live@1 copy@1 finished:WorkloadSliceReplaced job@1",
			"RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists"},
		{"one that is out of sync is not reset for that", "bound w1", "quota Ready slice", "w1 up copy@1 admitted finished:OutOfSync job@1 live@1 copy@1 finished:OutOfSync job@1",
			"RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists"},
	})
}
