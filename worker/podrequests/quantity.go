package podrequests

import (
	"math"
	"math/big"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// ToAmount turns a quantity of the named resource into an amount, rounding up to the unit and saturating at both ends.
func ToAmount(name string, q resource.Quantity) amount.Amount {
	if whole, ok := q.AsInt64(); ok {
		return amount.Amount(whole).Times(parseFactor(name))
	}
	return roundToAmount(name, rational(q))
}

// roundUp is the slow way, for quantities that are fractions or do not fit in 64 bits; Quantity.ScaledValue would answer 0
// for the latter.
func roundUp(x *big.Rat, factor int64) amount.Amount {
	x.Mul(x, new(big.Rat).SetInt64(factor))
	quotient, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return saturate(quotient)
}

// maxExponent is the decimal exponent that no quantity goes beyond in earnest: what is larger is unlimited all the same.
const maxExponent = 100

// rational is the exact value of a quantity.
func rational(q resource.Quantity) *big.Rat {
	dec := q.DeepCopy()
	parts := dec.AsDec()
	scale := min(max(int64(parts.Scale()), -maxExponent), maxExponent)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(scale, -scale)), nil)
	if scale <= 0 {
		return new(big.Rat).SetInt(power.Mul(power, parts.UnscaledBig()))
	}
	return new(big.Rat).SetFrac(parts.UnscaledBig(), power)
}

// roundToAmount counts in the unit of the resource, rounding up.
func roundToAmount(name string, x *big.Rat) amount.Amount { return roundUp(x, parseFactor(name)) }

func parseFactor(name string) int64 {
	if amount.UnitOf(name) == amount.Milli {
		return 1000
	}
	return 1
}

// ToThousandths counts a quantity in thousandths, rounding up.
func ToThousandths(q resource.Quantity) amount.Amount { return roundUp(rational(q), 1000) }

// ToBillionths counts a quantity in billionths, rounding up, from 0 up to the largest weight.
func ToBillionths(q resource.Quantity) int64 {
	return int64(min(max(roundUp(rational(q), quota.UnitWeight), 0), amount.Unlimited))
}

func saturate(n *big.Int) amount.Amount {
	switch {
	case n.IsInt64():
		return amount.Amount(n.Int64())
	case n.Sign() < 0:
		return amount.Amount(math.MinInt64)
	}
	return amount.Unlimited
}

// ToQuantity is the canonical quantity of an amount: decimal for cpu and countable devices, binary for bytes.
func ToQuantity(name string, a amount.Amount) resource.Quantity {
	if amount.UnitOf(name) == amount.Milli {
		return *resource.NewMilliQuantity(int64(a), resource.DecimalSI)
	}
	return *resource.NewQuantity(int64(a), quantityFormat(name))
}

func quantityFormat(name string) resource.Format {
	bytes := []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourceStorage}
	if slices.Contains(bytes, corev1.ResourceName(name)) || strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) {
		return resource.BinarySI
	}
	return resource.DecimalSI
}

// ToVector turns a resource list into a vector.
func ToVector(list corev1.ResourceList) amount.Vector {
	requests := make([]amount.Request, 0, len(list))
	for name, q := range list {
		requests = append(requests, amount.Request{Resource: string(name), Amount: ToAmount(string(name), q)})
	}
	return amount.NewVector(requests...)
}

// ToResourceList turns a vector into a resource list of canonical quantities.
func ToResourceList(v amount.Vector) corev1.ResourceList {
	list := make(corev1.ResourceList, len(v))
	for _, r := range v {
		list[corev1.ResourceName(r.Resource)] = ToQuantity(r.Resource, r.Amount)
	}
	return list
}
