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

func exact(x fixed) *big.Int {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(x.whole), 64)
	return n.Add(n, new(big.Int).SetUint64(x.part))
}

// near reports whether two numbers in 2^-64ths differ by no more than the given count of them.
func near(a, b *big.Int, by int64) bool {
	return new(big.Int).Abs(new(big.Int).Sub(a, b)).Cmp(big.NewInt(by)) <= 0
}

func number(whole, part uint64) fixed { return fixed{whole >> 2, part} }

func FuzzDecayIsLinearAndStaysBetween(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint64(3), uint64(4), uint64(5))
	f.Add(uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(0), uint64(0), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, a, b, c, d, k uint64) {
		keep := fraction(k)
		x, y, u, v := number(a, b), number(b, c), number(c, 0), number(d, 0)
		is := decayed(x, u, keep)
		low, high := exact(x), exact(u)
		if low.Cmp(high) > 0 {
			low, high = high, low
		}
		if got := exact(is); got.Cmp(new(big.Int).Sub(low, big.NewInt(1))) < 0 || got.Cmp(new(big.Int).Add(high, big.NewInt(1))) > 0 {
			t.Errorf("%v towards %v gives %v", x, u, is)
		}
		if decayed(u, u, keep) != u {
			t.Errorf("what is used as before changes: %v", decayed(u, u, keep))
		}
		if decayed(x, u, 0) != u {
			t.Error("without memory something else than the present counts")
		}
		sum := exact(decayed(x.plus(y), u.plus(v), keep))
		parts := exact(is.plus(decayed(y, v, keep)))
		if !near(sum, parts, 4) {
			t.Errorf("the whole decays to %v, its parts to %v", sum, parts)
		}
		if !near(exact(decayed(x, u, keep)), exact(keep.of(x).plus(penalty(u, keep))), 0) {
			t.Error("an interval's use and the penalty differ")
		}
	})
}

func FuzzATotalForgetsNothing(f *testing.F) {
	f.Add(uint64(math.MaxUint64), uint64(1), uint64(3))
	f.Fuzz(func(t *testing.T, a, b, c uint64) {
		x, y, z := fixed{a, b}, fixed{b, c}, fixed{c, a}
		if got := (total{}).plus(x).plus(y).plus(z).minus(x).minus(z); got != (total{low: y}) {
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
			if got := milli(resource, fromMilli(resource, amount.Amount(n))); got != want {
				t.Errorf("%s: %d is read as %d", resource, n, got)
			}
		}
	})
}

// FuzzPenaltiesAreSettledOnce plays a history of reservations on two LocalQueues, against books that keep every workload's
// state: each figure is what admitted workloads consumed plus what is held and not admitted.
func FuzzPenaltiesAreSettledOnce(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x10\x21\x32\x43\x54"))
	f.Fuzz(func(t *testing.T, history []byte) {
		l := NewLedger(Options{HalfLife: time.Hour, Interval: time.Hour})
		l.Open(epoch, red, quota.Weight{}, Account{})
		l.Open(epoch, blue, quota.Weight{}, Account{})
		held := map[admission.Key]admission.Key{}
		settled := map[admission.Key]amount.Amount{}
		for _, b := range history {
			workload := admission.Key{Name: string(rune('a' + b>>4))}
			local := []admission.Key{red, blue}[b>>3&1]
			switch b & 7 {
			case 0, 1, 2:
				l.Enter(workload, local, amount.NewVector(cpu(2)))
				held[workload] = local
			case 3, 4:
				l.Settle(workload)
				if at, found := held[workload]; found {
					settled[at]++
				}
				delete(held, workload)
			default:
				l.Leave(workload)
				delete(held, workload)
			}
			for _, k := range []admission.Key{red, blue} {
				want := settled[k]
				for _, at := range held {
					if at == k {
						want++
					}
				}
				if got := figureOf(t, l, k); got != want {
					t.Fatalf("%s has %d, want %d", k, got, want)
				}
			}
		}
	})
}
