package placement

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
)

// assignment is how the workload fits into a ClusterQueue.
type assignment struct {
	grade grade
	// share is how well it lies there, in thousandths. For what fits: of a gang the part that it takes of what is free of its
	// flavor, so that big holes are kept for bigger gangs; of a single pod the part of all flavors that is left, so that pods
	// spread. For what does not fit now: the part of it that would.
	share int
	// worst is the cell that decided the grade.
	worst quotaCell
	// reason says what is in the way of every flavor, if none is left.
	reason string
	// taken are the cells that it would take.
	taken []quotaCell
}

// quotaCell is an amount asked of one flavor.
type quotaCell struct {
	queue, flavor, resource string
	need, free              amount.Amount
}

// assignFlavors chooses flavors as the cluster will: for each pod set in turn, the first of the best ones.
func assignFlavors(r *Request, c *Cluster, q *Queue) assignment {
	t := flavorAssigner{capacity: c.Capacity, queue: q, priority: r.Priority, gang: r.isGang(), assumed: r.Assumed}
	t.deduct(c.InFlight)
	total := assignment{share: permille}
	for i := range r.PodSets {
		if unit := podSetGroup(r.PodSets, i); len(unit) > 0 {
			total = total.add(t.assignGroup(unit))
		}
	}
	return total
}

// add adds what else the workload asks for.
func (f assignment) add(other assignment) assignment {
	sum := assignment{grade: f.grade, share: min(f.share, other.share), worst: f.worst, reason: f.reason, taken: append(f.taken, other.taken...)}
	if other.grade > f.grade || f.worst == (quotaCell{}) {
		sum.grade, sum.worst, sum.reason = max(f.grade, other.grade), other.worst, other.reason
	}
	return sum
}

// claims are the cells as a hub enters them in its usage in flight.
func (f assignment) claims() []Claim {
	claims := make([]Claim, 0, len(f.taken))
	for _, c := range f.taken {
		claims = append(claims, Claim{Queue: c.queue, Flavor: c.flavor, Resource: c.resource, Amount: c.need})
	}
	return mergeClaims(claims)
}

// podSetGroup returns the pod sets that share the flavors of pod set i, those without pods left out; nil if an earlier one spoke
// for it.
func podSetGroup(sets []admission.PodSet, i int) []*admission.PodSet {
	var unit []*admission.PodSet
	for j := range sets {
		same := j == i || sets[i].Group != "" && sets[j].Group == sets[i].Group
		switch {
		case same && j < i:
			return nil
		case same && sets[j].Count > 0:
			unit = append(unit, &sets[j])
		}
	}
	return unit
}

// resourceRequest is an amount of a resource: in all, and the least that the workload can begin with.
type resourceRequest struct {
	resource       string
	total, minimum amount.Amount
}

// requestsOf adds up what the unit asks for, pods included; sorted by resource.
func requestsOf(unit []*admission.PodSet) []resourceRequest {
	var wants []resourceRequest
	add := func(resource string, each amount.Amount, p *admission.PodSet) {
		fewest := p.Count
		if p.MinCount > 0 {
			fewest = min(p.MinCount, p.Count)
		}
		w := resourceRequest{resource, each.Times(int64(p.Count)), each.Times(int64(fewest))}
		i, found := slices.BinarySearchFunc(wants, resource, func(w resourceRequest, name string) int { return cmp.Compare(w.resource, name) })
		if found {
			wants[i].total, wants[i].minimum = wants[i].total.Add(w.total), wants[i].minimum.Add(w.minimum)
			return
		}
		wants = slices.Insert(wants, i, w)
	}
	for _, p := range unit {
		for _, request := range p.Requests {
			if request.Amount > 0 {
				add(request.Resource, request.Amount, p)
			}
		}
		add(amount.Pods, 1, p)
	}
	return wants
}

// unassignedClaims is what the workload asks for of a cluster of which no queue is known.
func unassignedClaims(r *Request) []Claim {
	var claims []Claim
	for i := range r.PodSets {
		if r.PodSets[i].Count <= 0 {
			continue
		}
		for _, w := range requestsOf([]*admission.PodSet{&r.PodSets[i]}) {
			if w.resource != amount.Pods {
				claims = append(claims, Claim{Resource: w.resource, Amount: w.total})
			}
		}
	}
	return mergeClaims(claims)
}

// mismatch says why the pods of the unit may not run on the nodes of a flavor, whatever the quota; empty if they may.
func (t *flavorAssigner) mismatch(unit []*admission.PodSet, flavor string, keys []string) string {
	if t.capacity.FlavorsUnknown {
		return ""
	}
	item := admission.FlavorTableEntry{Name: flavor, Flavor: t.capacity.flavor(flavor)}
	for _, p := range unit {
		if why := assign.FlavorMismatch(p, &item, keys); why != "" {
			return why
		}
	}
	return ""
}
