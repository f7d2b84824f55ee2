package cycle_test

import "testing"

func TestFairSharingIsATournamentOfShares(t *testing.T) {
	runScenarios(t, []scenario{{
		"the smaller share goes first, not the higher priority, and shares move as quota is taken",
		`flavor f
		cohort x f gpu=8
		queue a cohort=x f gpu=0
		queue b cohort=x f gpu=0
		admitted h queue=a f/gpu=3
		pending a1 queue=a gpu=1 prio=9 at=1
		pending a2 queue=a gpu=1 prio=9 at=2
		pending b1 queue=b gpu=2 at=3
		pending b2 queue=b gpu=2 at=4
		cycle fair`,
		`admit b1 to b: main 1 gpu=2@f; borrowing 1
		admit a1 to a: main 1 gpu=1@f; borrowing 1
		admit b2 to b: main 1 gpu=2@f; borrowing 1
		wait a2 in a: ` + insufficientQuota + `1 more needed`,
	}, {
		"a weight makes a share smaller",
		`flavor f
		cohort x f gpu=6
		queue a cohort=x weight=2 f gpu=0
		queue b cohort=x f gpu=0
		pending a1 queue=a gpu=2 at=1
		pending a2 queue=a gpu=2 at=2
		pending b1 queue=b gpu=2 at=0
		pending b2 queue=b gpu=2 at=0
		cycle fair`,
		`admit a1 to a: main 1 gpu=2@f; borrowing 1
		admit b1 to b: main 1 gpu=2@f; borrowing 1
		admit a2 to a: main 1 gpu=2@f; borrowing 1
		wait b2 in b: ` + insufficientQuota + `2 more needed`,
	}, {
		"who need not borrow goes before who has the smaller share of another resource",
		`flavor f
		cohort x f gpu=10 cpu=10
		queue a cohort=x f gpu=4 cpu=0
		queue b cohort=x f gpu=0 cpu=0
		admitted h queue=a f/cpu=8
		pending a1 queue=a gpu=2
		pending b1 queue=b gpu=1 prio=9
		cycle fair`,
		`admit a1 to a: main 1 gpu=2@f
		admit b1 to b: main 1 gpu=1@f; borrowing 1`,
	}, {
		"unless the gate for that is closed",
		`flavor f
		cohort x f gpu=10 cpu=10
		queue a cohort=x f gpu=4 cpu=0
		queue b cohort=x f gpu=0 cpu=0
		admitted h queue=a f/cpu=8
		pending a1 queue=a gpu=2
		pending b1 queue=b gpu=1
		cycle fair without-non-borrowing-first`,
		`admit b1 to b: main 1 gpu=1@f; borrowing 1
		admit a1 to a: main 1 gpu=2@f`,
	}, {
		"cohorts compete with all that their members have",
		`flavor f
		cohort top f gpu=9
		cohort x parent=top
		cohort y parent=top
		queue a cohort=x f gpu=0
		queue b cohort=x f gpu=0
		queue c cohort=y f gpu=0
		admitted h queue=a f/gpu=4
		pending b1 queue=b gpu=1 prio=9
		pending c1 queue=c gpu=2
		pending c2 queue=c gpu=2 at=1
		cycle fair`,
		`admit c1 to c: main 1 gpu=2@f; borrowing 2
		admit c2 to c: main 1 gpu=2@f; borrowing 2
		admit b1 to b: main 1 gpu=1@f; borrowing 2`,
	}, {
		"equal shares leave it to priority, then age",
		`flavor f
		cohort x f gpu=4
		queue a cohort=x f gpu=0
		queue b cohort=x f gpu=0
		queue c cohort=x f gpu=0
		pending a1 queue=a gpu=2 at=1
		pending b1 queue=b gpu=2 at=2
		pending c1 queue=c gpu=2 at=3 prio=1
		cycle fair`,
		`admit c1 to c: main 1 gpu=2@f; borrowing 1
		admit a1 to a: main 1 gpu=2@f; borrowing 1
		wait b1 in b: ` + insufficientQuota + `2 more needed`,
	}, {
		"the smaller share may preempt the greater",
		`flavor f
		cohort x f gpu=8
		queue a cohort=x reclaim=Any f gpu=0
		queue b cohort=x f gpu=0
		admitted v1 queue=b since=1 f/gpu=4
		admitted v2 queue=b since=2 f/gpu=4
		pending a1 queue=a gpu=2
		cycle fair
		release v2
		cycle fair`,
		`preempt for a1 in a: v2 (InCohortFairSharing)
		admit a1 to a: main 1 gpu=2@f; borrowing 1`,
	}})
}

func TestUsageBasedQueue(t *testing.T) {
	runScenarios(t, []scenario{{
		"the lighter local queue goes before priority, one workload a cycle while there are several",
		`flavor f
		queue a usage-based f gpu=8
		usage heavy 9000
		usage light 10
		pending h1 queue=a lq=heavy gpu=1 prio=9
		pending l1 queue=a lq=light gpu=1 at=1
		pending l2 queue=a lq=light gpu=1 at=2
		waiting a
		cycle
		usage light 10000
		cycle`,
		`a waits: l1 l2 h1
		admit l1 to a: main 1 gpu=1@f
		more
		admit h1 to a: main 1 gpu=1@f
		admit l2 to a: main 1 gpu=1@f`,
	}, {
		"a change of usage makes another the head",
		`flavor f
		queue a strict usage-based f gpu=4
		usage heavy 9000
		admitted h queue=a f/gpu=3
		pending big queue=a lq=light gpu=2
		pending small queue=a lq=heavy gpu=1
		cycle
		usage heavy 0
		usage light 5
		cycle`,
		`wait big in a: ` + insufficientQuota + `1 more needed
		admit small to a: main 1 gpu=1@f`,
	}, {
		"a queue may begin and cease to",
		`flavor f
		queue a f gpu=8
		usage heavy 9000
		pending h1 queue=a lq=heavy gpu=1 prio=9
		pending l1 queue=a lq=light gpu=1
		waiting a
		queue a usage-based f gpu=8
		waiting a
		queue a f gpu=8
		waiting a
		cycle`,
		`a waits: h1 l1
		a waits: l1 h1
		a waits: h1 l1
		admit h1 to a: main 1 gpu=1@f
		admit l1 to a: main 1 gpu=1@f`,
	}, {
		"a lighter local queue goes before one that waits for its victims",
		`flavor f
		queue a usage-based preempt=LowerPriority f gpu=8
		usage heavy 9000
		admitted low queue=a prio=1 f/gpu=8
		pending high queue=a lq=heavy prio=5 gpu=4
		cycle
		pending light queue=a lq=light prio=4 gpu=8
		cycle
		release low
		cycle`,
		`preempt for high in a: low (InClusterQueue)
		wait light in a: ` + waitingForPreempted + `8 more needed. Pending the preemption of 1 workload(s)
		admit light to a: main 1 gpu=8@f
		wait high in a: ` + insufficientQuota + `4 more needed`,
	}})
}
