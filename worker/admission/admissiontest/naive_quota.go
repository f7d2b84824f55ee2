package admissiontest

import (
	"math/big"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// NaiveQuota answers the questions of the quota tree about one flavor-resource by walking over all facts each time, word for
// word as the contract defines them (kueue-api.md 4.5), in numbers without bounds. A nil number is an unlimited one.
type NaiveQuota struct {
	facts *Facts
	name  quota.FlavorResource
}

// NaiveQuota returns the account of a flavor-resource.
func (f *Facts) NaiveQuota(name quota.FlavorResource) NaiveQuota {
	return NaiveQuota{facts: f, name: name}
}

// Node is a node of the tree: a queue or a cohort by name.
type Node struct {
	name   string
	cohort bool
}

// QueueNode names a queue.
func QueueNode(name string) Node { return Node{name: name} }

// CohortNode names a cohort.
func CohortNode(name string) Node { return Node{name: name, cohort: true} }

func (a NaiveQuota) limits(p Node) quota.Limits {
	groups := a.facts.Queues[p.name].Groups
	undeclared := quota.Limits{}
	if p.cohort {
		groups, undeclared = a.facts.Cohorts[p.name].Groups, quota.Nominal(0)
	}
	for _, grant := range admission.Grants(groups) {
		if grant.FlavorResource == a.name {
			return grant.Limits
		}
	}
	return undeclared
}

func (a NaiveQuota) parent(p Node) (Node, bool) {
	over := a.facts.Queues[p.name].Cohort
	if p.cohort {
		over = a.facts.Cohorts[p.name].Parent
	}
	return CohortNode(over), over != ""
}

func (a NaiveQuota) children(p Node) []Node {
	var list []Node
	for name, q := range a.facts.Queues {
		if p.cohort && q.Cohort == p.name {
			list = append(list, QueueNode(name))
		}
	}
	for name, c := range a.facts.Cohorts {
		if p.cohort && c.Parent == p.name {
			list = append(list, CohortNode(name))
		}
	}
	return list
}

// IsInCycle reports whether the parents of p lead into a cycle.
func (a NaiveQuota) IsInCycle(p Node) bool {
	for range len(a.facts.Cohorts) + 2 {
		above, found := a.parent(p)
		if !found {
			return false
		}
		p = above
	}
	return true
}

func toBigInt(v amount.Amount) *big.Int {
	if v == amount.Unlimited {
		return nil
	}
	return big.NewInt(int64(v))
}

func addBig(x, y *big.Int) *big.Int {
	if x == nil || y == nil {
		return nil
	}
	return new(big.Int).Add(x, y)
}

// subtractBig subtracts a limited y.
func subtractBig(x, y *big.Int) *big.Int {
	if x == nil {
		return nil
	}
	return new(big.Int).Sub(x, y)
}

func minBig(x, y *big.Int) *big.Int {
	if x == nil || y != nil && y.Cmp(x) < 0 {
		return y
	}
	return x
}

func clampToZero(x *big.Int) *big.Int {
	if x != nil && x.Sign() < 0 {
		return new(big.Int)
	}
	return x
}

func (a NaiveQuota) subtreeQuota(p Node) *big.Int {
	sum := toBigInt(a.limits(p).Nominal)
	for _, child := range a.children(p) {
		sum = addBig(sum, a.lendableQuota(child))
	}
	return sum
}

// lendableQuota is subtreeQuota - localQuota, which is well defined where both are unlimited: what the lending limit lets through.
func (a NaiveQuota) lendableQuota(p Node) *big.Int {
	return minBig(a.subtreeQuota(p), toBigInt(a.limits(p).Lending))
}

func (a NaiveQuota) localQuota(p Node) *big.Int {
	lending := toBigInt(a.limits(p).Lending)
	if lending == nil {
		return new(big.Int)
	}
	return clampToZero(subtractBig(a.subtreeQuota(p), lending))
}

// usage is never unlimited.
func (a NaiveQuota) usage(p Node) *big.Int {
	sum := new(big.Int)
	for _, r := range a.facts.Reservations {
		for _, use := range r.Usage {
			if !p.cohort && r.Queue == p.name && use.FlavorResource == a.name && use.Amount > 0 {
				sum.Add(sum, big.NewInt(int64(use.Amount)))
			}
		}
	}
	for _, child := range a.children(p) {
		sum.Add(sum, a.usageAboveLocal(child))
	}
	return sum
}

// usageAboveLocal is the usage above the local quota.
func (a NaiveQuota) usageAboveLocal(p Node) *big.Int {
	local := a.localQuota(p)
	if local == nil {
		return new(big.Int)
	}
	return clampToZero(subtractBig(a.usage(p), local))
}

func (a NaiveQuota) available(p Node) *big.Int {
	above, found := a.parent(p)
	if !found {
		return subtractBig(a.subtreeQuota(p), a.usage(p))
	}
	fromAbove := a.available(above)
	if borrowing := toBigInt(a.limits(p).Borrowing); borrowing != nil {
		fromAbove = minBig(fromAbove, addBig(subtractBig(a.lendableQuota(p), a.usageAboveLocal(p)), borrowing))
	}
	return addBig(clampToZero(subtractBig(a.localQuota(p), a.usage(p))), fromAbove)
}

func (a NaiveQuota) potentialAvailable(p Node) *big.Int {
	above, found := a.parent(p)
	if !found {
		return a.subtreeQuota(p)
	}
	most := addBig(a.localQuota(p), a.potentialAvailable(above))
	if borrowing := toBigInt(a.limits(p).Borrowing); borrowing != nil {
		most = minBig(most, addBig(a.subtreeQuota(p), borrowing))
	}
	return most
}

func (a NaiveQuota) height(p Node) int {
	height := 0
	for _, child := range a.children(p) {
		height = max(height, 1+a.height(child))
	}
	return height
}

// toAmount turns a number into an amount.
func toAmount(x *big.Int) amount.Amount {
	switch {
	case x == nil || !x.IsInt64() && x.Sign() > 0:
		return amount.Unlimited
	case !x.IsInt64():
		return -amount.Unlimited - 1
	}
	return amount.Amount(x.Int64())
}

// Available answers what the method of quota.Cell of the same name answers, as the following do; the node must not be
// cyclic.
func (a NaiveQuota) Available(p Node) amount.Amount { return toAmount(a.available(p)) }

// PotentialAvailable is described at Available.
func (a NaiveQuota) PotentialAvailable(p Node) amount.Amount {
	return toAmount(a.potentialAvailable(p))
}

// Usage is described at Available.
func (a NaiveQuota) Usage(p Node) amount.Amount { return toAmount(a.usage(p)) }

// SubtreeQuota is described at Available.
func (a NaiveQuota) SubtreeQuota(p Node) amount.Amount { return toAmount(a.subtreeQuota(p)) }

// BorrowingHeight answers what quota.Cell.BorrowingHeight answers.
func (a NaiveQuota) BorrowingHeight(p Node, v amount.Amount) int {
	request := big.NewInt(int64(v))
	for {
		left := subtractBig(a.subtreeQuota(p), a.usage(p))
		above, found := a.parent(p)
		if !found || left == nil || left.Cmp(request) >= 0 {
			return a.height(p)
		}
		request = subtractBig(request, clampToZero(subtractBig(a.localQuota(p), a.usage(p))))
		p = above
	}
}

// FindOverused reports a cohort or queue among p and its ancestors that uses more than its own quota and the limits above
// it allow, false if there is none: what must never follow from an admission.
func (a NaiveQuota) FindOverused(p Node) (string, bool) {
	if left := a.available(p); left != nil && left.Sign() < 0 {
		return p.name, true
	}
	if above, found := a.parent(p); found {
		return a.FindOverused(above)
	}
	return "", false
}
