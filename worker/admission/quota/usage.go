package quota

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/amount"
)

// FlavorResource names what quota is counted in: one resource of one flavor.
type FlavorResource struct {
	Flavor   string
	Resource string
}

// Compare orders flavor-resources by flavor, then resource.
func (a FlavorResource) Compare(b FlavorResource) int {
	return cmp.Or(cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
}

// Use is an amount of one flavor-resource.
type Use struct {
	FlavorResource
	Amount amount.Amount
}

// Usage is a list of uses sorted by flavor and resource, each pair once.
type Usage []Use

// NewUsage sorts uses into a Usage, adding up those of the same flavor-resource.
func NewUsage(uses ...Use) Usage { return MergeUses(slices.Clone(uses)) }

// MergeUses is NewUsage in the memory of uses, which the caller gives away.
func MergeUses(uses []Use) Usage {
	slices.SortFunc(uses, func(a, b Use) int { return a.Compare(b.FlavorResource) })
	out := uses[:0]
	for _, u := range uses {
		if n := len(out); n > 0 && out[n-1].FlavorResource == u.FlavorResource {
			out[n-1].Amount = out[n-1].Amount.Add(u.Amount)
			continue
		}
		out = append(out, u)
	}
	return Usage(out)
}

// Beyond returns what u takes beyond v.
func (u Usage) Beyond(v Usage) Usage {
	beyond := make(Usage, 0, len(u))
	for _, use := range u {
		use.Amount = use.Amount.Sub(v.Amount(use.FlavorResource)).AtLeast(0)
		beyond = append(beyond, use)
	}
	return beyond
}

// Amount returns what u takes of the flavor-resource.
func (u Usage) Amount(name FlavorResource) amount.Amount {
	i, found := slices.BinarySearchFunc(u, name, func(w Use, name FlavorResource) int { return w.Compare(name) })
	if !found {
		return 0
	}
	return u[i].Amount
}

// IsWithin reports whether u takes no more of anything than v.
func (u Usage) IsWithin(v Usage) bool {
	for _, use := range u {
		if use.Amount > 0 && v.Amount(use.FlavorResource) < use.Amount {
			return false
		}
	}
	return true
}
