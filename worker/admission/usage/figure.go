package usage

import (
	"math/bits"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// milli is x of the resource in thousandths of its base unit (core, byte, device), rounded to the nearest.
func milli(resource string, x fixed) uint64 {
	if amount.UnitOf(resource) == amount.Milli {
		return min(x.whole+x.part>>63, most)
	}
	high, low := bits.Mul64(x.whole, 1000)
	rest, half := bits.Mul64(x.part, 1000)
	low, carry := bits.Add64(low, rest+half>>63, 0)
	if high+carry > 0 || low > most {
		return most
	}
	return low
}

// fromMilli is the opposite of milli.
func fromMilli(resource string, a amount.Amount) fixed {
	n := uint64(max(a, 0))
	if amount.UnitOf(resource) == amount.Milli {
		return fixed{whole: n}
	}
	part, _ := bits.Div64(n%1000, 0, 1000)
	return fixed{n / 1000, part}
}

// figure is a sum of weighted thousandths in 128 bits that saturates.
type figure struct {
	high, low uint64
}

func (f figure) plus(thousandths uint64, w quota.Weight) figure {
	high, low := bits.Mul64(thousandths, uint64(max(w.Billionths(), 0)))
	var carry uint64
	f.low, carry = bits.Add64(f.low, low, 0)
	f.high, carry = bits.Add64(f.high, high, carry)
	if carry != 0 {
		f.high, f.low = ^uint64(0), ^uint64(0)
	}
	return f
}

// over divides by the weight of the LocalQueue. Nothing finite is as large as the figure of one without weight.
func (f figure) over(w quota.Weight) amount.Amount {
	by := uint64(max(w.Billionths(), 0))
	if by == 0 {
		return amount.Unlimited
	}
	if f.high >= by {
		return amount.Unlimited - 1
	}
	quotient, _ := bits.Div64(f.high, f.low, by)
	return amount.Amount(min(quotient, most-1))
}
