package placement

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// UsageInFlight adds up what a hub has in flight: offered or given to a cluster that does not count it yet. NewUsageInFlight
// makes one. It is not safe for concurrent use.
type UsageInFlight struct {
	clusters map[string]*clusterUsage
}

// clusterUsage is that of one cluster.
type clusterUsage struct {
	// claims are those of each workload, and sums what all of them add up to. A sum of zero has no entry.
	claims map[admission.Key][]Claim
	sums   map[cellName]amount.Sum
}

// cellName names an amount of a cluster: a resource of a flavor of a ClusterQueue. Flavor is empty while it is not known.
type cellName struct{ queue, flavor, resource string }

// NewUsageInFlight returns an empty usage in flight.
func NewUsageInFlight() *UsageInFlight { return &UsageInFlight{clusters: map[string]*clusterUsage{}} }

// Set enters what the workload takes on the cluster, in place of what it took before; nothing if there are no claims.
func (l *UsageInFlight) Set(cluster string, workload admission.Key, claims []Claim) {
	a := l.clusters[cluster]
	if a == nil {
		if len(claims) == 0 {
			return
		}
		a = &clusterUsage{claims: map[admission.Key][]Claim{}, sums: map[cellName]amount.Sum{}}
		l.clusters[cluster] = a
	}
	for _, c := range a.claims[workload] {
		a.add(c, amount.Sum{}.Minus(amount.NewSum(c.Amount)))
	}
	delete(a.claims, workload)
	if len(claims) > 0 {
		a.claims[workload] = claims
	}
	for _, c := range claims {
		a.add(c, amount.NewSum(c.Amount))
	}
	if len(a.claims) == 0 {
		delete(l.clusters, cluster)
	}
}

// add adds v, which may be negative, to the claim's cell.
func (a *clusterUsage) add(c Claim, v amount.Sum) {
	name := cellName{c.Queue, c.Flavor, c.Resource}
	if a.sums[name] = a.sums[name].Plus(v); a.sums[name] == (amount.Sum{}) {
		delete(a.sums, name)
	}
}

// List returns what is in flight to the cluster without what the workload takes itself; sorted.
func (l *UsageInFlight) List(cluster string, except admission.Key) []Claim {
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
	return mergeClaims(claims)
}

// mergeClaims sorts claims in place and adds up those of the same flavor and resource.
func mergeClaims(claims []Claim) []Claim {
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
