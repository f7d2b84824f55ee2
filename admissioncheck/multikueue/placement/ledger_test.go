package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

func TestALedgerAddsUpWhatIsInFlightToACluster(t *testing.T) {
	l := NewUsageInFlight()
	a, b := admission.Key{Namespace: "team", Name: "a"}, admission.Key{Namespace: "team", Name: "b"}
	claim := func(flavor string, v amount.Amount) Claim {
		return Claim{Queue: "cq", Flavor: flavor, Resource: gpu, Amount: v}
	}
	l.Set("w1", a, []Claim{claim("x", 4)})
	l.Set("w1", b, []Claim{claim("x", 2), claim("y", 1)})
	l.Set("w2", a, []Claim{claim("x", 4)})
	expect := func(cluster string, except admission.Key, want ...Claim) {
		t.Helper()
		if diff := cmp.Diff(append([]Claim{}, want...), append([]Claim{}, l.List(cluster, except)...)); diff != "" {
			t.Errorf("in flight to %s except %s: -want +got:\n%s", cluster, except.Name, diff)
		}
	}
	expect("w1", admission.Key{}, claim("x", 6), claim("y", 1))
	expect("w1", a, claim("x", 2), claim("y", 1))
	expect("w1", b, claim("x", 4))
	expect("w2", a)
	l.Set("w1", b, []Claim{claim("x", 3)})
	expect("w1", admission.Key{}, claim("x", 7))
	l.Set("w1", a, nil)
	l.Set("w2", a, nil)
	expect("w1", admission.Key{}, claim("x", 3))
	expect("w2", admission.Key{})
	l.Set("w1", a, []Claim{claim("x", 1)})
	l.Set("w1", a, nil)
	l.Set("w1", b, nil)
	expect("w1", admission.Key{})
	if len(l.clusters) != 0 {
		t.Errorf("the ledger keeps %d clusters of which nothing is in flight", len(l.clusters))
	}
}

func TestAReservationIsCountedOnceTheFiguresAreCertainlyYounger(t *testing.T) {
	at := time.Date(2026, time.November, 21, 9, 0, 0, 500_000_000, time.UTC)
	tests := map[string]struct {
		capacity *Capacity
		reserved time.Time
		want     bool
	}{
		"two seconds before":               {&Capacity{At: at}, at.Add(-2 * time.Second).Truncate(time.Second), true},
		"in the second before":             {&Capacity{At: at}, at.Add(-time.Second).Truncate(time.Second), true},
		"in the same second":               {&Capacity{At: at}, at.Truncate(time.Second), false},
		"afterwards":                       {&Capacity{At: at}, at.Add(time.Minute), false},
		"it is not known when it was read": {&Capacity{}, at.Add(-time.Hour), false},
		"nothing is known":                 {nil, at.Add(-time.Hour), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.capacity.Counts(test.reserved); got != test.want {
				t.Errorf("counted: %v, want %v", got, test.want)
			}
		})
	}
}
