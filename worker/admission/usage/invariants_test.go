package usage

import (
	"math"
	"math/big"
	"testing"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

func toBigInt(x fixedPoint) *big.Int {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(x.whole), 64)
	return n.Add(n, new(big.Int).SetUint64(x.frac))
}

// isWithin reports whether two numbers in 2^-64ths differ by no more than the given count of them.
func isWithin(a, b *big.Int, by int64) bool {
	return new(big.Int).Abs(new(big.Int).Sub(a, b)).Cmp(big.NewInt(by)) <= 0
}

func fixedPointFromBits(whole, part uint64) fixedPoint { return fixedPoint{whole >> 2, part} }

func FuzzDecayIsLinearAndBounded(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint64(3), uint64(4), uint64(5))
	f.Add(uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(0), uint64(0), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, a, b, c, d, k uint64) {
		keep := fraction(k)
		x, y, u, v := fixedPointFromBits(a, b), fixedPointFromBits(b, c), fixedPointFromBits(c, 0), fixedPointFromBits(d, 0)
		is := decayTowards(x, u, keep)
		low, high := toBigInt(x), toBigInt(u)
		if low.Cmp(high) > 0 {
			low, high = high, low
		}
		if got := toBigInt(is); got.Cmp(new(big.Int).Sub(low, big.NewInt(1))) < 0 || got.Cmp(new(big.Int).Add(high, big.NewInt(1))) > 0 {
			t.Errorf("%v towards %v gives %v", x, u, is)
		}
		if decayTowards(u, u, keep) != u {
			t.Errorf("what is used as before changes: %v", decayTowards(u, u, keep))
		}
		if decayTowards(x, u, 0) != u {
			t.Error("without memory something else than the present counts")
		}
		sum := toBigInt(decayTowards(x.plus(y), u.plus(v), keep))
		parts := toBigInt(is.plus(decayTowards(y, v, keep)))
		if !isWithin(sum, parts, 4) {
			t.Errorf("the whole decays to %v, its parts to %v", sum, parts)
		}
		if !isWithin(toBigInt(decayTowards(x, u, keep)), toBigInt(keep.multiply(x).plus(entryPenalty(u, keep))), 0) {
			t.Error("an interval's use and the penalty differ")
		}
	})
}

func FuzzExactSumIsReversible(f *testing.F) {
	f.Add(uint64(math.MaxUint64), uint64(1), uint64(3))
	f.Fuzz(func(t *testing.T, a, b, c uint64) {
		x, y, z := fixedPoint{a, b}, fixedPoint{b, c}, fixedPoint{c, a}
		if got := (exactSum{}).plus(x).plus(y).plus(z).minus(x).minus(z); got != (exactSum{low: y}) {
			t.Errorf("%v is left of %v", got, y)
		}
	})
}

func FuzzMilliAndBack(f *testing.F) {
	f.Add(int64(1999))
	f.Add(int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, n int64) {
		want := uint64(max(n, 0))
		for _, resource := range []string{"cpu", "gpu"} {
			if got := toMilli(resource, fromMilli(resource, amount.Amount(n))); got != want {
				t.Errorf("%s: %d is read as %d", resource, n, got)
			}
		}
	})
}

// FuzzPenaltiesAreConsumedOnce plays a history of reservations on two LocalQueues, against books that keep every workload's
// state: each figure is what admitted workloads consumed plus what is held and not admitted.
func FuzzPenaltiesAreConsumedOnce(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x10\x21\x32\x43\x54"))
	f.Fuzz(func(t *testing.T, history []byte) {
		l := NewTracker(Options{HalfLife: time.Hour, Interval: time.Hour})
		l.AddLocalQueue(epoch, red, quota.Weight{}, LocalQueueUsage{})
		l.AddLocalQueue(epoch, blue, quota.Weight{}, LocalQueueUsage{})
		held := map[admission.Key]admission.Key{}
		settled := map[admission.Key]amount.Amount{}
		for _, b := range history {
			workload := admission.Key{Name: string(rune('a' + b>>4))}
			local := []admission.Key{red, blue}[b>>3&1]
			switch b & 7 {
			case 0, 1, 2:
				l.AddPenalty(workload, local, amount.NewVector(cpu(2)))
				held[workload] = local
			case 3, 4:
				l.ConsumePenalty(workload)
				if at, found := held[workload]; found {
					settled[at]++
				}
				delete(held, workload)
			default:
				l.RemovePenalty(workload)
				delete(held, workload)
			}
			for _, k := range []admission.Key{red, blue} {
				want := settled[k]
				for _, at := range held {
					if at == k {
						want++
					}
				}
				if got := weightedUsageOf(t, l, k); got != want {
					t.Fatalf("%s has %d, want %d", k, got, want)
				}
			}
		}
	})
}
