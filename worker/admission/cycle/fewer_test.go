package cycle_test

import "testing"

func TestFewerPodsAreBetterThanNone(t *testing.T) {
	runScenarios(t, []scenario{{
		"as many as fit, at least the least",
		`flavor f
		queue a f gpu=10
		admitted h queue=a f/gpu=3
		pending w queue=a gpu=1 count=20 min=2
		cycle`,
		`admit w to a: main 7 gpu=7@f`,
	}, {
		"but all of them if others can be preempted for that",
		`flavor f
		queue a preempt=LowerPriority f gpu=10
		admitted low queue=a f/gpu=3
		pending w queue=a gpu=1 count=10 min=2 prio=1
		cycle
		release low
		cycle`,
		`preempt for w in a: low (InClusterQueue)
		admit w to a: main 10 gpu=10@f`,
	}, {
		"and as many as preemption makes room for",
		`flavor f
		queue a preempt=LowerPriority f gpu=10
		admitted low queue=a f/gpu=3
		admitted top queue=a f/gpu=4 prio=9
		pending w queue=a gpu=1 count=10 min=4 prio=1
		cycle
		release low
		cycle`,
		`preempt for w in a: low (InClusterQueue)
		admit w to a: main 6 gpu=6@f`,
	}, {
		"not fewer than the least",
		`flavor f
		queue a f gpu=10
		admitted h queue=a f/gpu=7
		pending w queue=a gpu=1 count=20 min=4
		cycle
		admitted h queue=a f/gpu=6
		cycle`,
		`wait w in a: ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (20) > maximum capacity (10)
		admit w to a: main 4 gpu=4@f`,
	}, {
		"only the pod set that can is reduced",
		`flavor f
		queue a f gpu=10
		pending w queue=a gpu=2 + workers gpu=2 count=8 min=1
		cycle`,
		`admit w to a: main 1 gpu=2@f, workers 4 gpu=8@f`,
	}, {
		"not if the gate is closed",
		`flavor f
		queue a f gpu=10
		pending w queue=a gpu=1 count=20 min=2
		cycle without-partial`,
		`wait w in a: ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (20) > maximum capacity (10)`,
	}})
}

func TestNobodyIsAdmittedBeforeAllPodsAreReady(t *testing.T) {
	const waitsReady = "WaitingForPodsReady: waiting for all admitted workloads to be in PodsReady condition"
	runScenarios(t, []scenario{{
		"one at a time, until its pods are ready",
		`flavor f
		queue a f gpu=8
		queue b f gpu=8
		pending a1 queue=a gpu=1 at=1
		pending b1 queue=b gpu=1 at=2
		cycle block-ready
		admitted a1 queue=a f/gpu=1
		cycle block-ready
		admitted a1 queue=a ready f/gpu=1
		cycle block-ready`,
		`admit a1 to a: main 1 gpu=1@f
		wait b1 in b: ` + waitsReady + `
		admit b1 to b: main 1 gpu=1@f`,
	}, {
		"a reservation whose checks are pending does not block",
		`flavor f
		queue a f gpu=8
		reserving r queue=a f/gpu=1
		pending a1 queue=a gpu=1
		cycle block-ready`,
		`admit a1 to a: main 1 gpu=1@f`,
	}, {
		"nor one that ended",
		`flavor f
		queue a f gpu=8
		admitted r queue=a f/gpu=1
		pending a1 queue=a gpu=1
		cycle block-ready
		remove r
		cycle block-ready`,
		`wait a1 in a: ` + waitsReady + `
		admit a1 to a: main 1 gpu=1@f`,
	}, {
		"but evictions are decided",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		admitted low queue=a f/gpu=8
		pending a1 queue=a gpu=1 prio=1
		cycle block-ready`,
		`preempt for a1 in a: low (InClusterQueue)`,
	}})
}

func TestFlavorsAreTriedInOrderAsTheQueueSays(t *testing.T) {
	const full = `
		flavor f
		flavor g
		queue b cohort=x f gpu=0 g gpu=4
		admitted low queue=a f/gpu=4
		pending w queue=a gpu=2 prio=1
		cycle
		`
	runScenarios(t, []scenario{{
		"by default it borrows rather than preempts",
		"queue a cohort=x preempt=LowerPriority f gpu=4 g gpu=0" + full,
		`admit w to a: main 1 gpu=2@g; borrowing 1`,
	}, {
		"it preempts rather than borrows if it prefers that",
		"queue a cohort=x preempt=LowerPriority borrow-next prefer-borrowing f gpu=4 g gpu=0" + full,
		`preempt for w in a: low (InClusterQueue)`,
	}, {
		"it preempts in the first flavor if it may stop there",
		"queue a cohort=x preempt=LowerPriority preempt-stop f gpu=4 g gpu=0" + full,
		`preempt for w in a: low (InClusterQueue)`,
	}, {
		"it goes on behind a flavor where preemption finds nobody",
		`flavor f
		flavor g
		queue a preempt-stop preempt=LowerPriority f gpu=4 cpu=4 g gpu=4 cpu=4
		admitted low queue=a f/gpu=4 prio=1
		admitted high queue=a f/cpu=4 prio=9
		admitted other queue=a g/gpu=4 prio=1
		pending w queue=a gpu=2 cpu=1 prio=2
		cycle`,
		`preempt for w in a: other (InClusterQueue)`,
	}})
}

func TestFreedQuotaRequeuesThoseShortOfIt(t *testing.T) {
	const parked = `
		flavor f
		flavor g
		queue a f gpu=4 | g cpu=4
		admitted h queue=a f/gpu=4
		admitted c1 queue=a g/cpu=2
		admitted c2 queue=a g/cpu=2
		pending gpu queue=a gpu=2
		pending cpu queue=a cpu=3
		cycle
		status a
		`
	const first = `
		wait cpu in a: WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor g, 3 more needed
		wait gpu in a: ` + insufficientQuota + `2 more needed
		a: 0 active, 2 inadmissible, 3 reserving, 3 admitted; f/gpu 4 reserved, 4 used; g/cpu 4 reserved, 4 used
		`
	runScenarios(t, []scenario{{
		"enough of what it lacks", parked + "release h\n cycle", first + "admit gpu to a: main 1 gpu=2@f",
	}, {
		"not too little of it", parked + "release c1\n cycle\n release c2\n cycle", first + "admit cpu to a: main 1 cpu=3@g",
	}})
}
