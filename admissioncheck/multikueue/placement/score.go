package placement

import "switchyard.dev/worker/admission/amount"

// A score is a list of parts, the first that differs decides: class, affinity, own quota, merit. The constants are the
// weights that keep them apart.
const (
	// merits is more than any merit, which is at most 1001 * 101 * 1000.
	merits = 1_000_000_000
	// preferences is more than the places in Request.Prefer that count.
	preferences = 1_000
	ofOwn       = merits
	ofAffinity  = 10 * merits
	ofClass     = ofAffinity * preferences
	// permille is the whole in parts of which shares are counted.
	permille = 1000
)

// score orders what may be offered; ahead are those who wait before it.
func score(r *Request, c *Cluster, f fitting, ahead int) int {
	s := f.grade.class()*ofClass + r.affinity(c.Name)*ofAffinity + merit(c, f, ahead)
	if f.grade == owns {
		s += ofOwn
	}
	return s
}

// affinity is higher for clusters that the workload names earlier, 0 for those that it does not name.
func (r *Request) affinity(cluster string) int {
	for i, name := range r.Prefer {
		if name == cluster {
			return max(preferences-1-i, 1)
		}
	}
	return 0
}

// merit weighs what the user likes, the health of the cluster and how the workload would lie there.
func merit(c *Cluster, f fitting, ahead int) int {
	weight, troubles := min(max(c.Weight, 0), 100), max(c.Troubles, 0)
	if c.shunned() {
		troubles = permille
	}
	m := (1 + f.share) * (1 + weight) * permille / (1 + min(troubles, permille))
	if f.grade == waits {
		m /= 1 + min(max(ahead, 0), permille*permille)
	}
	return m
}

// quiet is how little the hub has under way to a cluster of which nothing else is known, in thousandths: half with as much as
// the workload itself asks for.
func quiet(r *Request, c *Cluster) int {
	under := map[string]amount.Amount{}
	for _, claim := range c.InFlight {
		under[claim.Resource] = under[claim.Resource].Add(claim.Amount)
	}
	least := permille
	for _, want := range wanted(r) {
		least = min(least, portion(want.Amount, want.Amount.Add(under[want.Resource])))
	}
	return least
}

// portion is a/b in thousandths, between 0 and 1000; a thousand if b is unlimited or nothing.
func portion(a, b amount.Amount) int {
	switch {
	case b <= 0 || b == amount.Unlimited || a >= b:
		return permille
	case a <= 0:
		return 0
	case a > amount.Unlimited/permille:
		return int(a / (b / permille))
	}
	return int(a * permille / b)
}
