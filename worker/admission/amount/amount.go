// Package amount knows how much: integers that saturate instead of overflowing, and vectors of them by resource name.
//
// Units: an Amount of cpu counts thousandths of a core; an Amount of anything else counts whole base units (bytes,
// devices, pods), rounded up. Turning a Kubernetes quantity into an Amount is the shell's work (worker/view): ask
// UnitOf which scale a resource has and round up, so that no request is ever counted for less than it is.
package amount

import (
	"math"
)

// Amount is a quantity of one resource in the unit that UnitOf names. Arithmetic saturates at both ends of int64.
type Amount int64

// Unlimited is the largest Amount. As a limit it means "none": adding to it or taking from it leaves it as it is.
const Unlimited Amount = math.MaxInt64

// minAmount is where subtraction saturates.
const minAmount Amount = math.MinInt64

// Add returns a+b, saturating; an Unlimited operand makes the sum Unlimited.
func (a Amount) Add(b Amount) Amount {
	switch {
	case a == Unlimited || b == Unlimited:
		return Unlimited
	case b > 0 && a > Unlimited-b:
		return Unlimited
	case b < 0 && a < minAmount-b:
		return minAmount
	}
	return a + b
}

// Sub returns a-b, saturating; Unlimited minus anything is Unlimited.
func (a Amount) Sub(b Amount) Amount {
	switch {
	case a == Unlimited:
		return Unlimited
	case b < 0 && a > Unlimited+b:
		return Unlimited
	case b > 0 && a < minAmount+b:
		return minAmount
	}
	return a - b
}

// Times returns a repeated n times, saturating; n must not be negative. Zero times anything, Unlimited included, is zero.
func (a Amount) Times(n int64) Amount {
	if n < 0 {
		panic("amount: Times needs a count that is not negative")
	}
	if a == 0 || n == 0 {
		return 0
	}
	if a > 0 && int64(a) > math.MaxInt64/n {
		return Unlimited
	}
	if a < 0 && int64(a) < math.MinInt64/n {
		return minAmount
	}
	return a * Amount(n)
}

// AtLeast returns the larger of a and floor.
func (a Amount) AtLeast(floor Amount) Amount { return max(a, floor) }
