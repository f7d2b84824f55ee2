package admissiontest

import (
	"math/big"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// Account answers the questions of the quota tree about one flavor-resource by walking over all facts each time, word for
// word as the contract defines them (kueue-api.md 4.5), in numbers without bounds. A nil number is an unlimited one.
type Account struct {
	facts *Facts
	name  quota.FlavorResource
}

// Account returns the account of a flavor-resource.
func (f *Facts) Account(name quota.FlavorResource) Account { return Account{facts: f, name: name} }

// Node is a node of the tree: a queue or a cohort by name.
type Node struct {
	name   string
	cohort bool
}

// QueueNode names a queue.
func QueueNode(name string) Node { return Node{name: name} }

// CohortNode names a cohort.
func CohortNode(name string) Node { return Node{name: name, cohort: true} }

func (a Account) limits(p Node) quota.Limits {
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

func (a Account) parent(p Node) (Node, bool) {
	over := a.facts.Queues[p.name].Cohort
	if p.cohort {
		over = a.facts.Cohorts[p.name].Parent
	}
	return CohortNode(over), over != ""
}

func (a Account) children(p Node) []Node {
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

// Cyclic reports whether the parents of p lead into a cycle.
func (a Account) Cyclic(p Node) bool {
	for range len(a.facts.Cohorts) + 2 {
		above, found := a.parent(p)
		if !found {
			return false
		}
		p = above
	}
	return true
}

func number(v amount.Amount) *big.Int {
	if v == amount.Unlimited {
		return nil
	}
	return big.NewInt(int64(v))
}

func plus(x, y *big.Int) *big.Int {
	if x == nil || y == nil {
		return nil
	}
	return new(big.Int).Add(x, y)
}

// minus subtracts a limited y.
func minus(x, y *big.Int) *big.Int {
	if x == nil {
		return nil
	}
	return new(big.Int).Sub(x, y)
}

func least(x, y *big.Int) *big.Int {
	if x == nil || y != nil && y.Cmp(x) < 0 {
		return y
	}
	return x
}

func notNegative(x *big.Int) *big.Int {
	if x != nil && x.Sign() < 0 {
		return new(big.Int)
	}
	return x
}

func (a Account) subtreeQuota(p Node) *big.Int {
	sum := number(a.limits(p).Nominal)
	for _, child := range a.children(p) {
		sum = plus(sum, a.lent(child))
	}
	return sum
}

// lent is subtreeQuota - localQuota, which is well defined where both are unlimited: what the lending limit lets through.
func (a Account) lent(p Node) *big.Int {
	return least(a.subtreeQuota(p), number(a.limits(p).Lending))
}

func (a Account) localQuota(p Node) *big.Int {
	lending := number(a.limits(p).Lending)
	if lending == nil {
		return new(big.Int)
	}
	return notNegative(minus(a.subtreeQuota(p), lending))
}

// usage is never unlimited.
func (a Account) usage(p Node) *big.Int {
	sum := new(big.Int)
	for _, r := range a.facts.Holding {
		for _, use := range r.Usage {
			if !p.cohort && r.Queue == p.name && use.FlavorResource == a.name && use.Amount > 0 {
				sum.Add(sum, big.NewInt(int64(use.Amount)))
			}
		}
	}
	for _, child := range a.children(p) {
		sum.Add(sum, a.overLocal(child))
	}
	return sum
}

// overLocal is the usage above the local quota.
func (a Account) overLocal(p Node) *big.Int {
	local := a.localQuota(p)
	if local == nil {
		return new(big.Int)
	}
	return notNegative(minus(a.usage(p), local))
}

func (a Account) available(p Node) *big.Int {
	above, found := a.parent(p)
	if !found {
		return minus(a.subtreeQuota(p), a.usage(p))
	}
	fromAbove := a.available(above)
	if borrowing := number(a.limits(p).Borrowing); borrowing != nil {
		fromAbove = least(fromAbove, plus(minus(a.lent(p), a.overLocal(p)), borrowing))
	}
	return plus(notNegative(minus(a.localQuota(p), a.usage(p))), fromAbove)
}

func (a Account) potential(p Node) *big.Int {
	above, found := a.parent(p)
	if !found {
		return a.subtreeQuota(p)
	}
	most := plus(a.localQuota(p), a.potential(above))
	if borrowing := number(a.limits(p).Borrowing); borrowing != nil {
		most = least(most, plus(a.subtreeQuota(p), borrowing))
	}
	return most
}

func (a Account) height(p Node) int {
	height := 0
	for _, child := range a.children(p) {
		height = max(height, 1+a.height(child))
	}
	return height
}

// saturated turns a number into an amount.
func saturated(x *big.Int) amount.Amount {
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
func (a Account) Available(p Node) amount.Amount { return saturated(a.available(p)) }

// Potential is described at Available.
func (a Account) Potential(p Node) amount.Amount { return saturated(a.potential(p)) }

// Usage is described at Available.
func (a Account) Usage(p Node) amount.Amount { return saturated(a.usage(p)) }

// Quota is described at Available.
func (a Account) Quota(p Node) amount.Amount { return saturated(a.subtreeQuota(p)) }

// BorrowingHeight answers what quota.Cell.BorrowingHeight answers.
func (a Account) BorrowingHeight(p Node, v amount.Amount) int {
	request := big.NewInt(int64(v))
	for {
		left := minus(a.subtreeQuota(p), a.usage(p))
		above, found := a.parent(p)
		if !found || left == nil || left.Cmp(request) >= 0 {
			return a.height(p)
		}
		request = minus(request, notNegative(minus(a.localQuota(p), a.usage(p))))
		p = above
	}
}

// HighestUsed reports a cohort or queue among p and its ancestors that uses more than its own quota and the limits above
// it allow, false if there is none: what must never follow from an admission.
func (a Account) HighestUsed(p Node) (string, bool) {
	if left := a.available(p); left != nil && left.Sign() < 0 {
		return p.name, true
	}
	if above, found := a.parent(p); found {
		return a.HighestUsed(above)
	}
	return "", false
}
