package cycle_test

import "testing"

func TestWhyAWorkloadWaitsAndWhatWouldLetItStart(t *testing.T) {
	runScenarios(t, []scenario{{
		"each flavor and resource has its account",
		`flavor f
		flavor g taint=k:NoSchedule
		queue a cohort=x f gpu=8 borrow=2 cpu=8 g gpu=8 cpu=8
		queue b cohort=x f gpu=4 cpu=0
		admitted h queue=a f/gpu=7 f/cpu=2
		pending other queue=a gpu=1 prio=9
		pending w queue=a gpu=2 cpu=1 count=2
		explain w
		explain h`,
		`w in a behind 1: WaitingForQuota
		main 2 on f: WaitingForQuota: cpu 2 of 8+0, 2 used, 6 available; gpu 4 of 8+2, 7 used, 3 available (WaitingForQuota)
		main 2 on g: NoMatchingFlavor, untolerated taint {k  NoSchedule <nil>} in flavor g: cpu 2 of 8+0, 0 used, 8 available; gpu 4 of 8+0, 0 used, 8 available
		ends: h
		h does not wait`,
	}, {
		"the smallest set that has to end, oldest first",
		`flavor f
		queue a f gpu=8
		admitted one queue=a since=1 f/gpu=1
		admitted two queue=a since=2 f/gpu=4
		admitted three queue=a since=3 f/gpu=3
		pending w queue=a gpu=4
		explain w`,
		`w in a behind 0: WaitingForQuota
		main 1 on f: WaitingForQuota: gpu 4 of 8+0, 8 used, 0 available (WaitingForQuota)
		ends: two`,
	}, {
		"whom policy would let it evict",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		admitted one queue=a since=1 prio=3 f/gpu=4
		admitted two queue=a since=2 prio=1 f/gpu=4
		pending w queue=a prio=2 gpu=4
		explain w
		cycle
		explain w`,
		`w in a behind 0: WaitingForQuota
		main 1 on f: WaitingForQuota: gpu 4 of 8+0, 8 used, 0 available (WaitingForQuota)
		ends: one
		victims: two (InClusterQueue)
		preempt for w in a: two (InClusterQueue)
		w in a behind 0: WaitingForQuota
		main 1 on f: WaitingForQuota: gpu 4 of 8+0, 8 used, 0 available (WaitingForQuota)
		ends: one
		victims: two (leaving)`,
	}, {
		"what can never be, and what nobody declared",
		`flavor f
		queue a f gpu=8
		pending big queue=a gpu=9
		pending odd queue=a gpu=1 tpu=1
		explain big
		explain odd`,
		`big in a behind 0: ExceedsMaxQuota
		main 1 on f: ExceedsMaxQuota: gpu 9 of 8+0, 0 used, 8 available (ExceedsMaxQuota)
		odd in a behind 1: NoMatchingFlavor
		main 1 on f: fits: gpu 1 of 8+0, 0 used, 8 available
		main 1: tpu is undeclared`,
	}, {
		"who would fit waits only for those before it",
		`flavor f
		queue a f gpu=8
		pending w queue=a gpu=8
		explain w`,
		`w in a behind 0: QuotaReserved
		main 1 on f: fits: gpu 8 of 8+0, 0 used, 8 available`,
	}, {
		"a queue that is closed",
		`flavor f
		queue a inactive f gpu=8
		pending w queue=a gpu=8
		explain w`,
		`w in a behind 0: Suspended
		main 1 on f: fits: gpu 8 of 8+0, 0 used, 8 available`,
	}})
}
