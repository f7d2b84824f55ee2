package preempt_test

import (
	"testing"

	"switchyard.dev/worker/admission/preempt"
)

func fairOptions(strategies ...preempt.Strategy) preempt.Options {
	return preempt.Options{FairSharing: true, WithinNominal: true, Strategies: strategies}
}

// threeQueues queues that own 3 each; what is held beyond that is borrowed, in thousandths of 9.
const threeQueues = "queue a cohort=x preempt=LowerPriority reclaim=Any f gpu=3\n queue b cohort=x f gpu=3\n queue c cohort=x f gpu=3\n"

func TestWhomTheSmallerShareEvicts(t *testing.T) {
	runScenarios(t, []scenario{
		{
			"a borrower of the queue with the greatest share",
			threeQueues + "admitted v queue=b f/gpu=4\n admitted u queue=c f/gpu=1\n admitted s queue=c prio=1 f/gpu=4", "queue=a f/gpu=1",
			"u (InCohortReclamation)",
		}, {
			"from one queue until another has the greatest share",
			threeQueues + "admitted v0 queue=b f/gpu=3\n admitted v1 queue=b since=2 f/gpu=1\n admitted u0 queue=c f/gpu=3\n admitted u1 queue=c since=1 f/gpu=1\n" +
				"admitted u2 queue=c since=2 f/gpu=1", "queue=a f/gpu=3",
			"u2 (InCohortReclamation), v1 (InCohortReclamation), u1 (InCohortReclamation)",
		}, {
			"whoever would still have as much in the end, when it borrows itself",
			threeQueues + "admitted s queue=a prio=5 f/gpu=3\n admitted v queue=b f/gpu=1\n admitted u queue=b prio=5 f/gpu=5", "queue=a f/gpu=1",
			"v (InCohortFairSharing)",
		}, {
			"among equal shares, the lowest priority",
			threeQueues + "admitted v queue=b prio=1 f/gpu=4\n admitted u queue=c f/gpu=4", "queue=a f/gpu=2",
			"u (InCohortReclamation)",
		}, {
			"among equal shares and priorities, the last to come",
			threeQueues + "admitted v queue=b since=3 f/gpu=4\n admitted u queue=c since=4 f/gpu=4", "queue=a f/gpu=2",
			"u (InCohortReclamation)",
		}, {
			"among equals in all, by UID",
			threeQueues + "admitted v queue=b uid=2 f/gpu=4\n admitted u queue=c uid=1 f/gpu=4", "queue=a f/gpu=2",
			"u (InCohortReclamation)",
		}, {
			"among equal shares, a candidate after one that failed is held against those of others",
			"queue a cohort=x reclaim=Any f gpu=0\n queue b cohort=x f gpu=0\n queue c cohort=x f gpu=0\n queue d cohort=x f gpu=8\n" +
				"admitted v1 queue=b f/gpu=3\n admitted v2 queue=b prio=3 f/gpu=1\n admitted u1 queue=c prio=1 f/gpu=1\n admitted u2 queue=c prio=9 f/gpu=3",
			"queue=a f/gpu=2", "u1 (InCohortFairSharing), v2 (InCohortFairSharing)",
		}, {
			"a cohort before a queue of the same share",
			"cohort y parent=x\n" + threeQueues + "queue d cohort=y f gpu=3\n admitted v queue=b f/gpu=6\n admitted u queue=d prio=5 f/gpu=6", "queue=a f/gpu=1",
			"u (InCohortReclamation)",
		}, {
			"nobody who would end up with less than it",
			threeQueues + "admitted s queue=a prio=5 f/gpu=4\n admitted v queue=b f/gpu=1\n admitted u queue=b prio=5 f/gpu=4", "queue=a f/gpu=1", "",
		}, {
			"nobody of a queue that does not borrow what is contested",
			threeQueues + "admitted s queue=a prio=5 f/gpu=3\n admitted v queue=b f/gpu=3\n admitted u queue=c f/gpu=3", "queue=a f/gpu=1", "",
		}, {
			"its own by its policy, whatever the shares are",
			threeQueues + "admitted s queue=a f/gpu=7\n admitted v queue=b f/gpu=1\n admitted u queue=c f/gpu=1", "queue=a prio=1 f/gpu=2",
			"s (InClusterQueue)",
		}, {
			"nobody in the cohort if it may not reclaim",
			"queue a cohort=x preempt=LowerPriority f gpu=3\n queue b cohort=x f gpu=3\n admitted v queue=b f/gpu=6", "queue=a f/gpu=1", "",
		}, {
			"only lower priorities if it may reclaim only those",
			"queue a cohort=x reclaim=LowerPriority f gpu=3\n queue b cohort=x f gpu=3\n admitted v queue=b prio=1 f/gpu=3\n admitted u queue=b prio=3 f/gpu=3",
			"queue=a prio=2 f/gpu=1", "v (InCohortReclamation)",
		}, {
			"by weighted shares: twice the weight may have twice as much",
			"queue a cohort=x reclaim=Any weight=2 f gpu=0\n queue b cohort=x f gpu=0\n queue c cohort=x f gpu=9\n" +
				"admitted s queue=a f/gpu=5\n admitted v queue=b f/gpu=1\n admitted u queue=b f/gpu=3", "queue=a f/gpu=1",
			"v (InCohortFairSharing)",
		}, {
			"from a queue without weight that borrows, before all others",
			"queue a cohort=x reclaim=Any f gpu=0\n queue b cohort=x f gpu=0\n queue c cohort=x f gpu=9\n queue d cohort=x weight=0 f gpu=0\n" +
				"admitted v queue=b f/gpu=8\n admitted u queue=d f/gpu=1", "queue=a f/gpu=1",
			"u (InCohortFairSharing)",
		}, {
			"nobody if it has no weight itself and borrows",
			"queue a cohort=x reclaim=Any weight=0 f gpu=0\n queue b cohort=x f gpu=0\n queue c cohort=x f gpu=9\n admitted v queue=b f/gpu=9",
			"queue=a f/gpu=1", "",
		}, {
			"among those without weight the greater unweighted share",
			"queue a cohort=x reclaim=Any weight=0 f gpu=0\n queue b cohort=x weight=0 f gpu=0\n queue c cohort=x f gpu=9\n admitted v queue=b f/gpu=1\n admitted u queue=b prio=1 f/gpu=8",
			"queue=a f/gpu=1", "v (InCohortFairSharing)",
		}, {
			"nobody for borrowWithinCohort, which fair sharing ignores",
			"queue a cohort=x reclaim=Any borrow-within=LowerPriority f gpu=3\n queue b cohort=x f gpu=3\n admitted s queue=a f/gpu=3\n admitted v queue=b f/gpu=3",
			"queue=a prio=9 f/gpu=1", "",
		}, {
			"nobody else if those who leave anyway make room",
			threeQueues + "admitted v queue=b f/gpu=8\n admitted u queue=c evicted f/gpu=1", "queue=a f/gpu=1", "u (leaving)",
		},
	}, fairOptions())
}

func TestWhichStrategyAllowsWhat(t *testing.T) {
	// With the workload a borrows 1 of 9. Before the eviction b borrows 6, afterwards nothing.
	const whole = threeQueues + "admitted v queue=b f/gpu=9\n"
	// Before the eviction of v b borrows 6, afterwards 2.
	const parts = threeQueues + "admitted v queue=b f/gpu=4\n admitted u queue=b prio=5 f/gpu=5\n"
	final, initial := preempt.LessThanOrEqualToFinalShare, preempt.LessThanInitialShare
	t.Run("by the final share", func(t *testing.T) {
		runScenarios(t, []scenario{
			{"nobody who would have less afterwards", whole, "queue=a f/gpu=4", ""},
			{"who would have at least as much afterwards", parts, "queue=a f/gpu=4", "v (InCohortFairSharing)"},
		}, fairOptions(final))
	})
	t.Run("by the initial share", func(t *testing.T) {
		runScenarios(t, []scenario{
			{"whoever has more before", whole, "queue=a f/gpu=4", "v (InCohortFairSharing)"},
			{"nobody once it has no more", parts, "queue=a f/gpu=6", ""},
			{
				"nobody who has as much", threeQueues + "admitted s queue=a prio=5 f/gpu=3\n admitted v queue=b f/gpu=1\n" +
					"admitted u queue=b f/gpu=3\n admitted r queue=c f/gpu=2", "queue=a f/gpu=1", "",
			},
		}, fairOptions(initial))
	})
	t.Run("by both in turn", func(t *testing.T) {
		runScenarios(t, []scenario{
			{"what the second allows where the first is not enough", whole, "queue=a f/gpu=4", "v (InCohortFairSharing)"},
			{
				"what the first left over comes after what it allowed",
				threeQueues + "admitted v queue=b f/gpu=6\n admitted u queue=b prio=5 f/gpu=1\n admitted s queue=c f/gpu=2", "queue=a f/gpu=4",
				"v (InCohortFairSharing)",
			}, {
				// Without q, b borrows no more cpu, but still gpus, of which r holds some.
				"what the first left over for as long as its queue borrows anything that it holds",
				"queue a cohort=x reclaim=Any f gpu=2 cpu=2\n queue b cohort=x f gpu=2 cpu=2\n admitted r queue=b f/gpu=4 f/cpu=2\n" +
					"admitted q queue=b prio=1 f/cpu=2", "queue=a f/gpu=3 f/cpu=3", "q (InCohortFairSharing), r (InCohortFairSharing)",
			},
		}, fairOptions(final, initial))
	})
}

func TestAPreemptorWithinItsNominalQuotaSkipsTheShareTest(t *testing.T) {
	// The queue borrows so much cpu that its share is greater, but it takes back gpus that it owns.
	const script = "queue a cohort=x reclaim=Any f gpu=3 cpu=0\n queue b cohort=x f gpu=3 cpu=9\n admitted s queue=a f/cpu=8\n admitted v queue=b f/gpu=6"
	o := fairOptions()
	runScenarios(t, []scenario{{"if the gate is open", script, "queue=a f/gpu=3", "v (InCohortReclamation)"}}, o)
	runScenarios(t, []scenario{{
		"others before its own where their shares are the same",
		"queue a cohort=x preempt=LowerPriority reclaim=Any f gpu=3 cpu=0\n queue b cohort=x f gpu=3 cpu=6\n" +
			"admitted s queue=a prio=-1 f/gpu=1 f/cpu=2\n admitted v queue=b f/gpu=5", "queue=a f/gpu=1", "v (InCohortReclamation)",
	}}, o)
	o.WithinNominal = false
	runScenarios(t, []scenario{{"not if it is closed", script, "queue=a f/gpu=3", ""}}, o)
}

func TestSharesAreComparedRightBelowTheLowestCommonCohort(t *testing.T) {
	const deep = "cohort l parent=top\n cohort r parent=top\n cohort top f gpu=8\n" +
		"queue a cohort=l reclaim=Any f gpu=0\n queue b cohort=l f gpu=0\n queue c cohort=r f gpu=0\n queue d cohort=r f gpu=0\n"
	runScenarios(t, []scenario{
		{
			"a small queue on the greater side has to give",
			deep + "admitted s queue=a f/gpu=2\n admitted u queue=c f/gpu=5\n admitted v queue=d f/gpu=1", "queue=a f/gpu=1",
			"v (InCohortFairSharing)",
		}, {
			"a greater queue on the smaller side need not",
			deep + "admitted s queue=b f/gpu=5\n admitted v queue=c f/gpu=3", "queue=a f/gpu=1", "s (InCohortFairSharing)",
		}, {
			"within its own side it is queue against queue",
			deep + "admitted s queue=b f/gpu=2\n admitted u queue=b prio=1 f/gpu=2\n admitted v queue=c f/gpu=4", "queue=a f/gpu=2",
			"s (InCohortFairSharing)",
		}, {
			"a side that uses only what it owns is left alone",
			"cohort l parent=top f gpu=2\n cohort r parent=top f gpu=6\n queue a cohort=l reclaim=Any f gpu=0\n queue b cohort=l f gpu=0\n queue c cohort=r f gpu=0\n" +
				"admitted s queue=a f/gpu=2\n admitted v queue=c f/gpu=6", "queue=a f/gpu=1", "",
		},
	}, fairOptions())
}
