package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/quota"
)

func TestPendingCountsByRequest(t *testing.T) {
	s := buildSnapshot(t, `flavor f
		queue a f gpu=4 pods=100
		pending fits queue=a lq=x gpu=3
		pending same queue=a lq=x gpu=3
		pending large queue=a lq=y gpu=9 cpu=2
		pending missing queue=b lq=x gpu=1`)
	cycle.Run(s, admissiontest.TimeAt(10), cycle.Options{IgnoreUndeclared: true})
	want := admission.PendingCounts{
		Queues: []admission.QueuePendingCounts{
			{Queue: "a", Inadmissible: 2, InadmissibleClasses: 2, Pending: amount.NewVector(
				amount.Request{Resource: "cpu", Amount: 2000}, amount.Request{Resource: "gpu", Amount: 12}, amount.Request{Resource: "pods", Amount: 2},
			)},
			{Queue: "b", Inadmissible: 1, InadmissibleClasses: 1, Pending: amount.NewVector(amount.Request{Resource: "gpu", Amount: 1})},
		},
		LocalQueues: []admission.LocalQueuePendingCounts{{LocalQueue: admissiontest.Key("x"), Inadmissible: 2}, {LocalQueue: admissiontest.Key("y"), Inadmissible: 1}},
	}
	if diff := cmp.Diff(want, s.PendingCounts(neverClosed)); diff != "" {
		t.Error(diff)
	}
}

func TestWorkloadsInBackoffCountAsInadmissible(t *testing.T) {
	s := buildSnapshot(t, `flavor f
		queue a f gpu=4
		pending later queue=a lq=x gpu=3 after=50
		pending now queue=a lq=x gpu=3`)
	got := s.PendingCounts(neverClosed)
	if len(got.Queues) != 1 || got.Queues[0].ActiveClasses != 1 || got.Queues[0].InadmissibleClasses != 1 {
		t.Errorf("kinds are %+v", got.Queues)
	}
	if diff := cmp.Diff([]admission.LocalQueuePendingCounts{{LocalQueue: admissiontest.Key("x"), Active: 1, Inadmissible: 1}}, got.LocalQueues); diff != "" {
		t.Error(diff)
	}
}

// neverClosed is that no LocalQueue is closed.
func neverClosed(admission.Key) bool { return false }

func TestPendingCountsSkipClosedLocalQueues(t *testing.T) {
	s := buildSnapshot(t, `flavor f
		queue a f gpu=4
		pending closed queue=a lq=x gpu=3
		pending alike queue=a lq=y gpu=3
		pending alone queue=a lq=x gpu=2
		pending later queue=a lq=x gpu=1 after=50`)
	got := s.PendingCounts(func(local admission.Key) bool { return local == admissiontest.Key("x") })
	want := admission.PendingCounts{
		Queues: []admission.QueuePendingCounts{{
			Queue: "a", Active: 1, ActiveClasses: 1, Pending: amount.NewVector(amount.Request{Resource: "gpu", Amount: 3}),
		}},
		LocalQueues: []admission.LocalQueuePendingCounts{{LocalQueue: admissiontest.Key("y"), Active: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCohortStatusCoversItsSubtree(t *testing.T) {
	s := buildSnapshot(t, `flavor f
		cohort low parent=top
		queue a cohort=low f gpu=4
		queue b cohort=top f gpu=4
		admitted one queue=a f/gpu=6
		admitted two queue=b f/gpu=1
		reserving three queue=b f/gpu=1`)
	got := s.Cohorts()
	if len(got) != 2 {
		t.Fatalf("the cohorts are %+v", got)
	}
	low, top := got[0], got[1]
	if low.Parent != "top" || low.Root != "top" || low.Admitted != 1 || low.Share.WeightedShare() != 250 {
		t.Errorf("low is %+v", low)
	}
	if top.Parent != "" || top.Root != "top" || top.Admitted != 2 || !top.Share.IsZero() {
		t.Errorf("top is %+v", top)
	}
	want := []quota.Balance{{FlavorResource: quota.FlavorResource{Flavor: "f", Resource: "gpu"}, Quota: 8, Usage: 8}}
	if diff := cmp.Diff(want, top.Subtree); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"low", "top"}, s.AncestorCohorts("a")); diff != "" {
		t.Error(diff)
	}
	if _, known := s.Cohort("other"); known {
		t.Error("a cohort that nobody names is known")
	}
}

func TestCohortsInACycleHaveNeitherParentNorRoot(t *testing.T) {
	s := buildSnapshot(t, `flavor f
		cohort x parent=y
		cohort y parent=x
		queue a cohort=x f gpu=4`)
	for _, c := range s.Cohorts() {
		if c.Parent != "" || c.Root != "" {
			t.Errorf("%s has parent %q and root %q", c.Name, c.Parent, c.Root)
		}
	}
	if above := s.AncestorCohorts("a"); above != nil {
		t.Errorf("above a are %v", above)
	}
}

func TestLocalQueueAdmittedUsageSumsFlavors(t *testing.T) {
	s := buildSnapshot(t, `flavor f
		flavor g
		queue a f gpu=4 g gpu=4
		admitted one queue=a lq=x f/gpu=2
		admitted two queue=a lq=x g/gpu=1
		reserving three queue=a lq=x g/gpu=1`)
	want := amount.NewVector(amount.Request{Resource: "gpu", Amount: 3})
	if diff := cmp.Diff(want, s.LocalQueueAdmittedUsage(admissiontest.Key("x"))); diff != "" {
		t.Error(diff)
	}
}
