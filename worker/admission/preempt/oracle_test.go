package preempt_test

import (
	"testing"

	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/preempt"
)

func TestOracle(t *testing.T) {
	for _, c := range []struct{ name, script, need, want string }{
		{
			"not at all where policy forbids it and the queue does not own as much",
			"queue a cohort=x f gpu=4\n queue b cohort=x f gpu=4\n admitted v queue=b f/gpu=4", "queue=a prio=9 f/gpu=5", "NoFit",
		}, {
			"not now where policy forbids it but the queue owns as much",
			"queue a cohort=x f gpu=4\n queue b cohort=x f gpu=0\n admitted v queue=b f/gpu=4", "queue=a prio=9 f/gpu=4", "NoCandidates",
		}, {
			"not at all above what the queue owns if only its own may go and none can",
			"queue a cohort=x preempt=LowerPriority f gpu=4\n queue b cohort=x f gpu=4\n admitted v queue=b f/gpu=8", "queue=a prio=9 f/gpu=5", "NoFit",
		}, {
			"not now above what the queue owns if it may borrow by preemption",
			"queue a cohort=x reclaim=LowerPriority borrow-within=LowerPriority f gpu=4\n queue b cohort=x f gpu=4\n admitted v queue=b prio=10 f/gpu=8",
			"queue=a prio=9 f/gpu=5", "NoCandidates",
		}, {
			"not now above what the queue owns if the cohort around it owns as much",
			"cohort y parent=x\n queue a cohort=y reclaim=LowerPriority f gpu=4\n queue b cohort=y f gpu=4\n queue c cohort=x f gpu=4\n" +
				" admitted v queue=c prio=10 f/gpu=12", "queue=a prio=9 f/gpu=5", "NoCandidates",
		}, {
			"not now, if nobody may be evicted",
			"queue a preempt=LowerPriority f gpu=4\n admitted v queue=a prio=9 f/gpu=4", "queue=a prio=9 f/gpu=1", "NoCandidates",
		}, {
			"not now, if all who may be evicted hold too little",
			"queue a preempt=LowerPriority f gpu=4\n admitted v queue=a prio=9 f/gpu=3\n admitted u queue=a f/gpu=1", "queue=a prio=9 f/gpu=2", "NoCandidates",
		}, {
			"by preemption within the queue",
			"queue a preempt=LowerPriority f gpu=4\n admitted v queue=a f/gpu=4", "queue=a prio=9 f/gpu=1", "Preempt",
		}, {
			"by reclaiming what the queue owns and others borrow",
			"queue a cohort=x reclaim=Any f gpu=4\n queue b cohort=x f gpu=0\n admitted v queue=b f/gpu=4", "queue=a f/gpu=1", "Reclaim",
		}, {
			"by preemption, if it would borrow itself",
			"queue a cohort=x reclaim=Any borrow-within=LowerPriority f gpu=2\n queue b cohort=x f gpu=2\n queue c cohort=x f gpu=2\n admitted v queue=b f/gpu=6",
			"queue=a prio=9 f/gpu=3", "Preempt",
		}, {
			"by preemption, if some of its own have to go, too",
			"queue a cohort=x preempt=LowerPriority reclaim=Any f gpu=4\n queue b cohort=x f gpu=0\n admitted v queue=b prio=5 f/gpu=2\n admitted u queue=a f/gpu=2",
			"queue=a prio=9 f/gpu=4", "Preempt",
		}, {
			"by waiting for those who leave",
			"queue a preempt=LowerPriority f gpu=4\n admitted v queue=a prio=20 evicted f/gpu=4", "queue=a prio=9 f/gpu=1", "Preempt",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, need := buildSnapshot(t, c.script), parseRequest(t, c.need)
			use := need.Usage[0]
			grade := preempt.New(s, preempt.Options{}).Oracle(need.Workload, need.Queue)
			if got := modeName(grade(s.Quota().Cell(need.Queue, use.FlavorResource), use.Amount)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestOracleAgreesWithFind(t *testing.T) {
	forEachSeed(t, 1000, func(t *testing.T, data []byte) {
		t.Helper()
		g := &scriptGenerator{bytes: data}
		script, text, options := g.script(), g.request(), g.options()
		need := parseRequest(t, text)
		need.Usage = need.Usage[:1]
		s := buildSnapshot(t, script)
		x := preempt.New(s, options)
		use := need.Usage[0]
		cell := s.Quota().Cell("a", use.FlavorResource)
		if use.Amount == 0 || cell.Available() >= use.Amount || cell.PotentialAvailable() < use.Amount {
			return
		}
		grade := modeName(x.Oracle(need.Workload, "a")(cell, use.Amount))
		victims := x.Find(need)
		if found := grade == "Preempt" || grade == "Reclaim"; found != (len(victims) > 0) {
			t.Errorf("it is %s, but the victims are %s in\n%s\nneed %s, %+v", grade, victimsText(victims), script, text, options)
		}
		if grade == "Reclaim" {
			for _, v := range victims {
				if v.Queue == "a" {
					t.Errorf("%s would not be reclaimed from others in\n%s\nneed %s", v.Workload, script, text)
				}
			}
		}
	})
}

func TestOracleChangesNothing(t *testing.T) {
	const script = "queue a preempt=LowerPriority f gpu=4\n queue b f gpu=1\n queue c f gpu=1\n queue d f gpu=1\n admitted v queue=a f/gpu=4"
	s, need := buildSnapshot(t, script), parseRequest(t, "queue=a prio=9 f/gpu=1")
	before, version := quotaText(s), s.QuotaVersion("a")
	grade := preempt.New(s, preempt.Options{}).Oracle(need.Workload, "a")
	cell := s.Quota().Cell("a", need.Usage[0].FlavorResource)
	for range 3 {
		if got := modeName(grade(cell, 1)); got != "Preempt" {
			t.Errorf("got %s", got)
		}
	}
	if after := quotaText(s); version != s.QuotaVersion("a") || len(before) != len(after) || before[0] != after[0] {
		t.Errorf("%v became %v", before, after)
	}
	if _, holds := s.Reservation(admissiontest.Key("v")); !holds {
		t.Error("the victim lost its quota")
	}
}
