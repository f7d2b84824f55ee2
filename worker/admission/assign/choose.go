package assign

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// choice is the flavor chosen for a group, nil if there is none.
type choice struct {
	flavor *admission.MenuFlavor
	grade
}

// choose goes through the group's flavors in order, stops at one that is good enough and otherwise takes the best. What is in
// the way at those that were tried is in a.passed.
func (a *attempt) choose(group *admission.MenuGroup, index int, unit []int, demand []want) choice {
	best := choice{}
	a.passed.clear()
	for i := range group.Flavors {
		flavor := &group.Flavors[i]
		if why := a.mismatch(flavor, group.LabelKeys, unit); why != "" {
			a.passed.orElse(admission.NoMatchingFlavor, detail{text: why})
			a.consider(considered{unit: unit[0], group: index, flavor: flavor.Name}, detail{text: why})
			continue
		}
		got := a.grade(flavor, index, demand)
		if a.obstacle.because != "" {
			a.passed.orElse(a.obstacle.because, a.obstacle.details...)
		}
		if got.mode != Fit || got.borrowing > 0 {
			a.consider(considered{unit: unit[0], group: index, flavor: flavor.Name, grade: got, waits: a.waits}, a.obstacle.details...)
		}
		if got.mode == NoFit {
			continue
		}
		if best.flavor == nil || got.betterThan(best.grade, a.menu.Queue.Fungibility.Preference) {
			best = choice{flavor: flavor, grade: got}
		}
		if a.enough(got) {
			break
		}
	}
	return best
}

// enough reports whether the search may stop at a flavor of this grade.
func (a *attempt) enough(g grade) bool {
	if a.opts.FirstFlavor {
		return g.mode > NoCandidates
	}
	return g.enough(a.menu.Queue.Fungibility)
}

func (a *attempt) mismatch(flavor *admission.MenuFlavor, keys []string, unit []int) string {
	for _, i := range unit {
		if why := mismatch(&a.workload.PodSets[i], *flavor, keys); why != "" {
			return why
		}
	}
	return ""
}

// grade says how the flavor can meet the demand on the group; a.obstacle is what is in the way if not at once.
func (a *attempt) grade(flavor *admission.MenuFlavor, group int, demand []want) grade {
	total := grade{mode: Fit}
	a.obstacle.clear()
	a.waits = a.opts.Preemption == nil
	for _, w := range demand {
		if w.column.Group != group || w.amount <= 0 {
			continue
		}
		cell := flavor.Cells[w.column.Index]
		before := a.alreadyTaken(cell)
		request := w.amount.Add(before)
		got := grade{mode: Fit, borrowing: cell.BorrowingHeight(request)}
		if because, lack := lacking(cell, request, w.resource, flavor.Name); because != "" {
			lack.before = before
			a.obstacle.also(because, lack)
			a.waits = a.waits && because == admission.WaitingForQuota && request <= cell.Nominal()
			got = a.preemption(because, cell, request, got.borrowing)
			a.note(because, flavor.Name, w.resource, cell, request)
		}
		total = total.and(got)
	}
	return total
}

// note writes down what is not available now.
func (a *attempt) note(because admission.Reason, flavor, resource string, cell *quota.Cell, request amount.Amount) {
	if because == admission.WaitingForQuota {
		name := quota.FlavorResource{Flavor: flavor, Resource: resource}
		a.lacks = append(a.lacks, admission.Lack{FlavorResource: name, Cell: cell, Amount: request})
	}
}

// lacking says why the cell cannot meet the request now, if it cannot.
func lacking(cell *quota.Cell, request amount.Amount, resource, flavor string) (admission.Reason, detail) {
	available := cell.Available()
	if request <= available {
		return "", detail{}
	}
	if most := cell.Potential(); request > most {
		return admission.ExceedsMaxQuota, detail{resource: resource, flavor: flavor, asked: request, most: most}
	}
	return admission.WaitingForQuota, detail{resource: resource, flavor: flavor, asked: request, missing: request.Sub(available)}
}

func (a *attempt) preemption(because admission.Reason, cell *quota.Cell, request amount.Amount, borrowing int) grade {
	if a.opts.Preemption == nil || because != admission.WaitingForQuota {
		return grade{mode: NoFit, borrowing: borrowing}
	}
	mode, height := a.opts.Preemption(cell, request)
	return grade{mode: mode, borrowing: height}
}

func (a *attempt) alreadyTaken(cell *quota.Cell) amount.Amount {
	var sum amount.Amount
	for _, t := range a.taken {
		if t.cell == cell {
			sum = sum.Add(t.Amount)
		}
	}
	return sum
}
