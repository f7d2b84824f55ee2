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

// ledger has a half-life of so many intervals and the LocalQueues red and blue, opened at the epoch.
func ledger(halfLife int, weights ...ResourceWeight) *Ledger {
	l := NewLedger(Options{HalfLife: time.Duration(halfLife) * interval, Interval: interval, Weights: weights})
	l.Open(epoch, red, quota.Weight{}, Account{})
	l.Open(epoch, blue, quota.Weight{}, Account{})
	return l
}

func uses(r ...amount.Request) func(admission.Key) amount.Vector {
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

func figureOf(t *testing.T, l *Ledger, local admission.Key) amount.Amount {
	t.Helper()
	a, known := l.Account(local)
	if !known {
		t.Fatalf("%s has no account", local)
	}
	return a.Usage
}

func expect(t *testing.T, l *Ledger, want amount.Amount) {
	t.Helper()
	if got := figureOf(t, l, red); got != want {
		t.Errorf("the figure is %d, want %d", got, want)
	}
}

func TestAHalfLifeTakesHalfOfTheWayToWhatIsInUse(t *testing.T) {
	l := ledger(2)
	l.Advance(at(2), uses(cpu(8000)))
	expect(t, l, 4000)
	l.Advance(at(4), uses(cpu(8000)))
	expect(t, l, 6000)
	l.Advance(at(6), uses())
	expect(t, l, 3000)
}

func TestNothingHappensBetweenSamples(t *testing.T) {
	l := ledger(1)
	if len(l.Advance(at(0.99), uses(cpu(8000)))) > 0 {
		t.Error("it sampled early")
	}
	expect(t, l, 0)
	if len(l.Advance(at(1.5), uses(cpu(8000)))) == 0 {
		t.Error("it did not sample")
	}
	if got := l.NextSample(); !got.Equal(at(2)) {
		t.Errorf("the next sample is at %v, want %v", got, at(2))
	}
	expect(t, l, 4000)
}

func TestAnIntervalThatWasMissedCountsAsIfItHadBeenSampled(t *testing.T) {
	step, leap := ledger(7), ledger(7)
	for i := 1.0; i <= 20; i++ {
		step.Advance(at(i), uses(gpu(1000)))
	}
	leap.Advance(at(20), uses(gpu(1000)))
	if a, b := figureOf(t, step, red), figureOf(t, leap, red); a-b > 1 || b-a > 1 {
		t.Errorf("%d in steps, %d at once", a, b)
	}
}

func TestWithoutAHalfLifeOnlyThePresentCounts(t *testing.T) {
	l := ledger(0)
	l.Advance(at(1), uses(gpu(8)))
	expect(t, l, 8000)
	l.Advance(at(2), uses(gpu(1)))
	expect(t, l, 1000)
	l.Enter(job, red, amount.NewVector(gpu(3)))
	expect(t, l, 4000)
}

func TestFiguresAreWeighted(t *testing.T) {
	half := quota.WeightOf(quota.One / 2)
	l := ledger(0, ResourceWeight{"gpu", quota.WeightOf(10 * quota.One)}, ResourceWeight{"memory", quota.WeightOf(0)})
	l.Advance(at(1), uses(cpu(1500), gpu(2), amount.Request{Resource: "memory", Amount: 1 << 40}))
	expect(t, l, 1500+20000)
	l.Open(at(1), red, half, Account{})
	expect(t, l, 2*(1500+20000))
	l.Open(at(1), red, quota.WeightOf(0), Account{})
	expect(t, l, amount.Unlimited)
}

func TestAbsurdUsageIsLargeButNotInfinite(t *testing.T) {
	l := ledger(1, ResourceWeight{"gpu", quota.WeightOf(1 << 62)})
	l.Enter(job, red, amount.NewVector(gpu(int64(amount.Unlimited))))
	for i := 1.0; i < 4; i++ {
		l.Advance(at(i), uses(gpu(int64(amount.Unlimited)), cpu(int64(amount.Unlimited))))
	}
	expect(t, l, amount.Unlimited-1)
	l.Advance(at(5), uses(cpu(-5)))
	expect(t, l, amount.Unlimited-1)
	l.Leave(job)
	l.Advance(at(1000), uses(cpu(-5)))
	expect(t, l, 0)
}

func TestAPenaltyWeighsUntilTheWorkloadIsAdmittedAndThenDecays(t *testing.T) {
	l := ledger(1)
	l.Enter(job, red, amount.NewVector(cpu(8000)))
	l.Enter(job, red, amount.NewVector(cpu(8000)))
	expect(t, l, 4000)
	if a, _ := l.Account(red); a.Consumed != nil {
		t.Errorf("it was consumed before the workload was admitted: %v", a.Consumed)
	}
	l.Advance(at(1), uses())
	expect(t, l, 4000)
	l.Settle(job)
	l.Settle(job)
	l.Leave(job)
	expect(t, l, 4000)
	l.Advance(at(2), uses(cpu(8000)))
	expect(t, l, 6000)
}

func TestAPenaltyGoesWithTheReservation(t *testing.T) {
	l := ledger(1)
	l.Enter(job, red, amount.NewVector(cpu(8000)))
	l.Leave(job)
	l.Leave(job)
	l.Settle(job)
	expect(t, l, 0)
	l.Enter(job, red, amount.NewVector(cpu(8000)))
	l.Enter(job, blue, amount.NewVector(cpu(2000)))
	expect(t, l, 0)
	if got := figureOf(t, l, blue); got != 1000 {
		t.Errorf("the other LocalQueue has %d, want 1000", got)
	}
	l.Close(blue)
	l.Settle(job)
	if _, known := l.Account(blue); known {
		t.Error("a closed account is known")
	}
}

func TestChangesAreToldOnceAndSorted(t *testing.T) {
	l := ledger(0)
	if got := l.Changes(); got != nil {
		t.Errorf("new accounts changed: %v", got)
	}
	l.Enter(job, red, amount.NewVector(gpu(1)))
	l.Open(epoch, blue, quota.WeightOf(0), Account{})
	want := []Figure{{blue, amount.Unlimited}, {red, 1000}}
	if diff := cmp.Diff(want, l.Changes()); diff != "" {
		t.Error(diff)
	}
	l.Settle(job)
	if got := l.Changes(); got != nil {
		t.Errorf("a settled penalty changed the figure: %v", got)
	}
}

func TestARestartGoesOnFromTheStatus(t *testing.T) {
	l := ledger(2, ResourceWeight{"gpu", quota.Weight{}})
	l.Advance(at(3), uses(cpu(1001), gpu(7)))
	was, _ := l.Account(red)
	if len(was.Consumed) != 2 || !was.SampledAt.Equal(at(3)) {
		t.Fatalf("the account is %+v", was)
	}
	again := NewLedger(Options{HalfLife: 2 * interval, Interval: interval})
	again.Open(at(4.5), red, quota.Weight{}, was)
	is, _ := again.Account(red)
	if diff := cmp.Diff(was, is); diff != "" {
		t.Error(diff)
	}
	again.Advance(at(4.5), uses())
	l.Advance(at(4.5), uses())
	if a, b := figureOf(t, l, red), figureOf(t, again, red); a-b > 2 || b-a > 2 {
		t.Errorf("%d without the restart, %d after it", a, b)
	}
}

func TestAStatusFromTheFutureOrWithoutUseStartsNow(t *testing.T) {
	for _, was := range []Account{
		{SampledAt: epoch.Add(time.Hour), Consumed: []Consumed{{"gpu", 5}}},
		{SampledAt: epoch.Add(-time.Hour)},
		{Consumed: []Consumed{{"gpu", 5}, {"cpu", -5}}},
	} {
		l := NewLedger(Options{Interval: interval})
		l.Open(epoch, red, quota.Weight{}, was)
		if got := l.NextSample(); !got.Equal(at(1)) {
			t.Errorf("%+v: the next sample is at %v, want %v", was, got, at(1))
		}
	}
	if got := NewLedger(Options{Interval: interval}).NextSample(); !got.IsZero() {
		t.Errorf("a sample without accounts at %v", got)
	}
}
