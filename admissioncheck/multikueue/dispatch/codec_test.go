package dispatch

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNothingIsRecordedOnTheHappyPath(t *testing.T) {
	for _, s := range []State{
		{Epoch: 1},
		{Epoch: 1, Nominated: []string{"w1", "w2"}},
		{Epoch: 1, Bound: "w1"},
	} {
		if r, ok := Encode(s); ok {
			t.Errorf("%+v is recorded as %+v", s, r)
		}
	}
}

func TestARecordReadsAsASentence(t *testing.T) {
	s := State{Epoch: 3, Reservation: "2026-01-01T00:00:00Z/2", Debts: []Debt{{Cluster: "w1", Epoch: 2}, {Cluster: "w2", Epoch: 1}}}
	s.Round = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	want := Record{
		Owed: true, ObservedGeneration: 3, Reason: "Owed",
		Message: `epoch 3 of reservation "2026-01-01T00:00:00Z/2"; nominating since 2026-01-01T12:00:00Z; may still run on "w1" since epoch 2, "w2" since epoch 1`,
	}
	got, ok := Encode(s)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("recorded %v (-want +got):\n%s", ok, diff)
	}
}

func TestAnUnreadableRecordIsTheFirstEpochWithoutDebts(t *testing.T) {
	want := State{Epoch: 1, Nominated: []string{"a", "b"}, Unreadable: true}
	for _, message := range []string{
		"", "epoch", "epoch x", "epoch 0", "epoch -1", "epoch 99999999999999999999", "epoch 2 and more",
		"epoch 9223372036854775807", "epoch 9007199254740993", `epoch 2; may still run on "w1" since epoch 9007199254740993`,
		`epoch 2; may still run on `, `epoch 2; may still run on "w1"`, `epoch 2; may still run on w1 since epoch 1`,
		`epoch 2; nominating since `, `epoch 2; nominating since yesterday, at half past nine`,
		`epoch 2; may still run on "w1" since epoch 1 with its job gone since noon`,
		`epoch 2; may still run on "w1" since epoch 1,`, `epoch 2 of reservation unquoted`,
	} {
		if diff := cmp.Diff(want, Decode(&Record{Message: message}, []string{"b", "a"}, "")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", message, diff)
		}
	}
	want.Unreadable = false
	if diff := cmp.Diff(want, Decode(nil, []string{"b", "a"}, "")); diff != "" {
		t.Errorf("no record (-want +got):\n%s", diff)
	}
}

func TestABindingEndsNominations(t *testing.T) {
	if got := Decode(nil, []string{"w1"}, "w2"); got.Nominated != nil || got.Bound != "w2" {
		t.Errorf("got %+v", got)
	}
}

// FuzzARecordRoundTrips checks that whatever is stored is read back, whatever the names are.
func FuzzARecordRoundTrips(f *testing.F) {
	f.Add(int64(1), "", "", int64(0), int64(0))
	f.Add(int64(1), "", "", int64(0), int64(1767225600))
	f.Add(int64(2), "r", "w1 w2", int64(1), int64(1767225600))
	f.Add(int64(1)<<53, "r", "w1 w2", int64(1)<<53-1, int64(0))
	f.Add(int64(math.MaxInt64), "r", "w1 w2", int64(math.MaxInt64), int64(0))
	f.Add(int64(7), `"; may still run on`, `a" since epoch , b`, int64(6), int64(0))
	f.Fuzz(func(t *testing.T, epoch int64, reservation, debtors string, owed, round int64) {
		s := State{Epoch: min(max(epoch, 1), MaxEpoch), Reservation: strings.ToValidUTF8(reservation, "?"), StopsOnHubLost: owed%3 == 1}
		for _, cluster := range strings.Fields(strings.ToValidUTF8(debtors, "?")) {
			d := Debt{Cluster: cluster, Epoch: min(max(owed, 0), MaxEpoch), StopsOnHubLost: owed%2 == 1}
			if round > 0 && round < 1<<37 && owed%5 == 1 {
				d.AbsentSince = time.Unix(round, 0)
			}
			s = s.withDebt(d)
		}
		if round > 0 && round < 1<<37 { // years of four digits
			s.Round = time.Unix(round, 0)
		}
		r, ok := Encode(s)
		if !ok {
			if s.Epoch > 1 || s.StopsOnHubLost || !s.Round.IsZero() || s.Reservation != "" || len(s.Debts) > 0 {
				t.Fatalf("%+v is not recorded", s)
			}
			return
		}
		if got := Decode(&r, nil, ""); !got.Equal(s) {
			t.Errorf("stored %+v\nread   %+v\nfrom %q", s, got, r.Message)
		}
		if r.Owed != (len(s.Debts) > 0) || r.ObservedGeneration != s.Epoch {
			t.Errorf("%+v does not describe %+v", r, s)
		}
	})
}

// FuzzAnyMessageIsReadOrRefused checks that reading is total, and that what is read is well formed.
func FuzzAnyMessageIsReadOrRefused(f *testing.F) {
	f.Add(`epoch 3 of reservation "r"; may still run on "w1" since epoch 2`)
	f.Add(`epoch 3; may still run on "w2" since epoch 2, "w1" since epoch 2`)
	f.Add(`epoch 1; nominating since 2026-01-01T12:00:00Z; may still run on "w2" since epoch 2`)
	f.Add(`epoch 1; nominating since 2026`)
	f.Add(`epoch 9223372036854775807 of reservation "r"; may still run on "w1" since epoch 9223372036854775806`)
	f.Add(`epoch 2; may still run on "w1" since epoch 1 unless stopped with its job gone since 2026-01-01T12:00:00Z, "w2" since epoch 1`)
	f.Fuzz(func(t *testing.T, message string) {
		s := Decode(&Record{Message: message}, nil, "")
		if s.Epoch < 1 || s.Epoch > MaxEpoch {
			t.Errorf("epoch %d", s.Epoch)
		}
		if !slices.IsSortedFunc(s.Debts, func(a, b Debt) int { return strings.Compare(a.Cluster, b.Cluster) }) {
			t.Errorf("debts are not sorted: %+v", s.Debts)
		}
	})
}
