package amount

import (
	"math"
	"math/big"
	"testing"
)

func TestArithmeticSaturatesInsteadOfOverflowing(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want Amount
	}{
		{"a sum beyond the top is unlimited", Amount(math.MaxInt64 - 1).Add(2), Unlimited},
		{"a sum beyond the bottom stays at the bottom", minAmount.Add(-1), minAmount},
		{"unlimited plus something negative stays unlimited", Unlimited.Add(-5), Unlimited},
		{"unlimited less anything stays unlimited", Unlimited.Sub(Unlimited), Unlimited},
		{"a difference beyond the bottom stays at the bottom", Amount(-2).Sub(Unlimited), minAmount},
		{"a difference beyond the top is unlimited", Amount(2).Sub(minAmount), Unlimited},
		{"a product beyond the top is unlimited", Amount(1 << 40).Times(1 << 40), Unlimited},
		{"a product beyond the bottom stays at the bottom", Amount(-1 << 40).Times(1 << 40), minAmount},
		{"no times unlimited is nothing", Unlimited.Times(0), 0},
		{"ordinary numbers add", Amount(2).Add(3), 5},
		{"ordinary numbers subtract", Amount(2).Sub(3), -1},
		{"ordinary numbers multiply", Amount(-2).Times(3), -6},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %d, want %d", c.got, c.want)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		resource string
		amount   Amount
		want     string
	}{
		{"cpu", 1500, "1500m"},
		{"cpu", 2000, "2"},
		{"cpu", 0, "0"},
		{"memory", 4 << 30, "4Gi"},
		{"memory", 4<<30 + 1, "4294967297"},
		{"memory", 1000, "1000"},
		{"nvidia.com/gpu", 8, "8"},
		{"nvidia.com/gpu", -3, "-3"},
		{"memory", Unlimited, "<unlimited>"},
		{"cpu", Unlimited, "<unlimited>"},
	} {
		if got := Format(c.resource, c.amount); got != c.want {
			t.Errorf("%d of %s reads %q, want %q", c.amount, c.resource, got, c.want)
		}
	}
}

func TestUnitOf(t *testing.T) {
	if UnitOf("cpu") != Milli || UnitOf("memory") != BaseUnit || UnitOf("requests.cpu") != BaseUnit {
		t.Error("cpu and nothing else counts in thousandths")
	}
}

func TestAVectorIsSortedAndNamesEachResourceOnce(t *testing.T) {
	v := NewVector(Request{"memory", 2}, Request{"cpu", 1}, Request{"memory", 3})
	if len(v) != 2 || v[0] != (Request{"cpu", 1}) || v[1] != (Request{"memory", 5}) {
		t.Fatalf("got %v", v)
	}
	if got, found := v.Lookup("memory"); got != 5 || !found {
		t.Errorf("memory is %d, %v", got, found)
	}
	if _, found := v.Lookup("gpu"); found {
		t.Error("gpu was never named")
	}
	if sum := v.Times(2).Plus(Vector{{"cpu", 1}}); sum[0].Amount != 3 || sum[1].Amount != 10 {
		t.Errorf("twice and one cpu more is %v", sum)
	}
}

func FuzzSumIsReversible(f *testing.F) {
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64))
	f.Add(int64(-1), int64(1), int64(0))
	f.Fuzz(func(t *testing.T, a, b, limit int64) {
		sum := NewSum(Amount(a)).Plus(NewSum(Amount(b)))
		if sum.Minus(NewSum(Amount(b))) != NewSum(Amount(a)) {
			t.Errorf("%d+%d-%d is not what it was", a, b, b)
		}
		exact := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		if got, want := sum.Amount(), clamp(exact); got != want {
			t.Errorf("%d+%d is %d, want %d", a, b, got, want)
		}
		if Amount(limit) == Unlimited {
			return
		}
		room := new(big.Int).Sub(big.NewInt(limit), exact)
		if got, want := sum.Remaining(Amount(limit)), clamp(room); got != want {
			t.Errorf("room below %d over %v is %d, want %d", limit, exact, got, want)
		}
		over := new(big.Int).Neg(room)
		if over.Sign() < 0 {
			over.SetInt64(0)
		}
		if got, want := sum.Excess(Amount(limit)).Amount(), clamp(over); got != want {
			t.Errorf("%v over %d is %d, want %d", exact, limit, got, want)
		}
	})
}

func FuzzArithmeticIsClampedIntegerArithmetic(f *testing.F) {
	f.Add(int64(1), int64(2), uint32(3))
	f.Add(int64(math.MaxInt64-1), int64(math.MinInt64), uint32(math.MaxUint32))
	f.Fuzz(func(t *testing.T, a, b int64, n uint32) {
		x, y := big.NewInt(a), big.NewInt(b)
		if Amount(a) == Unlimited || Amount(b) == Unlimited {
			return
		}
		if got, want := Amount(a).Add(Amount(b)), clamp(new(big.Int).Add(x, y)); got != want {
			t.Errorf("%d+%d is %d, want %d", a, b, got, want)
		}
		if got, want := Amount(a).Sub(Amount(b)), clamp(new(big.Int).Sub(x, y)); got != want {
			t.Errorf("%d-%d is %d, want %d", a, b, got, want)
		}
		if got, want := Amount(a).Times(int64(n)), clamp(new(big.Int).Mul(x, big.NewInt(int64(n)))); got != want {
			t.Errorf("%d*%d is %d, want %d", a, n, got, want)
		}
	})
}

func clamp(x *big.Int) Amount {
	switch {
	case x.IsInt64():
		return Amount(x.Int64())
	case x.Sign() < 0:
		return minAmount
	}
	return Unlimited
}
