package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

var (
	epoch = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
	red   = admission.Key{Namespace: "ns", Name: "red"}
	blue  = admission.Key{Namespace: "ns", Name: "blue"}
	job   = admission.Key{Namespace: "ns", Name: "job"}
)

const interval = 5 * time.Minute

func at(intervals float64) time.Time {
	return epoch.Add(time.Duration(intervals * float64(interval)))
}

// newTestTracker has a half-life of so many intervals and the LocalQueues red and blue, opened at the epoch.
func newTestTracker(halfLife int, weights ...ResourceWeight) *Tracker {
	l := NewTracker(Options{HalfLife: time.Duration(halfLife) * interval, Interval: interval, Weights: weights})
	l.AddLocalQueue(epoch, red, quota.Weight{}, LocalQueueUsage{})
	l.AddLocalQueue(epoch, blue, quota.Weight{}, LocalQueueUsage{})
	return l
}

func redUsage(r ...amount.Request) func(admission.Key) amount.Vector {
	return func(k admission.Key) amount.Vector {
		if k != red {
			return nil
		}
		return amount.NewVector(r...)
	}
}

func cpu(milli int64) amount.Request {
	return amount.Request{Resource: "cpu", Amount: amount.Amount(milli)}
}

func gpu(n int64) amount.Request { return amount.Request{Resource: "gpu", Amount: amount.Amount(n)} }

func weightedUsageOf(t *testing.T, l *Tracker, local admission.Key) amount.Amount {
	t.Helper()
	a, known := l.LocalQueueUsage(local)
	if !known {
		t.Fatalf("%s has no account", local)
	}
	return a.WeightedUsage
}

func expectUsage(t *testing.T, l *Tracker, want amount.Amount) {
	t.Helper()
	if got := weightedUsageOf(t, l, red); got != want {
		t.Errorf("the figure is %d, want %d", got, want)
	}
}

func TestOneHalfLifeDecaysByHalf(t *testing.T) {
	l := newTestTracker(2)
	l.Sample(at(2), redUsage(cpu(8000)))
	expectUsage(t, l, 4000)
	l.Sample(at(4), redUsage(cpu(8000)))
	expectUsage(t, l, 6000)
	l.Sample(at(6), redUsage())
	expectUsage(t, l, 3000)
}

func TestNothingHappensBetweenSamples(t *testing.T) {
	l := newTestTracker(1)
	if len(l.Sample(at(0.99), redUsage(cpu(8000)))) > 0 {
		t.Error("it sampled early")
	}
	expectUsage(t, l, 0)
	if len(l.Sample(at(1.5), redUsage(cpu(8000)))) == 0 {
		t.Error("it did not sample")
	}
	if got := l.NextSampleAt(); !got.Equal(at(2)) {
		t.Errorf("the next sample is at %v, want %v", got, at(2))
	}
	expectUsage(t, l, 4000)
}

func TestMissedIntervalsAreSampledLater(t *testing.T) {
	step, leap := newTestTracker(7), newTestTracker(7)
	for i := 1.0; i <= 20; i++ {
		step.Sample(at(i), redUsage(gpu(1000)))
	}
	leap.Sample(at(20), redUsage(gpu(1000)))
	if a, b := weightedUsageOf(t, step, red), weightedUsageOf(t, leap, red); a-b > 1 || b-a > 1 {
		t.Errorf("%d in steps, %d at once", a, b)
	}
}

func TestWithoutHalfLifeOnlyCurrentUsageCounts(t *testing.T) {
	l := newTestTracker(0)
	l.Sample(at(1), redUsage(gpu(8)))
	expectUsage(t, l, 8000)
	l.Sample(at(2), redUsage(gpu(1)))
	expectUsage(t, l, 1000)
	l.AddPenalty(job, red, amount.NewVector(gpu(3)))
	expectUsage(t, l, 4000)
}

func TestUsageIsWeighted(t *testing.T) {
	half := quota.NewWeight(quota.UnitWeight / 2)
	l := newTestTracker(0, ResourceWeight{"gpu", quota.NewWeight(10 * quota.UnitWeight)}, ResourceWeight{"memory", quota.NewWeight(0)})
	l.Sample(at(1), redUsage(cpu(1500), gpu(2), amount.Request{Resource: "memory", Amount: 1 << 40}))
	expectUsage(t, l, 1500+20000)
	l.AddLocalQueue(at(1), red, half, LocalQueueUsage{})
	expectUsage(t, l, 2*(1500+20000))
	l.AddLocalQueue(at(1), red, quota.NewWeight(0), LocalQueueUsage{})
	expectUsage(t, l, amount.Unlimited)
}

func TestHugeUsageIsFinite(t *testing.T) {
	l := newTestTracker(1, ResourceWeight{"gpu", quota.NewWeight(1 << 62)})
	l.AddPenalty(job, red, amount.NewVector(gpu(int64(amount.Unlimited))))
	for i := 1.0; i < 4; i++ {
		l.Sample(at(i), redUsage(gpu(int64(amount.Unlimited)), cpu(int64(amount.Unlimited))))
	}
	expectUsage(t, l, amount.Unlimited-1)
	l.Sample(at(5), redUsage(cpu(-5)))
	expectUsage(t, l, amount.Unlimited-1)
	l.RemovePenalty(job)
	l.Sample(at(1000), redUsage(cpu(-5)))
	expectUsage(t, l, 0)
}

func TestAPenaltyIsConsumedOnAdmissionAndThenDecays(t *testing.T) {
	l := newTestTracker(1)
	l.AddPenalty(job, red, amount.NewVector(cpu(8000)))
	l.AddPenalty(job, red, amount.NewVector(cpu(8000)))
	expectUsage(t, l, 4000)
	if a, _ := l.LocalQueueUsage(red); a.Consumed != nil {
		t.Errorf("it was consumed before the workload was admitted: %v", a.Consumed)
	}
	l.Sample(at(1), redUsage())
	expectUsage(t, l, 4000)
	l.ConsumePenalty(job)
	l.ConsumePenalty(job)
	l.RemovePenalty(job)
	expectUsage(t, l, 4000)
	l.Sample(at(2), redUsage(cpu(8000)))
	expectUsage(t, l, 6000)
}

func TestAPenaltyIsRemovedWithTheReservation(t *testing.T) {
	l := newTestTracker(1)
	l.AddPenalty(job, red, amount.NewVector(cpu(8000)))
	l.RemovePenalty(job)
	l.RemovePenalty(job)
	l.ConsumePenalty(job)
	expectUsage(t, l, 0)
	l.AddPenalty(job, red, amount.NewVector(cpu(8000)))
	l.AddPenalty(job, blue, amount.NewVector(cpu(2000)))
	expectUsage(t, l, 0)
	if got := weightedUsageOf(t, l, blue); got != 1000 {
		t.Errorf("the other LocalQueue has %d, want 1000", got)
	}
	l.RemoveLocalQueue(blue)
	l.ConsumePenalty(job)
	if _, known := l.LocalQueueUsage(blue); known {
		t.Error("a closed account is known")
	}
}

func TestChangesAreReportedOnceAndSorted(t *testing.T) {
	l := newTestTracker(0)
	if got := l.TakeChanges(); got != nil {
		t.Errorf("new accounts changed: %v", got)
	}
	l.AddPenalty(job, red, amount.NewVector(gpu(1)))
	l.AddLocalQueue(epoch, blue, quota.NewWeight(0), LocalQueueUsage{})
	want := []UsageChange{{blue, amount.Unlimited}, {red, 1000}}
	if diff := cmp.Diff(want, l.TakeChanges()); diff != "" {
		t.Error(diff)
	}
	l.ConsumePenalty(job)
	if got := l.TakeChanges(); got != nil {
		t.Errorf("a settled penalty changed the figure: %v", got)
	}
}

func TestARestartResumesFromTheStatus(t *testing.T) {
	l := newTestTracker(2, ResourceWeight{"gpu", quota.Weight{}})
	l.Sample(at(3), redUsage(cpu(1001), gpu(7)))
	was, _ := l.LocalQueueUsage(red)
	if len(was.Consumed) != 2 || !was.SampledAt.Equal(at(3)) {
		t.Fatalf("the account is %+v", was)
	}
	again := NewTracker(Options{HalfLife: 2 * interval, Interval: interval})
	again.AddLocalQueue(at(4.5), red, quota.Weight{}, was)
	is, _ := again.LocalQueueUsage(red)
	if diff := cmp.Diff(was, is); diff != "" {
		t.Error(diff)
	}
	again.Sample(at(4.5), redUsage())
	l.Sample(at(4.5), redUsage())
	if a, b := weightedUsageOf(t, l, red), weightedUsageOf(t, again, red); a-b > 2 || b-a > 2 {
		t.Errorf("%d without the restart, %d after it", a, b)
	}
}

func TestAnUnusableStatusIsIgnored(t *testing.T) {
	for _, was := range []LocalQueueUsage{
		{SampledAt: epoch.Add(time.Hour), Consumed: []Consumed{{"gpu", 5}}},
		{SampledAt: epoch.Add(-time.Hour)},
		{Consumed: []Consumed{{"gpu", 5}, {"cpu", -5}}},
	} {
		l := NewTracker(Options{Interval: interval})
		l.AddLocalQueue(epoch, red, quota.Weight{}, was)
		if got := l.NextSampleAt(); !got.Equal(at(1)) {
			t.Errorf("%+v: the next sample is at %v, want %v", was, got, at(1))
		}
	}
	if got := NewTracker(Options{Interval: interval}).NextSampleAt(); !got.IsZero() {
		t.Errorf("a sample without accounts at %v", got)
	}
}
