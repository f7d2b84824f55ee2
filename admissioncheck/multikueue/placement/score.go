package placement

import "switchyard.dev/worker/admission/amount"

// A score is a list of parts, the first that differs decides: class, affinity, own quota, merit. The constants are the
// weights that keep them apart.
const (
	// maxPreferenceScore is more than any merit, which is at most 1001 * 101 * 1000.
	maxPreferenceScore = 1_000_000_000
	// preferences is more than the places in Request.Prefer that count.
	preferences      = 1_000
	weightOfOwn      = maxPreferenceScore
	weightOfAffinity = 10 * maxPreferenceScore
	weightOfClass    = weightOfAffinity * preferences
	// permille is the whole in parts of which shares are counted.
	permille = 1000
)

// score orders what may be offered; ahead are those that wait before it.
func score(r *Request, c *Cluster, f assignment, ahead int) int {
	s := f.grade.class()*weightOfClass + r.affinity(c.Name)*weightOfAffinity + preferenceScore(c, f, ahead)
	if f.grade == owns {
		s += weightOfOwn
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

// preferenceScore weighs what the user likes, the health of the cluster and how the workload would lie there.
func preferenceScore(c *Cluster, f assignment, ahead int) int {
	weight, troubles := min(max(c.Weight, 0), 100), max(c.Troubles, 0)
	if c.isShunned() {
		troubles = permille
	}
	m := (1 + f.share) * (1 + weight) * permille / (1 + min(troubles, permille))
	if f.grade == waits {
		m /= 1 + min(max(ahead, 0), permille*permille)
	}
	return m
}

// idleShare is how little the hub has under way to a cluster of which nothing else is known, in thousandths: half with as much as
// the workload itself asks for.
func idleShare(r *Request, c *Cluster) int {
	under := map[string]amount.Amount{}
	for _, claim := range c.InFlight {
		under[claim.Resource] = under[claim.Resource].Add(claim.Amount)
	}
	least := permille
	for _, want := range unassignedClaims(r) {
		least = min(least, ratio(want.Amount, want.Amount.Add(under[want.Resource])))
	}
	return least
}

// ratio is a/b in thousandths, between 0 and 1000; a thousand if b is unlimited or nothing.
func ratio(a, b amount.Amount) int {
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
