package cycle_test

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/quota"
)

func TestAWorkloadThatReplacesAnotherNeedsOnlyTheDifference(t *testing.T) {
	const waitForOld = "WaitingForQuota: waiting for the workload slice ns/old that it replaces"
	runScenarios(t, []scenario{{
		"it takes over what the other one has, and no more is used than it asks for",
		`flavor f
		queue a f gpu=4
		admitted old queue=a f/gpu=3
		pending new queue=a gpu=1 count=4 replaces=old
		cycle
		status a`,
		`admit new to a: main 4 gpu=4@f
		a: 0 active, 0 inadmissible, 1 reserving, 0 admitted; f/gpu 4 reserved, 0 used`,
	}, {
		"the difference has to be free",
		`flavor f
		queue a f gpu=4
		admitted old queue=a f/gpu=2
		admitted other queue=a f/gpu=1
		pending new queue=a gpu=1 count=4 replaces=old
		cycle
		status a
		release other
		cycle`,
		`wait new in a: ` + insufficientQuota + `1 more needed
		a: 0 active, 1 inadmissible, 2 reserving, 2 admitted; f/gpu 3 reserved, 3 used
		admit new to a: main 4 gpu=4@f`,
	}, {
		"what it gives back is free for others in the same cycle",
		`flavor f
		queue a f gpu=4 cpu=4
		admitted old queue=a f/gpu=4 f/cpu=1
		pending new queue=a prio=1 gpu=1 cpu=4 replaces=old
		pending other queue=a gpu=3
		cycle
		cycle`,
		`admit new to a: main 1 cpu=4@f gpu=1@f
		admit other to a: main 1 gpu=3@f`,
	}, {
		"it gets the flavors that its pods have already",
		`flavor f
		flavor g
		queue a f gpu=8 g gpu=8
		admitted old queue=a g/gpu=2
		pending new queue=a gpu=1 count=4 replaces=old runs-in=gpu:g
		cycle`,
		`admit new to a: main 4 gpu=4@g`,
	}, {
		"it waits if those are not to be had",
		`flavor f
		flavor g
		queue a f gpu=8 g gpu=3
		admitted old queue=a g/gpu=2
		pending new queue=a gpu=1 count=4 replaces=old runs-in=gpu:g
		cycle`,
		`wait new in a: ExceedsMaxQuota: couldn't assign flavors to pod set main: could not assign f flavor since the original workload is assigned: g, ` +
			`insufficient quota for gpu in flavor g, previously considered podsets requests (0) + current podset request (4) > maximum capacity (3)`,
	}, {
		"it evicts others for the difference, and never the one that it replaces",
		`flavor f
		queue a preempt=LowerPriority f gpu=4
		admitted old queue=a prio=1 f/gpu=2
		admitted low queue=a prio=1 f/gpu=2
		pending new queue=a prio=5 gpu=1 count=4 replaces=old
		cycle
		release low
		cycle`,
		`preempt for new in a: low (InClusterQueue)
		admit new to a: main 4 gpu=4@f`,
	}, {
		"nobody evicts the one that was replaced in the same cycle",
		`flavor f
		queue a cohort=x f gpu=4
		queue b cohort=x reclaim=Any f gpu=4
		admitted old queue=a f/gpu=6
		pending new queue=a prio=9 gpu=1 count=6 replaces=old
		pending own queue=b gpu=4
		cycle`,
		`preempt for own in b: old (InCohortReclamation)
		wait new in a: ` + waitForOld,
	}, {
		"it waits while the one that it replaces is told to stop, and then needs all",
		`flavor f
		queue a f gpu=4
		admitted old queue=a evicted f/gpu=2
		pending new queue=a gpu=1 count=4 replaces=old
		cycle
		release old
		cycle`,
		`wait new in a: ` + waitForOld + `
		admit new to a: main 4 gpu=4@f`,
	}, {
		"an eviction that could not be written lets it be replaced",
		`flavor f
		queue a cohort=x f gpu=4
		queue b cohort=x reclaim=Any f gpu=4
		admitted old queue=a f/gpu=6
		pending own queue=b gpu=4
		cycle
		pending new queue=a gpu=1 count=6 replaces=old
		cycle
		remove own
		spare old
		cycle`,
		`preempt for own in b: old (InCohortReclamation)
		wait new in a: ` + waitForOld + `
		admit new to a: main 6 gpu=6@f; borrowing 1`,
	}, {
		"an admission that could not be written leaves the old one as it was",
		`flavor f
		queue a f gpu=4
		admitted old queue=a f/gpu=3
		pending new queue=a gpu=1 count=4 replaces=old
		cycle
		forget new
		status a
		cycle`,
		`admit new to a: main 4 gpu=4@f
		a: 1 active, 0 inadmissible, 1 reserving, 1 admitted; f/gpu 3 reserved, 3 used
		admit new to a: main 4 gpu=4@f`,
	}, {
		"one in another queue lends it nothing",
		`flavor f
		queue a f gpu=4
		queue b f gpu=4
		admitted old queue=b f/gpu=3
		admitted other queue=a f/gpu=3
		pending new queue=a gpu=1 count=4 replaces=old
		cycle`,
		`wait new in a: ` + insufficientQuota + `3 more needed`,
	}, {
		"with fair sharing it is the difference that counts, too",
		`flavor f
		queue a cohort=x f gpu=4
		queue b cohort=x f gpu=4
		admitted old queue=a f/gpu=4
		pending new queue=a gpu=1 count=6 replaces=old
		pending own queue=b gpu=2
		cycle fair`,
		`admit own to b: main 1 gpu=2@f
		admit new to a: main 6 gpu=6@f; borrowing 1`,
	}})
}

// A workload that replaces another is admitted exactly if it would be in its place, and the quota is never exceeded.
func FuzzReplacingIsAdmittingInTheOthersPlace(f *testing.F) {
	for seed := range int64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		chance := rand.New(rand.NewSource(seed))
		n := func(limit int) int { return chance.Intn(limit) }
		base := fmt.Sprintf("flavor f\n flavor g\n queue a cohort=x f gpu=%d borrow=%d cpu=%d | g tpu=%d\n queue b cohort=x f gpu=%d lend=%d cpu=9 | g tpu=%d\n",
			4+n(6), n(6), 4+n(6), 4+n(6), 4+n(6), n(4), n(9))
		base += fmt.Sprintf("admitted other queue=b f/gpu=%d f/cpu=%d\n", n(4), n(4))
		old := fmt.Sprintf("admitted old queue=a f/gpu=%d f/cpu=%d g/tpu=%d\n", n(4), n(4), n(4))
		fresh := fmt.Sprintf("pending new queue=a gpu=1 count=%d + more cpu=1 gpu=1 count=%d + last tpu=2 count=%d", n(6), n(6), n(4))
		if s, err := admissiontest.BuildSnapshot(base + old); err != nil || isOverdrawn(s) {
			t.Skip("more is held than there is")
		}
		replacing := decide(t, base+old+fresh+" replaces=old")
		inPlace := decide(t, base+fresh)
		if replacing.Outcome != inPlace.Outcome {
			t.Fatalf("%s rather than %s, which it would be in its place, of\n%s", replacing.Outcome, inPlace.Outcome, base+old+fresh)
		}
		if replacing.Outcome == admission.Admit {
			if diff := gocmp.Diff(inPlace.Assignment.PodSets, replacing.Assignment.PodSets); diff != "" {
				t.Fatalf("it gets something else (-in its place +replacing):\n%s", diff)
			}
		}
	})
}

// decide runs one cycle and returns what it says of the only workload that waits. What is held then is what its queues may hold.
func decide(tb testing.TB, script string) admission.Decision {
	tb.Helper()
	s, err := admissiontest.BuildSnapshot(script)
	if err != nil {
		tb.Fatal(err)
	}
	plan := cycle.Run(s, time.Time{}, cycle.Options{WithoutPartialAdmission: true})
	if len(plan.Decisions) != 1 {
		tb.Fatalf("decided %+v of\n%s", plan.Decisions, script)
	}
	if _, held := s.Reservation(admissiontest.Key("old")); held && plan.Decisions[0].Outcome == admission.Admit {
		tb.Fatalf("both slices hold quota after\n%s", script)
	}
	if isOverdrawn(s) {
		tb.Fatalf("more is held than there is after\n%s", script)
	}
	return plan.Decisions[0]
}

// isOverdrawn reports whether more is held than the queues may hold.
func isOverdrawn(s *admission.Snapshot) bool {
	for _, queue := range []string{"a", "b"} {
		for _, name := range []quota.FlavorResource{{Flavor: "f", Resource: "gpu"}, {Flavor: "f", Resource: "cpu"}, {Flavor: "g", Resource: "tpu"}} {
			if s.Quota().Cell(queue, name).Available() < 0 {
				return true
			}
		}
	}
	return false
}
