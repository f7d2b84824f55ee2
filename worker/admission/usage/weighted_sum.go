package usage

import (
	"math/bits"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// toMilli is x of the resource in thousandths of its base unit (core, byte, device), rounded to the nearest.
func toMilli(resource string, x fixedPoint) uint64 {
	if amount.UnitOf(resource) == amount.Milli {
		return min(x.whole+x.frac>>63, maxWhole)
	}
	high, low := bits.Mul64(x.whole, 1000)
	rest, half := bits.Mul64(x.frac, 1000)
	low, carry := bits.Add64(low, rest+half>>63, 0)
	if high+carry > 0 || low > maxWhole {
		return maxWhole
	}
	return low
}

// fromMilli is the opposite of milli.
func fromMilli(resource string, a amount.Amount) fixedPoint {
	n := uint64(max(a, 0))
	if amount.UnitOf(resource) == amount.Milli {
		return fixedPoint{whole: n}
	}
	part, _ := bits.Div64(n%1000, 0, 1000)
	return fixedPoint{n / 1000, part}
}

// weightedSum is a sum of weighted thousandths in 128 bits that saturates.
type weightedSum struct {
	high, low uint64
}

// plus adds thousandths times a weight. A sum that would overflow stays at the largest value.
func (f weightedSum) plus(thousandths uint64, w quota.Weight) weightedSum {
	high, low := bits.Mul64(thousandths, uint64(max(w.Billionths(), 0)))
	var carry uint64
	f.low, carry = bits.Add64(f.low, low, 0)
	f.high, carry = bits.Add64(f.high, high, carry)
	if carry != 0 {
		f.high, f.low = ^uint64(0), ^uint64(0)
	}
	return f
}

// dividedBy divides by the weight of the LocalQueue. Nothing finite is as large as the figure of one without weight.
func (f weightedSum) dividedBy(w quota.Weight) amount.Amount {
	by := uint64(max(w.Billionths(), 0))
	if by == 0 {
		return amount.Unlimited
	}
	if f.high >= by {
		return amount.Unlimited - 1
	}
	quotient, _ := bits.Div64(f.high, f.low, by)
	return amount.Amount(min(quotient, maxWhole-1))
}
