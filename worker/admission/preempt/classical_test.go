package preempt_test

import (
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/preempt"
)

func TestWhomAQueueEvictsOfItsOwn(t *testing.T) {
	const full = "queue a preempt=LowerPriority f gpu=4\n"
	runScenarios(t, []scenario{
		{
			"nobody if policy forbids it",
			"queue a f gpu=4\n admitted v queue=a f/gpu=4", "queue=a prio=9 f/gpu=1", "",
		}, {
			"nobody if there is room",
			full + "admitted v queue=a f/gpu=3", "queue=a prio=9 f/gpu=1", "",
		}, {
			"nobody if nothing could ever make enough room",
			full + "admitted v queue=a f/gpu=4", "queue=a prio=9 f/gpu=5", "",
		}, {
			"only lower priorities",
			full + "admitted v queue=a prio=1 f/gpu=2\n admitted u queue=a prio=2 f/gpu=2", "queue=a prio=2 f/gpu=2", "v (InClusterQueue)",
		}, {
			"nobody if the lower ones do not hold enough",
			full + "admitted v queue=a prio=1 f/gpu=2\n admitted u queue=a prio=2 f/gpu=2", "queue=a prio=2 f/gpu=3", "",
		}, {
			"the lowest priority first",
			full + "admitted v queue=a prio=2 f/gpu=2\n admitted u queue=a prio=1 f/gpu=2", "queue=a prio=9 f/gpu=2", "u (InClusterQueue)",
		}, {
			"of equals the one that got its quota last",
			full + "admitted v queue=a since=3 f/gpu=2\n admitted u queue=a since=2 f/gpu=2", "queue=a prio=9 f/gpu=2", "v (InClusterQueue)",
		}, {
			"of equals in everything the smaller UID",
			full + "admitted v queue=a uid=2 f/gpu=2\n admitted u queue=a uid=1 f/gpu=2", "queue=a prio=9 f/gpu=2", "u (InClusterQueue)",
		}, {
			"who turns out not to be needed is spared, the last taken first",
			full + "admitted v queue=a prio=1 f/gpu=1\n admitted u queue=a prio=2 f/gpu=3", "queue=a prio=9 f/gpu=3", "u (InClusterQueue)",
		}, {
			"only those who hold what is contested",
			"queue a preempt=LowerPriority f gpu=4 g gpu=4\n admitted v queue=a g/gpu=4\n admitted u queue=a prio=1 f/gpu=4",
			"queue=a prio=9 f/gpu=4", "u (InClusterQueue)",
		}, {
			"for all that is contested",
			"queue a preempt=LowerPriority f gpu=4 cpu=4\n admitted v queue=a f/gpu=4 f/cpu=1\n admitted u queue=a prio=1 f/cpu=3",
			"queue=a prio=9 f/gpu=1 f/cpu=3", "v (InClusterQueue), u (InClusterQueue)",
		}, {
			"equal priorities only if they queued later",
			"queue a preempt=LowerOrNewerEqualPriority f gpu=4\n admitted v queue=a at=5 f/gpu=2\n admitted u queue=a at=2 f/gpu=2",
			"queue=a at=3 f/gpu=2", "v (InClusterQueue)",
		}, {
			"equal priorities that queued later and all lower ones",
			"queue a preempt=LowerOrNewerEqualPriority f gpu=4\n admitted v queue=a at=5 f/gpu=2\n admitted u queue=a prio=-1 at=2 f/gpu=2",
			"queue=a at=3 f/gpu=4", "u (InClusterQueue), v (InClusterQueue)",
		}, {
			"no equal priority for its age if the policy is about priority alone",
			full + "admitted v queue=a at=5 f/gpu=4", "queue=a at=3 f/gpu=2", "",
		}, {
			"nobody else if those who leave anyway make room",
			full + "admitted v queue=a f/gpu=2\n admitted u queue=a prio=20 evicted f/gpu=2", "queue=a prio=9 f/gpu=2", "u (leaving)",
		}, {
			"no more than what those leave lacking who leave anyway",
			full + "admitted v queue=a f/gpu=2\n admitted u queue=a prio=20 evicted f/gpu=2", "queue=a prio=9 f/gpu=3", "u (leaving), v (InClusterQueue)",
		}, {
			"the LocalQueue that used more of late first, if the queue goes by that",
			"queue a usage-based preempt=LowerPriority f gpu=4\n admitted v lq=light queue=a f/gpu=2\n admitted u lq=heavy queue=a prio=1 f/gpu=2\n usage heavy 7",
			"queue=a prio=9 f/gpu=2", "u (InClusterQueue)",
		}, {
			"the lower priority first, if it does not",
			full + "admitted v lq=light queue=a f/gpu=2\n admitted u lq=heavy queue=a prio=1 f/gpu=2\n usage heavy 7",
			"queue=a prio=9 f/gpu=2", "v (InClusterQueue)",
		},
	}, preempt.Options{})
}

func TestWhomAQueueEvictsInItsCohort(t *testing.T) {
	const flat = "queue b cohort=x f gpu=4\n queue c cohort=x f gpu=4\n"
	runScenarios(t, []scenario{
		{
			"a borrower, whatever its priority",
			flat + "queue a cohort=x reclaim=Any f gpu=4\n admitted v queue=b prio=20 f/gpu=4\n admitted u queue=b prio=30 f/gpu=4\n admitted s queue=c f/gpu=4",
			"queue=a f/gpu=4", "v (InCohortReclamation)",
		}, {
			"a borrower of lower priority",
			flat + "queue a cohort=x reclaim=LowerPriority f gpu=4\n admitted v queue=b prio=5 f/gpu=8\n admitted u queue=c f/gpu=4",
			"queue=a prio=6 f/gpu=4", "v (InCohortReclamation)",
		}, {
			"no borrower of equal priority, if lower is asked for",
			flat + "queue a cohort=x reclaim=LowerPriority f gpu=4\n admitted v queue=b prio=5 f/gpu=8\n admitted u queue=c f/gpu=4",
			"queue=a prio=5 f/gpu=4", "",
		}, {
			"nobody of a queue that uses only what it owns",
			flat + "queue a cohort=x reclaim=Any f gpu=4\n admitted v queue=a f/gpu=4\n admitted u queue=b f/gpu=4\n admitted s queue=c f/gpu=4",
			"queue=a prio=9 f/gpu=4", "",
		}, {
			"no more of a queue once it borrows no longer",
			flat + "queue a cohort=x reclaim=Any f gpu=4\n admitted v queue=b f/gpu=1\n admitted u queue=b prio=1 f/gpu=4\n admitted s queue=c f/gpu=7",
			"queue=a prio=9 f/gpu=4", "s (InCohortReclamation)",
		}, {
			"others before its own",
			flat + "queue a cohort=x preempt=LowerPriority reclaim=Any f gpu=4\n admitted v queue=a prio=-9 f/gpu=2\n admitted u queue=b prio=1 f/gpu=6\n admitted s queue=c f/gpu=4",
			"queue=a prio=9 f/gpu=2", "u (InCohortReclamation)",
		}, {
			"its own where it would borrow otherwise",
			flat + "queue a cohort=x preempt=LowerPriority reclaim=Any f gpu=4\n admitted v queue=a prio=-9 f/gpu=4\n admitted u queue=b prio=1 f/gpu=8",
			"queue=a prio=9 f/gpu=2", "v (InClusterQueue)",
		}, {
			"no more of its own than it takes when it may borrow as well",
			flat + "queue a cohort=x preempt=LowerPriority reclaim=Any f gpu=4\n admitted v queue=a f/gpu=2\n admitted u queue=a prio=1 f/gpu=6\n admitted s queue=b f/gpu=4",
			"queue=a prio=9 f/gpu=2", "v (InClusterQueue)",
		}, {
			"nobody else's for what it would borrow",
			flat + "queue a cohort=x reclaim=Any f gpu=4\n admitted v queue=a f/gpu=4\n admitted u queue=b f/gpu=8",
			"queue=a prio=9 f/gpu=2", "",
		}, {
			"lower priorities even for what it borrows, if it may",
			flat + "queue a cohort=x reclaim=Any borrow-within=LowerPriority f gpu=4\n admitted v queue=a f/gpu=4\n admitted u queue=b prio=8 f/gpu=8",
			"queue=a prio=9 f/gpu=2", "u (InCohortReclaimWhileBorrowing)",
		}, {
			"no priority above the threshold",
			flat + "queue a cohort=x reclaim=Any borrow-within=LowerPriority:7 f gpu=4\n admitted v queue=a f/gpu=4\n admitted u queue=b prio=8 f/gpu=4\n admitted s queue=b prio=7 f/gpu=4",
			"queue=a prio=9 f/gpu=2", "s (InCohortReclaimWhileBorrowing)",
		}, {
			"no borrowing from those who leave nothing to take back",
			flat + "queue a cohort=x reclaim=Never borrow-within=LowerPriority f gpu=4\n admitted v queue=a f/gpu=4\n admitted u queue=b f/gpu=8",
			"queue=a prio=9 f/gpu=2", "",
		}, {
			"nobody outside the cohort",
			"queue a reclaim=Any cohort=x f gpu=4\n queue b cohort=x f gpu=2\n queue z cohort=y f gpu=1\n admitted v queue=z f/gpu=9\n admitted u queue=b f/gpu=6",
			"queue=a f/gpu=4", "u (InCohortReclamation)",
		}, {
			"nobody whose eviction frees only what its queue does not lend",
			"queue a reclaim=Any cohort=x f gpu=4\n queue b cohort=x f gpu=4 lend=0\n queue c cohort=x f gpu=0\n admitted u queue=b f/gpu=4\n admitted v queue=c f/gpu=2",
			"queue=a f/gpu=3", "v (InCohortReclamation)",
		},
	}, preempt.Options{})
}

func TestWhomAQueueEvictsInATreeOfCohorts(t *testing.T) {
	const deep = "cohort l parent=top\n cohort r parent=top\n queue a cohort=l preempt=LowerPriority reclaim=Any f gpu=2\n" +
		"queue b cohort=l f gpu=4\n queue c cohort=r f gpu=4\n queue d cohort=r f gpu=2\n"
	runScenarios(t, []scenario{
		{
			"a borrower from the other side, for what its side owns, though the queue borrows",
			deep + "admitted v queue=c f/gpu=8", "queue=a f/gpu=5", "v (InCohortReclamation)",
		}, {
			"nobody on the other side as long as that side borrows nothing",
			deep + "admitted v queue=c f/gpu=6\n admitted u queue=b f/gpu=6", "queue=a f/gpu=2", "u (InCohortReclamation)",
		}, {
			"nobody on the other side who is within quota while others there are not",
			deep + "admitted v queue=c prio=5 f/gpu=6\n admitted u queue=d f/gpu=2\n admitted s queue=b f/gpu=4", "queue=a f/gpu=2", "v (InCohortReclamation)",
		}, {
			"nobody on the other side for what its own side would borrow",
			deep + "admitted s queue=b f/gpu=4\n admitted v queue=c f/gpu=8", "queue=a f/gpu=4", "",
		},
	}, preempt.Options{})
}

func TestAReservationThatIsOnlyAssumedIsNoCandidate(t *testing.T) {
	s := buildSnapshot(t, "flavor f\n queue a preempt=LowerPriority f gpu=4\n pending v queue=a gpu=4\n cycle")
	need := parseRequest(t, "queue=a prio=9 f/gpu=4")
	if got := preempt.Find(s, need, preempt.Options{}); got != nil {
		t.Fatalf("%s would be evicted while its admission is being written", victimsText(got))
	}
	r, _ := s.Reservation(admissiontest.Key("v"))
	s.Admit(r)
	if got := victimsText(preempt.Find(s, need, preempt.Options{})); got != "v (InClusterQueue)" {
		t.Errorf("victims are %q once it is written", got)
	}
}

func TestAVictimIsChosenOnce(t *testing.T) {
	s := buildSnapshot(t, "queue a preempt=LowerPriority f gpu=4\n admitted v queue=a f/gpu=4\n admitted u queue=a f/gpu=0")
	need := parseRequest(t, "queue=a prio=9 f/gpu=4")
	s.MarkEvicting(admissiontest.Key("v"))
	want := []admission.Victim{{Workload: admissiontest.Key("v"), UID: "v", Queue: "a", Reason: admission.InClusterQueue, Evicted: true}}
	for range 2 {
		if got := preempt.Find(s, need, preempt.Options{}); len(got) != 1 || got[0] != want[0] {
			t.Errorf("victims are %+v", got)
		}
	}
	s.UnmarkEvicting(admissiontest.Key("v"))
	if got := victimsText(preempt.Find(s, need, preempt.Options{})); got != "v (InClusterQueue)" {
		t.Errorf("victims are %q after the eviction failed", got)
	}
}
