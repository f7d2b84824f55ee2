package placement

import (
	"slices"
	"strings"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// trial is a workload being fitted into a ClusterQueue: the figures, less what is taken already.
type trial struct {
	capacity *Capacity
	queue    *Queue
	priority int32
	gang     bool
	assumed  []string
	// taken has few entries, so that looking through them is faster than hashing two names.
	taken []taking
}

// taking is what is taken of a flavor's resource: in all, and by this workload.
type taking struct {
	flavor, resource string
	all, mine        amount.Amount
}

// figures are those of one flavor and resource, for the workload in question.
type figures struct {
	own, free, perhaps, evicting, largest amount.Amount
	// over is what is taken beyond what is free: figures that are older than what they are held against.
	over amount.Amount
}

// deduct takes what is in flight. Claims whose flavor nobody knows fill the flavors in their order, as the cluster would.
func (t *trial) deduct(claims []Claim) {
	for _, c := range claims {
		if c.Queue != t.queue.Name {
			continue
		}
		if c.Flavor != "" {
			t.take(c.Flavor, c.Resource, c.Amount)
		}
	}
	for _, c := range claims {
		if c.Queue == t.queue.Name && c.Flavor == "" {
			t.fill(c.Resource, c.Amount)
		}
	}
}

// at returns what is taken of a flavor's resource, to be changed.
func (t *trial) at(flavor, resource string) *taking {
	for i := range t.taken {
		if t.taken[i].resource == resource && t.taken[i].flavor == flavor {
			return &t.taken[i]
		}
	}
	t.taken = append(t.taken, taking{flavor: flavor, resource: resource})
	return &t.taken[len(t.taken)-1]
}

func (t *trial) take(flavor, resource string, v amount.Amount) {
	at := t.at(flavor, resource)
	at.all = at.all.Add(v)
}

// fill takes an amount from the flavors of its group, one after the other; what is left over goes to the last.
func (t *trial) fill(resource string, v amount.Amount) {
	for g := range t.queue.Groups {
		group := &t.queue.Groups[g]
		column := slices.Index(group.Resources, resource)
		if column < 0 {
			continue
		}
		for i := range group.Flavors {
			part := min(v, t.figures(&group.Flavors[i], column, resource).free)
			if i == len(group.Flavors)-1 {
				part = v
			}
			t.take(group.Flavors[i].Flavor, resource, part)
			v = v.Sub(part)
		}
		return
	}
}

// figures returns what is left of a flavor's resource.
func (t *trial) figures(room *Room, column int, resource string) figures {
	taken := *t.at(room.Flavor, resource)
	left := func(list []amount.Amount, less amount.Amount) amount.Amount {
		if column >= len(list) {
			return 0
		}
		return list[column].Sub(less).AtLeast(0)
	}
	f := figures{own: left(room.Own, taken.all), free: left(room.Free, taken.all), largest: left(room.Largest, taken.mine)}
	f.free = max(f.free, f.own)
	if column < len(room.Free) {
		f.over = taken.all.Sub(room.Free[column]).AtLeast(0)
	}
	f.perhaps = max(f.free, left(room.Perhaps, taken.all))
	f.evicting = f.free
	for _, step := range room.Preempting {
		if step.Priority <= t.priority {
			f.evicting = max(f.evicting, left(step.Free, taken.all))
		}
	}
	f.largest = max(f.largest, f.evicting, f.perhaps)
	return f
}

// place finds the flavors of a unit and takes them.
func (t *trial) place(unit []*admission.PodSet) fitting {
	total := fitting{share: permille}
	wants := wantsOf(unit)
	for g := range t.queue.Groups {
		group := &t.queue.Groups[g]
		var asked []want
		wants = slices.DeleteFunc(wants, func(w want) bool {
			covered := slices.Contains(group.Resources, w.resource)
			if covered {
				asked = append(asked, w)
			}
			return covered
		})
		if len(asked) > 0 {
			total = total.and(t.choose(group, unit, asked))
		}
	}
	for _, w := range wants {
		if w.resource != amount.Pods && !t.capacity.IgnoresUncovered && !slices.Contains(t.assumed, w.resource) {
			why := "resource " + w.resource + " unavailable in ClusterQueue"
			total = total.and(fitting{grade: noFlavor, worst: cell{resource: w.resource, need: w.all}, why: why})
		}
	}
	for _, c := range total.taken {
		at := t.at(c.flavor, c.resource)
		at.all, at.mine = at.all.Add(c.need), at.mine.Add(c.need)
	}
	return total
}

// choose takes the first of the best flavors of a group.
func (t *trial) choose(group *Group, unit []*admission.PodSet, asked []want) fitting {
	best := fitting{grade: noFlavor, worst: cell{resource: asked[0].resource, need: asked[0].all}}
	suitable, whys := t.suitable(group, unit)
	covered := 0
	for _, room := range suitable {
		got := t.weigh(room, group.Resources, asked)
		covered = max(covered, got.share)
		if got.grade < best.grade {
			best = got
		}
	}
	switch {
	case best.grade == noFlavor:
		best.why = strings.Join(whys, "; ")
	case best.grade > borrows:
		best.share = covered
	case t.gang:
		best.share = t.tightness(best.taken)
	default:
		best.share = t.headroom(suitable, group.Resources, asked)
	}
	return best
}

// suitable are the flavors that the pods may run on, and why the others are not.
func (t *trial) suitable(group *Group, unit []*admission.PodSet) (rooms []*Room, whys []string) {
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

// weigh grades one flavor: it is as good as the worst of its resources. The share is the part that is free of what is asked.
func (t *trial) weigh(room *Room, resources []string, asked []want) fitting {
	total := fitting{share: permille, taken: make([]cell, 0, len(asked))}
	for _, w := range asked {
		f := t.figures(room, slices.Index(resources, w.resource), w.resource)
		c := cell{queue: t.queue.Name, flavor: room.Flavor, resource: w.resource, need: w.all, free: f.free}
		g := f.grade(w)
		if g > total.grade || total.worst == (cell{}) {
			total.grade, total.worst = g, c
		}
		total.share, total.taken = min(total.share, portion(f.free, w.all)), append(total.taken, c)
	}
	return total
}

func (f figures) grade(w want) grade {
	switch {
	case w.all <= f.own:
		return owns
	case w.all <= f.free:
		return borrows
	case w.all <= f.perhaps:
		return unsure
	case w.all <= f.evicting:
		return preempts
	case w.least <= f.largest:
		return waits
	}
	return tooLarge
}

// tightness is the largest part that a gang takes of what is free of a flavor.
func (t *trial) tightness(cells []cell) int {
	tight := 0
	for _, c := range cells {
		if c.free != amount.Unlimited {
			tight = max(tight, portion(c.need, c.free))
		}
	}
	return tight
}

// headroom is the least part of a resource that would still be free, in all flavors together.
func (t *trial) headroom(rooms []*Room, resources []string, asked []want) int {
	least := permille
	for _, w := range asked {
		var free, largest amount.Amount
		column := slices.Index(resources, w.resource)
		for _, room := range rooms {
			f := t.figures(room, column, w.resource)
			free, largest = free.Add(f.free).Sub(f.over), largest.Add(f.largest)
		}
		least = min(least, portion(free.Sub(w.all), largest))
	}
	return least
}

// labelKeys are the node label keys that some flavor of the group has, sorted: the only ones that count (contract:
// kueue-api.md 4.6). Nil if no pod of the unit asks for labels.
func (t *trial) labelKeys(group *Group, unit []*admission.PodSet) []string {
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
