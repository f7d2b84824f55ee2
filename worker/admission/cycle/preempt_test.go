package cycle_test

import "testing"

const waitingForPreempted = "WaitingForPreemptedWorkloads: couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, "

func TestWhoMayPreemptGetsWhatTheVictimsLeave(t *testing.T) {
	runScenarios(t, []scenario{{
		"victims are evicted once and their quota goes to the preemptor",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		admitted low queue=a prio=1 f/gpu=8
		pending high queue=a prio=5 gpu=4
		cycle
		cycle
		admitted low queue=a prio=1 f/gpu=8    # reported again before the eviction was seen
		cycle
		admitted low queue=a prio=1 evicted f/gpu=8
		cycle
		release low
		cycle`,
		`preempt for high in a: low (InClusterQueue)
		admit high to a: main 1 gpu=4@f`,
	}, {
		"nobody steals what victims release piece by piece, nor what was free already",
		`flavor f
		queue a cohort=x preempt=LowerPriority f gpu=8
		queue b cohort=x f gpu=0
		admitted v1 queue=a prio=1 f/gpu=3
		admitted v2 queue=a prio=1 f/gpu=3
		pending high queue=a prio=5 gpu=8
		cycle
		pending thief queue=b gpu=2 prio=9
		cycle
		release v1
		cycle
		release v2
		cycle`,
		`preempt for high in a: v1 (InClusterQueue), v2 (InClusterQueue)
		wait thief in b: ` + insufficientQuota + `8 more needed
		wait thief in b: ` + insufficientQuota + `5 more needed
		admit high to a: main 1 gpu=8@f
		wait thief in b: ` + insufficientQuota + `2 more needed`,
	}, {
		"who ranks better takes what is free, and the preemptor finds other victims",
		`flavor f
		queue a cohort=x preempt=LowerPriority f gpu=4
		queue b cohort=x f gpu=4
		admitted v1 queue=a prio=1 since=1 f/gpu=3
		admitted v2 queue=a prio=1 since=2 f/gpu=3
		pending high queue=a prio=5 gpu=5
		cycle
		pending better queue=b gpu=2 prio=1
		cycle`,
		`preempt for high in a: v2 (InClusterQueue)
		admit better to b: main 1 gpu=2@f
		preempt for high in a: v2 (leaving), v1 (InClusterQueue)`,
	}, {
		"the preemptor stays head although others rank before it",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		admitted low queue=a prio=1 f/gpu=8
		pending high queue=a prio=5 gpu=4
		cycle
		pending higher queue=a prio=9 gpu=4
		cycle
		release low
		cycle`,
		`preempt for high in a: low (InClusterQueue)
		admit high to a: main 1 gpu=4@f
		admit higher to a: main 1 gpu=4@f`,
	}, {
		"but not in a strict queue, where others can use what leaves",
		`flavor f
		queue a strict preempt=LowerPriority f gpu=8
		admitted low queue=a prio=1 f/gpu=8
		pending high queue=a prio=5 gpu=4
		cycle
		pending higher queue=a prio=9 gpu=8
		cycle
		release low
		cycle`,
		`preempt for high in a: low (InClusterQueue)
		wait higher in a: ` + waitingForPreempted + `8 more needed. Pending the preemption of 1 workload(s)
		admit higher to a: main 1 gpu=8@f
		wait high in a: ` + insufficientQuota + `4 more needed`,
	}, {
		"when the preemptor leaves, those who were passed by are looked at",
		`flavor f
		queue a cohort=x preempt=LowerPriority f gpu=8
		queue b cohort=x f gpu=0
		admitted v1 queue=a prio=1 f/gpu=6
		pending high queue=a prio=5 gpu=8
		cycle
		pending thief queue=b gpu=2
		cycle
		remove high
		cycle`,
		`preempt for high in a: v1 (InClusterQueue)
		wait thief in b: ` + insufficientQuota + `8 more needed
		admit thief to b: main 1 gpu=2@f; borrowing 1`,
	}, {
		"a preemptor that changed starts anew",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		admitted v1 queue=a prio=1 since=1 f/gpu=4
		admitted v2 queue=a prio=1 since=2 f/gpu=4
		pending high queue=a prio=5 gpu=4
		cycle
		pending high queue=a prio=5 gpu=6
		cycle`,
		`preempt for high in a: v2 (InClusterQueue)
		preempt for high in a: v2 (leaving), v1 (InClusterQueue)`,
	}, {
		"an eviction that could not be written is decided again",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		admitted low queue=a prio=1 f/gpu=8
		pending high queue=a prio=5 gpu=4
		cycle
		spare low
		cycle
		spare low
		admitted low queue=a prio=7 f/gpu=8
		cycle`,
		`preempt for high in a: low (InClusterQueue)
		preempt for high in a: low (InClusterQueue)
		wait high in a: ` + insufficientQuota + `4 more needed`,
	}, {
		"a later flavor that comes free is as good",
		`flavor f
		flavor g
		queue a preempt-stop preempt=LowerPriority f gpu=8 g gpu=8
		admitted low queue=a prio=1 f/gpu=8
		admitted other queue=a prio=7 g/gpu=8
		pending high queue=a prio=5 gpu=4
		cycle
		release other
		cycle`,
		`preempt for high in a: low (InClusterQueue)
		admit high to a: main 1 gpu=4@g`,
	}, {
		"closed gates forbid it, and say so",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		admitted low queue=a prio=1 f/gpu=8
		pending high queue=a prio=5 gpu=4 gate=approval
		pending too queue=a prio=5 gpu=4 gate=approval at=1
		cycle
		pending late queue=a prio=5 gpu=4 gate=approval at=2
		cycle
		pending high queue=a prio=5 gpu=4
		cycle`,
		`wait high in a: ` + insufficientQuota + `4 more needed; gates approval
		wait too in a: ` + insufficientQuota + `4 more needed; gates approval
		wait late in a: ` + insufficientQuota + `4 more needed; gates approval
		preempt for high in a: low (InClusterQueue)`,
	}, {
		"two preemptors do not share a victim",
		`flavor f
		queue a cohort=x reclaim=Any f gpu=4
		queue b cohort=x reclaim=Any f gpu=4
		queue c cohort=x f gpu=0
		admitted v1 queue=c since=1 f/gpu=4
		admitted v2 queue=c since=2 f/gpu=4
		pending one queue=a gpu=4 at=1
		pending two queue=b gpu=4 at=2
		cycle
		release v2
		cycle
		release v1
		cycle`,
		`preempt for one in a: v2 (InCohortReclamation)
		preempt for two in b: v2 (leaving), v1 (InCohortReclamation)
		admit one to a: main 1 gpu=4@f
		admit two to b: main 1 gpu=4@f`,
	}, {
		"a victim whose admission is being written is evicted once it is",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		pending low queue=a prio=1 gpu=8
		cycle
		pending high queue=a prio=5 gpu=4
		cycle
		cycle
		admitted low queue=a prio=1 f/gpu=8
		cycle`,
		`admit low to a: main 1 gpu=8@f
		wait high in a: ` + insufficientQuota + `4 more needed
		preempt for high in a: low (InClusterQueue)`,
	}, {
		"preemptors go first where the gate says so",
		`flavor f
		queue a cohort=x preempt=LowerPriority f gpu=4
		queue b cohort=x f gpu=4
		admitted v1 queue=a prio=1 since=1 f/gpu=3
		admitted v2 queue=a prio=1 since=2 f/gpu=3
		pending high queue=a prio=5 gpu=5
		cycle preemptors-first
		pending better queue=b gpu=2 prio=1
		cycle preemptors-first`,
		`preempt for high in a: v2 (InClusterQueue)
		wait better in b: ` + insufficientQuota + `5 more needed`,
	}})
}

func TestAHeadWithoutCandidates(t *testing.T) {
	const script = `
		flavor f
		queue b cohort=x f gpu=0
		admitted h queue=a prio=9 f/gpu=6
		pending head queue=a prio=5 gpu=8 at=1
		pending small queue=b gpu=2 at=2
		cycle
		pending smaller queue=b gpu=1 at=0
		cycle
		`
	runScenarios(t, []scenario{{
		"keeps others from what it needs where it holds up its line",
		"queue a strict cohort=x preempt=LowerPriority f gpu=8" + script,
		`wait head in a: ` + insufficientQuota + `6 more needed
		wait small in b: ` + insufficientQuota + `2 more needed
		wait smaller in b: ` + insufficientQuota + `1 more needed`,
	}, {
		"keeps nothing if its queue can reclaim it",
		"queue a strict cohort=x preempt=LowerPriority reclaim=Any f gpu=8" + script,
		`admit small to b: main 1 gpu=2@f; borrowing 1
		wait head in a: ` + insufficientQuota + `6 more needed
		wait smaller in b: ` + insufficientQuota + `1 more needed`,
	}, {
		"keeps nothing if it steps aside itself",
		"queue a cohort=x preempt=LowerPriority f gpu=8" + script,
		`admit small to b: main 1 gpu=2@f; borrowing 1
		wait head in a: ` + insufficientQuota + `6 more needed
		wait smaller in b: ` + insufficientQuota + `1 more needed`,
	}})
}

func TestAHeadOfAStrictQueueThatMayEvictNobody(t *testing.T) {
	const flavors = "flavor f\nflavor g\nqueue b cohort=x f gpu=0\n"
	const borrower = `
		pending small queue=b prio=5 gpu=2 at=9
		cycle
		`
	runScenarios(t, []scenario{{
		"keeps what its queue owns, whichever cycle the borrower comes in",
		flavors + `queue a strict cohort=x f gpu=8
		admitted h queue=a prio=9 f/gpu=6
		pending head queue=a prio=5 gpu=8 at=1
		cycle` + borrower,
		`wait head in a: ` + insufficientQuota + `6 more needed
		wait small in b: ` + insufficientQuota + `2 more needed`,
	}, {
		"does not keep it from who ranks before it",
		flavors + `queue a strict cohort=x f gpu=8
		admitted h queue=a prio=9 f/gpu=6
		pending head queue=a prio=4 gpu=8 at=1
		cycle` + borrower,
		`wait head in a: ` + insufficientQuota + `6 more needed
		admit small to b: main 1 gpu=2@f; borrowing 1`,
	}, {
		"takes what comes back bit by bit before the borrower",
		flavors + `queue a strict cohort=x f gpu=8
		admitted h1 queue=a f/gpu=4
		admitted h2 queue=a f/gpu=4
		pending head queue=a prio=9 gpu=8 at=1
		cycle` + borrower + `release h1
		cycle
		release h2
		cycle`,
		`wait head in a: ` + insufficientQuota + `8 more needed
		wait small in b: ` + insufficientQuota + `2 more needed
		admit head to a: main 1 gpu=8@f`,
	}, {
		"keeps nothing if it asks for more than its queue owns",
		flavors + `queue a strict cohort=x f gpu=4
		queue c cohort=x f gpu=4
		admitted h queue=a f/gpu=6
		pending head queue=a prio=9 gpu=6 at=1
		cycle` + borrower,
		`wait head in a: ` + insufficientQuota + `4 more needed
		admit small to b: main 1 gpu=2@f; borrowing 1`,
	}, {
		"keeps nothing of a flavor that it cannot have",
		flavors + `queue a strict cohort=x f gpu=8 g gpu=0
		queue c cohort=x f gpu=0 g gpu=2
		admitted h queue=a f/gpu=6
		pending head queue=a prio=9 gpu=8 at=1
		cycle
		pending small queue=c gpu=2
		cycle`,
		`wait head in a: WaitingForQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor g, previously considered podsets requests (0) + current podset request (8) > maximum capacity (2), insufficient unused quota for gpu in flavor f, 6 more needed
		admit small to c: main 1 gpu=2@g`,
	}})
}

func TestEasierVictimsRequeuePreemptors(t *testing.T) {
	const parked = `
		flavor f
		queue b cohort=x f gpu=8
		admitted h queue=a prio=5 at=1 f/gpu=8
		admitted o queue=b prio=5 at=1 f/gpu=8
		pending w queue=a prio=5 at=2 gpu=4
		cycle
		`
	runScenarios(t, []scenario{{
		"its priority falls",
		"queue a cohort=x preempt=LowerPriority f gpu=8" + parked + `admitted h queue=a prio=4 at=1 f/gpu=8
		cycle`,
		`wait w in a: ` + insufficientQuota + `4 more needed
		preempt for w in a: h (InClusterQueue)`,
	}, {
		"the same in a strict queue, whose head holds it up",
		"queue a strict cohort=x preempt=LowerPriority f gpu=8" + parked + `admitted h queue=a prio=4 at=1 f/gpu=8
		cycle`,
		`wait w in a: ` + insufficientQuota + `4 more needed
		preempt for w in a: h (InClusterQueue)`,
	}, {
		"it counts as younger",
		"queue a cohort=x preempt=LowerOrNewerEqualPriority f gpu=8" + parked + `admitted h queue=a prio=5 at=3 f/gpu=8
		cycle`,
		`wait w in a: ` + insufficientQuota + `4 more needed
		preempt for w in a: h (InClusterQueue)`,
	}, {
		"a borrower in another queue",
		`queue c cohort=x f gpu=0
		admitted l queue=c prio=9 f/gpu=4
		queue a cohort=x reclaim=LowerPriority f gpu=12` + parked + `admitted l queue=c prio=1 f/gpu=4
		cycle`,
		`wait w in a: ` + insufficientQuota + `4 more needed
		preempt for w in a: l (InCohortReclamation)`,
	}, {
		"nobody if it still is as hard",
		"queue a cohort=x preempt=LowerPriority f gpu=8" + parked + `admitted h queue=a prio=9 at=1 f/gpu=8
		admitted h queue=a prio=7 at=1 f/gpu=8
		cycle`,
		`wait w in a: ` + insufficientQuota + `4 more needed`,
	}})
}

func TestRankMattersWhereItMayPreempt(t *testing.T) {
	runScenarios(t, []scenario{{
		"a higher priority of a kind that is parked is looked at",
		`flavor f
		queue a preempt=LowerPriority f gpu=8
		admitted low queue=a prio=3 f/gpu=8
		pending one queue=a prio=1 gpu=4
		cycle
		pending two queue=a prio=2 gpu=4
		cycle
		pending four queue=a prio=4 gpu=4
		cycle`,
		`wait one in a: ` + insufficientQuota + `4 more needed
		wait two in a: ` + insufficientQuota + `4 more needed
		preempt for four in a: low (InClusterQueue)`,
	}, {
		"so is an older workload where age matters",
		`flavor f
		queue a preempt=LowerOrNewerEqualPriority f gpu=8
		admitted low queue=a at=5 f/gpu=8
		pending newer queue=a at=6 gpu=4
		cycle
		pending older queue=a at=4 gpu=4
		cycle`,
		`wait newer in a: ` + insufficientQuota + `4 more needed
		preempt for older in a: low (InClusterQueue)`,
	}})
}
