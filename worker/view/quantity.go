package view

import (
	"math"
	"math/big"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"switchyard.dev/worker/admission/amount"
)

// AmountOf turns a quantity of the named resource into an amount, rounding up to the unit and saturating at both ends.
func AmountOf(name string, q resource.Quantity) amount.Amount {
	factor := int64(1)
	if amount.UnitOf(name) == amount.Milli {
		factor = 1000
	}
	if whole, ok := q.AsInt64(); ok {
		return amount.Amount(whole).Times(factor)
	}
	return roundUp(q, factor)
}

// roundUp is the slow way, for quantities that are fractions or do not fit in 64 bits; Quantity.ScaledValue would answer 0
// for the latter.
func roundUp(q resource.Quantity, factor int64) amount.Amount {
	dec := q.DeepCopy()
	parts := dec.AsDec()
	n := new(big.Int).Mul(parts.UnscaledBig(), big.NewInt(factor))
	scale := int64(parts.Scale())
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(scale, -scale)), nil)
	if scale <= 0 {
		return saturate(n.Mul(n, power))
	}
	quotient, rest := new(big.Int).DivMod(n, power, new(big.Int))
	if rest.Sign() != 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return saturate(quotient)
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

// QuantityOf is the canonical quantity of an amount: decimal for cpu and countable devices, binary for bytes.
func QuantityOf(name string, a amount.Amount) resource.Quantity {
	if amount.UnitOf(name) == amount.Milli {
		return *resource.NewMilliQuantity(int64(a), resource.DecimalSI)
	}
	return *resource.NewQuantity(int64(a), formatOf(name))
}

func formatOf(name string) resource.Format {
	bytes := []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourceStorage}
	if slices.Contains(bytes, corev1.ResourceName(name)) || strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) {
		return resource.BinarySI
	}
	return resource.DecimalSI
}

// vectorOf turns a resource list into a vector.
func vectorOf(list corev1.ResourceList) amount.Vector {
	requests := make([]amount.Request, 0, len(list))
	for name, q := range list {
		requests = append(requests, amount.Request{Resource: string(name), Amount: AmountOf(string(name), q)})
	}
	return amount.NewVector(requests...)
}

// ListOf turns a vector into a resource list of canonical quantities.
func ListOf(v amount.Vector) corev1.ResourceList {
	list := make(corev1.ResourceList, len(v))
	for _, r := range v {
		list[corev1.ResourceName(r.Resource)] = QuantityOf(r.Resource, r.Amount)
	}
	return list
}
