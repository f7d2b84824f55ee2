package polltest

import (
	"testing"
	"time"
)

// bounded is a test that ends at some time.
type bounded struct {
	*testing.T
	deadline time.Time
}

func (b bounded) Deadline() (time.Time, bool) { return b.deadline, !b.deadline.IsZero() }

func TestATestThatWaitsInVainCanStillSaySo(t *testing.T) {
	now := time.Unix(1e9, 0)
	for name, c := range map[string]struct {
		tb   testing.TB
		want time.Duration
	}{
		"a benchmark":               {&testing.B{}, patience},
		"no deadline":               {bounded{T: t}, patience},
		"a deadline that is far":    {bounded{t, now.Add(time.Hour)}, patience},
		"a deadline that is near":   {bounded{t, now.Add(time.Minute)}, 30 * time.Second},
		"a deadline that is passed": {bounded{t, now.Add(-time.Minute)}, -30 * time.Second},
	} {
		if got := limit(c.tb, now); got != c.want {
			t.Errorf("%s: waits for %s, want %s", name, got, c.want)
		}
	}
}

func TestHolds(t *testing.T) {
	polls := 0
	if !Holds(t, func() bool { polls++; return polls == 3 }) || polls != 3 {
		t.Errorf("it holds after %d polls, want 3", polls)
	}
	if Holds(bounded{t, time.Now().Add(10 * time.Millisecond)}, func() bool { return false }) {
		t.Error("it is said to hold, and does not")
	}
}
