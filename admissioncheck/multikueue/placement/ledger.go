package placement

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// Ledger adds up what a hub has in flight: offered or given to a cluster that does not count it yet. NewLedger makes one. It
// is not safe for concurrent use.
type Ledger struct {
	clusters map[string]*account
}

// account is that of one cluster.
type account struct {
	claims map[admission.Key][]Claim
	sums   map[cellName]amount.Sum
}

type cellName struct{ queue, flavor, resource string }

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{clusters: map[string]*account{}} }

// Set enters what the workload takes on the cluster, in place of what it took before; nothing if there are no claims.
func (l *Ledger) Set(cluster string, workload admission.Key, claims []Claim) {
	a := l.clusters[cluster]
	if a == nil {
		if len(claims) == 0 {
			return
		}
		a = &account{claims: map[admission.Key][]Claim{}, sums: map[cellName]amount.Sum{}}
		l.clusters[cluster] = a
	}
	for _, c := range a.claims[workload] {
		a.book(c, amount.Sum{}.Minus(amount.NewSum(c.Amount)))
	}
	delete(a.claims, workload)
	if len(claims) > 0 {
		a.claims[workload] = claims
	}
	for _, c := range claims {
		a.book(c, amount.NewSum(c.Amount))
	}
	if len(a.claims) == 0 {
		delete(l.clusters, cluster)
	}
}

// book adds v, which may be negative, to the claim's cell.
func (a *account) book(c Claim, v amount.Sum) {
	name := cellName{c.Queue, c.Flavor, c.Resource}
	if a.sums[name] = a.sums[name].Plus(v); a.sums[name] == (amount.Sum{}) {
		delete(a.sums, name)
	}
}

// Forget drops all that is in flight to a cluster, and Drop all of a workload.
func (l *Ledger) Forget(cluster string) { delete(l.clusters, cluster) }

// Drop drops a workload from all clusters.
func (l *Ledger) Drop(workload admission.Key) {
	for name := range l.clusters {
		l.Set(name, workload, nil)
	}
}

// InFlight returns what is in flight to the cluster without what the workload takes itself; sorted.
func (l *Ledger) InFlight(cluster string, except admission.Key) []Claim {
	a := l.clusters[cluster]
	if a == nil {
		return nil
	}
	own := map[cellName]amount.Sum{}
	for _, c := range a.claims[except] {
		name := cellName{c.Queue, c.Flavor, c.Resource}
		own[name] = own[name].Plus(amount.NewSum(c.Amount))
	}
	claims := make([]Claim, 0, len(a.sums))
	for name, sum := range a.sums {
		if rest := sum.Minus(own[name]).Amount(); rest > 0 {
			claims = append(claims, Claim{Queue: name.queue, Flavor: name.flavor, Resource: name.resource, Amount: rest})
		}
	}
	return merged(claims)
}

// merged sorts claims in place and adds up those of the same flavor and resource.
func merged(claims []Claim) []Claim {
	slices.SortFunc(claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
	})
	out := claims[:0]
	for _, c := range claims {
		if n := len(out); n > 0 && out[n-1].Queue == c.Queue && out[n-1].Flavor == c.Flavor && out[n-1].Resource == c.Resource {
			out[n-1].Amount = out[n-1].Amount.Add(c.Amount)
			continue
		}
		out = append(out, c)
	}
	return out
}
