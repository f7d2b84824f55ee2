package amount

import (
	"cmp"
	"slices"
)

// Request is an amount of one resource.
type Request struct {
	Resource string
	Amount   Amount
}

// Vector is a list of requests sorted by resource name, each name once.
type Vector []Request

// NewVector sorts requests into a Vector, adding up those that name the same resource.
func NewVector(requests ...Request) Vector {
	sorted := slices.Clone(requests)
	slices.SortStableFunc(sorted, func(a, b Request) int { return cmp.Compare(a.Resource, b.Resource) })
	out := sorted[:0]
	for _, r := range sorted {
		if n := len(out); n > 0 && out[n-1].Resource == r.Resource {
			out[n-1].Amount = out[n-1].Amount.Add(r.Amount)
			continue
		}
		out = append(out, r)
	}
	return Vector(out)
}

// Lookup returns the amount of the resource and whether the vector names it at all.
func (v Vector) Lookup(resource string) (Amount, bool) {
	i, found := slices.BinarySearchFunc(v, resource, func(r Request, name string) int {
		return cmp.Compare(r.Resource, name)
	})
	if !found {
		return 0, false
	}
	return v[i].Amount, true
}

// Times returns the vector repeated n times.
func (v Vector) Times(n int64) Vector {
	out := make(Vector, len(v))
	for i, r := range v {
		out[i] = Request{Resource: r.Resource, Amount: r.Amount.Times(n)}
	}
	return out
}

// Plus returns the sum of two vectors.
func (v Vector) Plus(w Vector) Vector {
	return NewVector(append(slices.Clone(v), w...)...)
}
