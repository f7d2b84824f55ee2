package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// anyRoom has figures that agree with each other: own within free within what can be evicted within the largest.
func anyRoom(rng *rand.Rand, flavor string) FlavorQuota {
	figures := make([]amount.Amount, 4)
	for i := range figures {
		figures[i] = amount.Amount(rng.IntN(12))
	}
	slices.Sort(figures)
	r := room(flavor, figures[0], figures[1], figures[3])
	switch rng.IntN(4) {
	case 0, 1:
		r = r.evicting(int32(rng.IntN(3)), figures[2])
	case 2:
		r.Potential = []amount.Amount{figures[2]}
	}
	return r
}

func anyCluster(rng *rand.Rand, name string) Cluster {
	if rng.IntN(6) == 0 {
		return Cluster{Name: name, Weight: rng.IntN(3) * 10}
	}
	var rooms []FlavorQuota
	for i := range 1 + rng.IntN(2) {
		rooms = append(rooms, anyRoom(rng, fmt.Sprintf("f%d", i)))
	}
	return cluster(name, rooms...).but(func(c *Cluster, q *Queue) {
		c.Weight, c.Troubles, c.Cordoned = rng.IntN(3)*10, rng.IntN(2), rng.IntN(8) == 0
		c.Offered, q.Strict = rng.IntN(6) == 0, rng.IntN(4) == 0
		if rng.IntN(8) == 0 {
			c.Degraded = "its answers are overdue"
		}
		for range rng.IntN(3) {
			q.Waiting = append(q.Waiting, PendingClass{Priority: int32(2 - len(q.Waiting)), Count: rng.IntN(4)})
		}
		for i := range rng.IntN(3) {
			flavor := []string{"", "f0", "f1"}[rng.IntN(3)]
			c.InFlight = append(c.InFlight, Claim{Queue: "cq", Flavor: flavor, Resource: gpu, Amount: amount.Amount(1 + i)})
		}
		if rng.IntN(8) == 0 {
			q.Closed = "it is on hold"
		}
		if rng.IntN(8) == 0 {
			c.Capacity.Flavors[0].Taints = []admission.Taint{{Key: "spot", Effect: admission.NoSchedule}}
		}
	})
}

func anyFleet(rng *rand.Rand) []Cluster {
	var fleet []Cluster
	for i := range 1 + rng.IntN(6) {
		fleet = append(fleet, anyCluster(rng, fmt.Sprintf("w%d", i)))
	}
	return fleet
}

func anyRequest(rng *rand.Rand) Request {
	r := request(pods(1+int32(rng.IntN(6)), 1+amount.Amount(rng.IntN(2))))
	r.Priority = int32(rng.IntN(3))
	if rng.IntN(3) == 0 {
		r.PodSets = append(r.PodSets, pods(1+int32(rng.IntN(4)), 1))
	}
	for _, name := range rng.Perm(6)[:rng.IntN(3)] {
		r.Prefer = append(r.Prefer, fmt.Sprintf("w%d", name))
	}
	if rng.IntN(4) == 0 {
		r.Refused = []Refusal{{Cluster: "w0"}}
	}
	return r
}

func FuzzRankLaws(f *testing.F) {
	for seed := range uint64(3000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 4))
		r, fleet := anyRequest(rng), anyFleet(rng)
		got := Rank(r, fleet)
		lawOfOrder(t, got, len(fleet))
		rng.Shuffle(len(fleet), func(i, j int) { fleet[i], fleet[j] = fleet[j], fleet[i] })
		if diff := cmp.Diff(got, Rank(r, fleet)); diff != "" {
			t.Errorf("the order of the fleet matters (-one +other):\n%s", diff)
		}
		lawOfRoom(t, rng, r, fleet, got)
	})
}

// lawOfOrder: every cluster has one choice; what may not be offered comes last; classes never rise along the list, unless
// nothing but the order of equals is left.
func lawOfOrder(t *testing.T, got []Choice, clusters int) {
	t.Helper()
	if len(got) != clusters {
		t.Errorf("%d choices for %d clusters", len(got), clusters)
	}
	classes := map[Reason]int{Fits: 4, Borrows: 4, Unknown: 3, Preempts: 2, Waits: 1}
	for i, c := range got {
		if c.Eligible != (classes[c.Reason] > 0) || c.Eligible != (c.Score > 0) {
			t.Errorf("%s: %s, eligible %v, score %d", c.Cluster, c.Reason, c.Eligible, c.Score)
		}
		if c.Message == "" {
			t.Errorf("%s: %s without a message", c.Cluster, c.Reason)
		}
		if i > 0 && classes[c.Reason] > classes[got[i-1].Reason] {
			t.Errorf("%s (%s) comes after %s (%s)", c.Cluster, c.Reason, got[i-1].Cluster, got[i-1].Reason)
		}
		if i > 0 && c.Score == got[i-1].Score && c.Cluster < got[i-1].Cluster {
			t.Errorf("%s comes after %s", c.Cluster, got[i-1].Cluster)
		}
	}
}

// lawOfRoom: more room never makes a cluster worse. Of a gang this is true of the class only, since among those with room
// the tightest is best on purpose; and with several pod sets it is true of one flavor only, since the cluster chooses
// flavors for one pod set after the other and may then choose worse.
func lawOfRoom(t *testing.T, rng *rand.Rand, r Request, fleet []Cluster, before []Choice) {
	t.Helper()
	at := rng.IntN(len(fleet))
	if fleet[at].Capacity == nil {
		return
	}
	more, several := amount.Amount(1+rng.IntN(6)), len(r.PodSets) > 1
	grown := slices.Clone(fleet)
	grown[at] = grown[at].but(func(_ *Cluster, q *Queue) {
		q.Groups = []Group{{Resources: q.Groups[0].Resources, Flavors: slices.Clone(q.Groups[0].Flavors)}}
		flavors := q.Groups[0].Flavors
		several = several && len(flavors) > 1
		grow(&flavors[rng.IntN(len(flavors))], more)
	})
	if several {
		return
	}
	name := fleet[at].Name
	was, is := find(before, name), find(Rank(r, grown), name)
	if was.Eligible && !is.Eligible || is.Score/weightOfClass < was.Score/weightOfClass {
		t.Errorf("%s with %d more: %s (%s) was %s (%s)", name, more, is.Reason, is.Message, was.Reason, was.Message)
	}
	if !r.isGang() && is.Score < was.Score {
		t.Errorf("%s with %d more has score %d, was %d", name, more, is.Score, was.Score)
	}
}

// grow adds to all figures.
func grow(r *FlavorQuota, more amount.Amount) {
	for _, list := range []*[]amount.Amount{&r.Nominal, &r.Free, &r.Largest} {
		*list = []amount.Amount{(*list)[0].Add(more)}
	}
	if r.Potential != nil {
		r.Potential = []amount.Amount{r.Potential[0].Add(more)}
	}
	r.Preempting = slices.Clone(r.Preempting)
	for i := range r.Preempting {
		r.Preempting[i].Free = []amount.Amount{r.Preempting[i].Free[0].Add(more)}
	}
}

func find(choices []Choice, cluster string) Choice {
	return choices[slices.IndexFunc(choices, func(c Choice) bool { return c.Cluster == cluster })]
}

func BenchmarkRank(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var fleet []Cluster
	for i := range 20 {
		fleet = append(fleet, anyCluster(rng, fmt.Sprintf("w%02d", i)))
	}
	r := request(pods(4, 1))
	b.ReportAllocs()
	for b.Loop() {
		Rank(r, fleet)
	}
}

// FuzzTermsDecide: whatever else changes, a cluster of the same terms gives a workload of one pod set the same answer.
func FuzzTermsDecide(f *testing.F) {
	for seed := range uint64(3000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 5))
		r, before := anyRequest(rng), anyCluster(rng, "w1")
		if before.Capacity == nil {
			return
		}
		r.PodSets = r.PodSets[:1]
		after := before.but(func(c *Cluster, q *Queue) {
			other := anyCluster(rng, "w1")
			c.InFlight, c.Offered, c.Weight, c.Degraded, c.Troubles = other.InFlight, other.Offered, other.Weight, other.Degraded, other.Troubles
			q.Strict, q.Waiting = !q.Strict, nil
			q.Groups = []Group{{Resources: q.Groups[0].Resources, Flavors: slices.Clone(q.Groups[0].Flavors)}}
			for i := range q.Groups[0].Flavors {
				refigure(rng, &q.Groups[0].Flavors[i])
			}
			if rng.IntN(4) == 0 {
				q.Closed = "it is closed now"
			}
			if rng.IntN(4) == 0 {
				q.Groups[0].Flavors[0].Largest = []amount.Amount{amount.Amount(rng.IntN(12))}
			}
		})
		local := admission.Key{Namespace: r.Namespace, Name: r.LocalQueue}
		if before.Capacity.TermsFor(local) != after.Capacity.TermsFor(local) {
			return
		}
		was, is := evaluateCluster(&r, &before), evaluateCluster(&r, &after)
		if was.Eligible != is.Eligible || !was.Eligible && (was.Reason != is.Reason || was.Message != is.Message) {
			t.Errorf("on the same terms: %s (%s) was %s (%s)", is.Reason, is.Message, was.Reason, was.Message)
		}
	})
}

// refigure gives a room other figures within the same limits.
func refigure(rng *rand.Rand, r *FlavorQuota) {
	most := int(r.Largest[0])
	figures := []amount.Amount{amount.Amount(rng.IntN(most + 1)), amount.Amount(rng.IntN(most + 1))}
	slices.Sort(figures)
	r.Nominal, r.Free = figures[:1], figures[1:]
	r.Potential, r.Preempting = nil, nil
	if rng.IntN(2) == 0 {
		*r = r.evicting(0, amount.Amount(most))
	}
}
