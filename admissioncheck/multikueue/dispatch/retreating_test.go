package dispatch

import "testing"

func TestAJobWhoseCopyWasRemovedIsRemovedToo(t *testing.T) {
	const given, local = "epoch 2; bound w1; owed w1@1", "quota evicted awaited evictions=1"
	const removed = "Retract w1 below 2 sparing in the foreground"
	runStepCases(t, []stepCase{
		{"nothing tells any more that it has stopped", given, local, "w1 up job@1", "Draining; " + removed},
		{"its last status is copied", given, local + " active", "w1 up job@1 behind", "Draining; CopyStatus w1; " + removed},
		{"an epoch that was lost with the record is made up for", given, local, "w1 up job@5", "LocalEvicted; epoch 6; owed w1@5"},
		{"and its job removed, too", "epoch 6; bound w1; owed w1@5", local, "w1 up job@5", "Draining; Retract w1 below 6 sparing in the foreground"},
		{"or a foreign copy is in its place", given, local, "w1 up copy@1 foreign job@1", "Draining; " + removed},
		{"what an earlier owner left there too", given, local, "w1 up job@1 predecessor", "Draining; " + removed},
		{"until it goes", given, local, "w1 up job@1 deleting", "Draining"},
		{"then the cluster is asked", given, local, "w1 up", "Draining; LiveRead w1"},
		{"and the hub has its quota", given, local, "w1 up live@2", "LocalEvicted; bound"},
		{"if it had ended, it has", given, local, "w1 up job@1 finished:Succeeded", "RunFinished; Finish w1 Succeeded"},
		{"a cluster out of reach is not talked to", given, local, "w1 lost@5m job@1", "Draining; wake in 10m0s"},
		{"nothing waits after an eviction for the check's sake", given, "quota evicted evictions=1", "w1 up job@1", "Draining"},
	})
}

func TestACopyThatIsNotAdmittedAnyMoreButHasQuotaIsToldOfTheEvictionToo(t *testing.T) {
	const given, local = "epoch 2; bound w1; owed w1@1", "quota evicted awaited evictions=1"
	runStepCases(t, []stepCase{
		{"a check there went back", given, local, "w1 up copy@1 quota adopted job@1", "Draining; EvictRemote w1 Evicted on manager: preempted"},
		{"it is told once", given, local, "w1 up copy@1 quota adopted deactivating job@1", "Draining"},
		{"then it has stopped", given, local, "w1 up copy@1 adopted evicted job@1", "LocalEvicted; bound"},
	})
}

func TestAJobThatTookTheNameOfOursTellsNothingOfItsPods(t *testing.T) {
	const given, local = "epoch 2; bound w1; owed w1@1", "quota evicted awaited evictions=1 active"
	runStepCases(t, []stepCase{
		{"the cluster is asked", given, local, "w1 up copy@1 evicted unadopted job@0 unstamped behind", "Draining; LiveRead w1"},
		{
			"ours cannot be beside it", given, local, "w1 up copy@1 evicted unadopted job@0 unstamped behind live@2 copy@1 evicted unadopted job@0 unstamped",
			"Draining; DrainStatus",
		},
		{"one that bears our stamp is ours", given, local, "w1 up copy@1 evicted unadopted job@1 behind", "Draining; CopyStatus w1"},
		{
			"as is one that was put in its place in the cache alone", given, local, "w1 up copy@1 evicted unadopted job@0 unstamped live@2 copy@1 evicted job@1",
			"Draining",
		},
	})
}
