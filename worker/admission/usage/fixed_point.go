package usage

import (
	"math"
	"math/bits"
	"time"

	"switchyard.dev/worker/admission/amount"
)

// fixedPoint is a number that is not negative, in units of an amount: the whole part, below 2^63, and 2^-64ths.
type fixedPoint struct {
	whole, frac uint64
}

const maxWhole = uint64(amount.Unlimited)

func newFixedPoint(a amount.Amount) fixedPoint { return fixedPoint{whole: uint64(max(a, 0))} }

// plus saturates.
func (x fixedPoint) plus(y fixedPoint) fixedPoint {
	part, carry := bits.Add64(x.frac, y.frac, 0)
	whole := x.whole + y.whole + carry
	if whole > maxWhole {
		return fixedPoint{whole: maxWhole}
	}
	return fixedPoint{whole, part}
}

// minus is x-y, which must not be negative.
func (x fixedPoint) minus(y fixedPoint) fixedPoint {
	part, borrow := bits.Sub64(x.frac, y.frac, 0)
	whole, borrow := bits.Sub64(x.whole, y.whole, borrow)
	if borrow != 0 {
		panic("usage: no number is negative")
	}
	return fixedPoint{whole, part}
}

// exactSum adds up numbers without saturating, so that taking away what was put in restores it however absurd they were.
type exactSum struct {
	overflow uint64
	low      fixedPoint
}

func (t exactSum) plus(x fixedPoint) exactSum {
	part, carry := bits.Add64(t.low.frac, x.frac, 0)
	whole, carry := bits.Add64(t.low.whole, x.whole, carry)
	return exactSum{t.overflow + carry, fixedPoint{whole, part}}
}

func (t exactSum) minus(x fixedPoint) exactSum {
	part, borrow := bits.Sub64(t.low.frac, x.frac, 0)
	whole, borrow := bits.Sub64(t.low.whole, x.whole, borrow)
	return exactSum{t.overflow - borrow, fixedPoint{whole, part}}
}

// saturated is the total, saturating.
func (t exactSum) saturated() fixedPoint {
	if t.overflow > 0 || t.low.whole > maxWhole {
		return fixedPoint{whole: maxWhole}
	}
	return t.low
}

// fraction is a number of at least 0 and less than 1, in 2^-64ths.
type fraction uint64

// multiply is the fraction of x, rounded down to the last place.
func (f fraction) multiply(x fixedPoint) fixedPoint {
	whole, part := bits.Mul64(x.whole, uint64(f))
	rest, _ := bits.Mul64(x.frac, uint64(f))
	part, carry := bits.Add64(part, rest, 0)
	return fixedPoint{whole + carry, part}
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

// retainedFraction is the part of the old value that is left after an interval: half of it after a half-life, nothing without one.
func retainedFraction(interval, halfLife time.Duration) fraction {
	if halfLife <= 0 {
		return 0
	}
	kept := math.Ldexp(math.Exp2(-float64(interval)/float64(halfLife)), 64)
	if kept >= math.Ldexp(1, 64) {
		return math.MaxUint64 // The interval is too short to tell from none.
	}
	return fraction(kept)
}

// decayTowards is what is left of x when keep of it is kept and the rest is made up from y. It lies between the two, and equals
// them if they are equal.
func decayTowards(x, y fixedPoint, keep fraction) fixedPoint {
	return keep.multiply(x).plus(y.minus(keep.multiply(y)))
}

// entryPenalty is the part of y that a single interval makes up.
func entryPenalty(y fixedPoint, keep fraction) fixedPoint { return y.minus(keep.multiply(y)) }
