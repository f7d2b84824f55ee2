package plan

import "slices"

// stop tells pods why they are deleted, and deletes them.
func (f *Facts) stop(members []int) []Change {
	changes := make([]Change, 0, len(members))
	for _, i := range members {
		changes = append(changes, Change{Member: i, Tell: !f.Members[i].Told, Delete: true})
	}
	return changes
}

// finalize removes our finalizer from the pods for which the test holds.
func (f *Facts) finalize(test func(*Member) bool) []Change {
	var changes []Change
	for _, i := range f.where(func(m *Member) bool { return m.Finalizer && test(m) }) {
		changes = append(changes, Change{Member: i, Finalize: true})
	}
	return changes
}

// deleteAll stops the pods that run, deletes the others, and lets go of all.
func (f *Facts) deleteAll() []Change {
	var changes []Change
	for i := range f.Members {
		m := &f.Members[i]
		c := Change{Member: i, Tell: m.mayRun() && !m.Told, Finalize: m.Finalizer, Delete: !m.Deleting}
		if c.Finalize || c.Delete {
			changes = append(changes, c)
		}
	}
	return changes
}

// tidy removes pods that are too many, and lets go of those that were replaced. Of a prebuilt Workload's pods that is not known.
func (f *Facts) tidy() []Change {
	if f.Single || f.Prebuilt {
		return nil
	}
	if f.Link != LinkMatching {
		gone := f.finalize(func(m *Member) bool { return !f.isPresent(m) })
		return append(gone, f.removeExcess(f.excess(f.where(f.isPresent), f.TotalCount))...)
	}
	present, inactive := map[string][]int{}, map[string][]int{}
	for i := range f.Members {
		m, of := &f.Members[i], inactive
		if f.isPresent(m) {
			of = present
		}
		of[m.Role] = append(of[m.Role], i)
	}
	changes := f.finalize(func(m *Member) bool { return !f.isPresent(m) && !f.knowsRole(m) })
	for _, role := range f.Roles {
		present, inactive := present[role.Name], inactive[role.Name]
		changes = append(changes, f.removeExcess(f.excess(present, role.Count))...)
		changes = append(changes, f.replaced(inactive, role.Count-len(present))...)
	}
	return changes
}

// excess returns those of the pods that are more than allowed, the least worth keeping. Without a limit there is no excess.
func (f *Facts) excess(members []int, limit int) []int {
	if limit <= 0 || len(members) <= limit {
		return nil
	}
	slices.SortFunc(members, func(a, b int) int { return compareForKeeping(&f.Members[a], &f.Members[b]) })
	return members[limit:]
}

// removeExcess lets go of pods that are too many and deletes them.
func (f *Facts) removeExcess(members []int) []Change {
	var changes []Change
	for _, i := range members {
		m := &f.Members[i]
		if m.Finalizer || !m.Deleting {
			changes = append(changes, Change{Member: i, Finalize: m.Finalizer, Delete: !m.Deleting, Excess: true})
		}
	}
	return changes
}

// replaced lets go of pods that have failed, the oldest first, but for as many as places are open: those stay so that they count.
func (f *Facts) replaced(inactive []int, open int) []Change {
	inactive = slices.DeleteFunc(inactive, func(i int) bool { return !f.Members[i].Finalizer })
	slices.SortFunc(inactive, func(a, b int) int { return compareAge(&f.Members[a], &f.Members[b]) })
	var changes []Change
	for _, i := range inactive[:max(len(inactive)-max(open, 0), 0)] {
		changes = append(changes, Change{Member: i, Finalize: true})
	}
	return changes
}
