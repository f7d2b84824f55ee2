package amount

import (
	"math"
	"math/bits"
)

// Sum adds up amounts in 128 bits. Unlike an Amount it never saturates, so that taking away what was put in restores the
// sum exactly however absurd the amounts were; a saturated Amount would have forgotten how much it held.
type Sum struct {
	high int64
	low  uint64
}

// NewSum returns the sum that holds just a.
func NewSum(a Amount) Sum { return Sum{high: int64(a) >> 63, low: uint64(a)} }

// Plus returns s+t.
func (s Sum) Plus(t Sum) Sum {
	low, carry := bits.Add64(s.low, t.low, 0)
	return Sum{high: s.high + t.high + int64(carry), low: low}
}

// Minus returns s-t.
func (s Sum) Minus(t Sum) Sum {
	low, borrow := bits.Sub64(s.low, t.low, 0)
	return Sum{high: s.high - t.high - int64(borrow), low: low}
}

// Excess returns the part of s above limit, zero if there is none. Nothing is above Unlimited.
func (s Sum) Excess(limit Amount) Sum {
	if limit == Unlimited {
		return Sum{}
	}
	over := s.Minus(NewSum(limit))
	if over.high < 0 {
		return Sum{}
	}
	return over
}

// Remaining returns limit-s, saturating: what can still be added before s exceeds limit, negative if it already does. Room
// below Unlimited is Unlimited.
func (s Sum) Remaining(limit Amount) Amount {
	if limit == Unlimited {
		return Unlimited
	}
	return NewSum(limit).Minus(s).Amount()
}

// Amount returns the sum as an Amount, saturating.
func (s Sum) Amount() Amount {
	switch fits := s.high == int64(s.low)>>63; {
	case fits:
		return Amount(s.low)
	case s.high < 0:
		return minAmount
	}
	return math.MaxInt64
}
