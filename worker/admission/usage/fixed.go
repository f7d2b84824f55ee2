package usage

import (
	"math"
	"math/bits"
	"time"

	"switchyard.dev/worker/admission/amount"
)

// fixed is a number that is not negative, in units of an amount: the whole part, below 2^63, and 2^-64ths.
type fixed struct {
	whole, part uint64
}

const most = uint64(amount.Unlimited)

func fixedOf(a amount.Amount) fixed { return fixed{whole: uint64(max(a, 0))} }

// plus saturates.
func (x fixed) plus(y fixed) fixed {
	part, carry := bits.Add64(x.part, y.part, 0)
	whole := x.whole + y.whole + carry
	if whole > most {
		return fixed{whole: most}
	}
	return fixed{whole, part}
}

// minus is x-y, which must not be negative.
func (x fixed) minus(y fixed) fixed {
	part, borrow := bits.Sub64(x.part, y.part, 0)
	whole, borrow := bits.Sub64(x.whole, y.whole, borrow)
	if borrow != 0 {
		panic("usage: no number is negative")
	}
	return fixed{whole, part}
}

// total adds up numbers without saturating, so that taking away what was put in restores it however absurd they were.
type total struct {
	over uint64
	low  fixed
}

func (t total) plus(x fixed) total {
	part, carry := bits.Add64(t.low.part, x.part, 0)
	whole, carry := bits.Add64(t.low.whole, x.whole, carry)
	return total{t.over + carry, fixed{whole, part}}
}

func (t total) minus(x fixed) total {
	part, borrow := bits.Sub64(t.low.part, x.part, 0)
	whole, borrow := bits.Sub64(t.low.whole, x.whole, borrow)
	return total{t.over - borrow, fixed{whole, part}}
}

// number is the total, saturating.
func (t total) number() fixed {
	if t.over > 0 || t.low.whole > most {
		return fixed{whole: most}
	}
	return t.low
}

// fraction is a number of at least 0 and less than 1, in 2^-64ths.
type fraction uint64

// of is the fraction of x, rounded down to the last place.
func (f fraction) of(x fixed) fixed {
	whole, part := bits.Mul64(x.whole, uint64(f))
	rest, _ := bits.Mul64(x.part, uint64(f))
	part, carry := bits.Add64(part, rest, 0)
	return fixed{whole + carry, part}
}

// power is f multiplied n times by itself; n must be at least 1.
func (f fraction) power(n uint64) fraction {
	result, square := f, f
	for n--; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = result.times(square)
		}
		square = square.times(square)
	}
	return result
}

func (f fraction) times(g fraction) fraction {
	product, _ := bits.Mul64(uint64(f), uint64(g))
	return fraction(product)
}

// keeps is the part of the old value that is left after an interval: half of it after a half-life, nothing without one.
func keeps(interval, halfLife time.Duration) fraction {
	if halfLife <= 0 {
		return 0
	}
	kept := math.Ldexp(math.Exp2(-float64(interval)/float64(halfLife)), 64)
	if kept >= math.Ldexp(1, 64) {
		return math.MaxUint64 // The interval is too short to tell from none.
	}
	return fraction(kept)
}

// decayed is what is left of x when keep of it is kept and the rest is made up from y. It lies between the two, and equals
// them if they are equal.
func decayed(x, y fixed, keep fraction) fixed { return keep.of(x).plus(y.minus(keep.of(y))) }

// penalty is the part of y that a single interval makes up.
func penalty(y fixed, keep fraction) fixed { return y.minus(keep.of(y)) }
