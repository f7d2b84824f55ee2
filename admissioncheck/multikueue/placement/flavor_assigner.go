package placement

import (
	"slices"
	"strings"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// flavorAssigner is a workload being fitted into a ClusterQueue: the figures, less what is taken already.
type flavorAssigner struct {
	// capacity and queue are the figures of the cluster. They are shared, and never changed.
	capacity *Capacity
	queue    *Queue
	// priority is the workload's: it says which steps of preemption are open to it. Gang is set if it has more than one pod.
	priority int32
	gang     bool
	// assumed are the resources of Request.Assumed, which a ClusterQueue need not cover.
	assumed []string
	// used has few entries, so that looking through them is faster than hashing two names.
	used []flavorUsage
}

// flavorUsage is what is taken of a flavor's resource: in all, and by this workload.
type flavorUsage struct {
	flavor, resource string
	total, own       amount.Amount
}

// remainingQuota is what is left of one flavor's resource, for the workload in question. Own is free within the queue's own
// quota. Free is at least own. Potential and preempting are at least free, and largest is at least each of them.
type remainingQuota struct {
	own, free, potential, preempting, largest amount.Amount
	// over is what is taken beyond what is free: figures that are older than what they are held against.
	over amount.Amount
}

// deduct takes what is in flight. Claims whose flavor is not known fill the flavors in their order, as the cluster would.
func (t *flavorAssigner) deduct(claims []Claim) {
	for _, c := range claims {
		if c.Queue != t.queue.Name {
			continue
		}
		if c.Flavor != "" {
			t.addUsage(c.Flavor, c.Resource, c.Amount)
		}
	}
	for _, c := range claims {
		if c.Queue == t.queue.Name && c.Flavor == "" {
			t.fillFlavors(c.Resource, c.Amount)
		}
	}
}

// usageOf returns what is taken of a flavor's resource, to be changed.
func (t *flavorAssigner) usageOf(flavor, resource string) *flavorUsage {
	for i := range t.used {
		if t.used[i].resource == resource && t.used[i].flavor == flavor {
			return &t.used[i]
		}
	}
	t.used = append(t.used, flavorUsage{flavor: flavor, resource: resource})
	return &t.used[len(t.used)-1]
}

// addUsage takes an amount of a flavor's resource for other workloads.
func (t *flavorAssigner) addUsage(flavor, resource string, v amount.Amount) {
	at := t.usageOf(flavor, resource)
	at.total = at.total.Add(v)
}

// fillFlavors takes an amount from the flavors of its group, one after the other; what is left over goes to the last.
func (t *flavorAssigner) fillFlavors(resource string, v amount.Amount) {
	for g := range t.queue.Groups {
		group := &t.queue.Groups[g]
		column := slices.Index(group.Resources, resource)
		if column < 0 {
			continue
		}
		for i := range group.Flavors {
			part := min(v, t.remaining(&group.Flavors[i], column, resource).free)
			if i == len(group.Flavors)-1 {
				part = v
			}
			t.addUsage(group.Flavors[i].Flavor, resource, part)
			v = v.Sub(part)
		}
		return
	}
}

// remaining returns what is left of a flavor's resource.
func (t *flavorAssigner) remaining(room *FlavorQuota, column int, resource string) remainingQuota {
	taken := *t.usageOf(room.Flavor, resource)
	left := func(list []amount.Amount, less amount.Amount) amount.Amount {
		if column >= len(list) {
			return 0
		}
		return list[column].Sub(less).AtLeast(0)
	}
	f := remainingQuota{own: left(room.Nominal, taken.total), free: left(room.Free, taken.total), largest: left(room.Largest, taken.own)}
	f.free = max(f.free, f.own)
	if column < len(room.Free) {
		f.over = taken.total.Sub(room.Free[column]).AtLeast(0)
	}
	f.potential = max(f.free, left(room.Potential, taken.total))
	f.preempting = f.free
	for _, step := range room.Preempting {
		if step.Priority <= t.priority {
			f.preempting = max(f.preempting, left(step.Free, taken.total))
		}
	}
	f.largest = max(f.largest, f.preempting, f.potential)
	return f
}

// assignGroup finds the flavors of a unit and takes them.
func (t *flavorAssigner) assignGroup(unit []*admission.PodSet) assignment {
	total := assignment{share: permille}
	wants := requestsOf(unit)
	for g := range t.queue.Groups {
		group := &t.queue.Groups[g]
		var asked []resourceRequest
		wants = slices.DeleteFunc(wants, func(w resourceRequest) bool {
			covered := slices.Contains(group.Resources, w.resource)
			if covered {
				asked = append(asked, w)
			}
			return covered
		})
		if len(asked) > 0 {
			total = total.add(t.chooseFlavor(group, unit, asked))
		}
	}
	for _, w := range wants {
		if w.resource != amount.Pods && !t.capacity.IgnoresUncovered && !slices.Contains(t.assumed, w.resource) {
			why := "resource " + w.resource + " unavailable in ClusterQueue"
			total = total.add(assignment{grade: noFlavor, worst: quotaCell{resource: w.resource, need: w.total}, reason: why})
		}
	}
	for _, c := range total.taken {
		at := t.usageOf(c.flavor, c.resource)
		at.total, at.own = at.total.Add(c.need), at.own.Add(c.need)
	}
	return total
}

// chooseFlavor takes the first of the best flavors of a group.
func (t *flavorAssigner) chooseFlavor(group *Group, unit []*admission.PodSet, asked []resourceRequest) assignment {
	best := assignment{grade: noFlavor, worst: quotaCell{resource: asked[0].resource, need: asked[0].total}}
	suitable, whys := t.suitableFlavors(group, unit)
	covered := 0
	for _, room := range suitable {
		got := t.gradeFlavor(room, group.Resources, asked)
		covered = max(covered, got.share)
		if got.grade < best.grade {
			best = got
		}
	}
	switch {
	case best.grade == noFlavor:
		best.reason = strings.Join(whys, "; ")
	case best.grade > borrows:
		best.share = covered
	case t.gang:
		best.share = t.tightness(best.taken)
	default:
		best.share = t.headroom(suitable, group.Resources, asked)
	}
	return best
}

// suitableFlavors are the flavors that the pods may run on, and why the others are not.
func (t *flavorAssigner) suitableFlavors(group *Group, unit []*admission.PodSet) (rooms []*FlavorQuota, whys []string) {
	keys := t.labelKeys(group, unit)
	for i := range group.Flavors {
		if why := t.mismatch(unit, group.Flavors[i].Flavor, keys); why != "" {
			whys = append(whys, why)
			continue
		}
		rooms = append(rooms, &group.Flavors[i])
	}
	return rooms, whys
}

// gradeFlavor grades one flavor: it is as good as the worst of its resources. The share is the part that is free of what is
// asked.
func (t *flavorAssigner) gradeFlavor(room *FlavorQuota, resources []string, asked []resourceRequest) assignment {
	total := assignment{share: permille, taken: make([]quotaCell, 0, len(asked))}
	for _, w := range asked {
		f := t.remaining(room, slices.Index(resources, w.resource), w.resource)
		c := quotaCell{queue: t.queue.Name, flavor: room.Flavor, resource: w.resource, need: w.total, free: f.free}
		g := f.gradeRequest(w)
		if g > total.grade || total.worst == (quotaCell{}) {
			total.grade, total.worst = g, c
		}
		total.share, total.taken = min(total.share, ratio(f.free, w.total)), append(total.taken, c)
	}
	return total
}

// gradeRequest returns the best grade that the request has for one flavor. A request waits, and is not too large, if its least
// indivisible part fits in an empty cluster.
func (f remainingQuota) gradeRequest(w resourceRequest) grade {
	switch {
	case w.total <= f.own:
		return owns
	case w.total <= f.free:
		return borrows
	case w.total <= f.potential:
		return unsure
	case w.total <= f.preempting:
		return preempts
	case w.minimum <= f.largest:
		return waits
	}
	return tooLarge
}

// tightness is the largest part that a gang takes of what is free of a flavor.
func (t *flavorAssigner) tightness(cells []quotaCell) int {
	tight := 0
	for _, c := range cells {
		if c.free != amount.Unlimited {
			tight = max(tight, ratio(c.need, c.free))
		}
	}
	return tight
}

// headroom is the least part of a resource that would still be free, in all flavors together.
func (t *flavorAssigner) headroom(rooms []*FlavorQuota, resources []string, asked []resourceRequest) int {
	least := permille
	for _, w := range asked {
		var free, largest amount.Amount
		column := slices.Index(resources, w.resource)
		for _, room := range rooms {
			f := t.remaining(room, column, w.resource)
			free, largest = free.Add(f.free).Sub(f.over), largest.Add(f.largest)
		}
		least = min(least, ratio(free.Sub(w.total), largest))
	}
	return least
}

// labelKeys are the node label keys that some flavor of the group has, sorted: the only ones that count (contract:
// kueue-api.md 4.6). Nil if no pod of the unit asks for labels.
func (t *flavorAssigner) labelKeys(group *Group, unit []*admission.PodSet) []string {
	if !slices.ContainsFunc(unit, func(p *admission.PodSet) bool { return len(p.NodeSelector)+len(p.Affinity) > 0 }) {
		return nil
	}
	var keys []string
	for i := range group.Flavors {
		if flavor := t.capacity.flavor(group.Flavors[i].Flavor); flavor != nil {
			for _, l := range flavor.Labels {
				keys = append(keys, l.Key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
