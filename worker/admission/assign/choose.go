package assign

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// choice is the flavor chosen for a group; flavor is nil and failed says why if there is none.
type choice struct {
	flavor *admission.MenuFlavor
	grade
	failed failure
}

// choose goes through the group's flavors in order, stops at one that is good enough and otherwise takes the best.
func (a *attempt) choose(group *admission.MenuGroup, index int, unit []int, demand []want) choice {
	best := choice{}
	var failed failure
	for i := range group.Flavors {
		flavor := &group.Flavors[i]
		if why := a.mismatch(flavor, group.LabelKeys, unit); why != "" {
			failed.orElse(admission.NoMatchingFlavor, why)
			continue
		}
		got, obstacle := a.grade(flavor, index, demand)
		if obstacle.because != "" {
			failed.orElse(obstacle.because, obstacle.details...)
		}
		if got.mode == NoFit {
			continue
		}
		if best.flavor == nil || got.betterThan(best.grade, a.menu.Queue.Fungibility.Preference) {
			best = choice{flavor: flavor, grade: got, failed: obstacle}
		}
		if got.enough(a.menu.Queue.Fungibility) {
			break
		}
	}
	if best.flavor == nil {
		best.failed = failed
	}
	return best
}

func (a *attempt) mismatch(flavor *admission.MenuFlavor, keys []string, unit []int) string {
	for _, i := range unit {
		if why := mismatch(&a.workload.PodSets[i], *flavor, keys); why != "" {
			return why
		}
	}
	return ""
}

// grade says how the flavor can meet the demand on the group, and what is in the way if not at once.
func (a *attempt) grade(flavor *admission.MenuFlavor, group int, demand []want) (grade, failure) {
	total := grade{mode: Fit}
	var obstacle failure
	for _, w := range demand {
		if w.column.Group != group || w.amount <= 0 {
			continue
		}
		cell := flavor.Cells[w.column.Index]
		request := w.amount.Add(a.alreadyTaken(cell))
		got := grade{mode: Fit, borrowing: cell.BorrowingHeight(request)}
		if because, detail := lacking(cell, request, w.resource, flavor.Name); because != "" {
			obstacle.also(because, detail)
			got.mode = a.preemption(because, cell, request)
		}
		total = total.and(got)
	}
	return total, obstacle
}

// lacking says why the cell cannot meet the request now, if it cannot.
func lacking(cell *quota.Cell, request amount.Amount, resource, flavor string) (admission.Reason, string) {
	if available := cell.Available(); request > available {
		where := resource + " in flavor " + flavor
		if most := cell.Potential(); request > most {
			return admission.ExceedsMaxQuota, "request for " + where + " exceeds the maximum quota: " +
				amount.Text(resource, request) + " requested, at most " + amount.Text(resource, most) + " possible"
		}
		return admission.WaitingForQuota, "insufficient unused quota for " + where + ", " +
			amount.Text(resource, request.Sub(available)) + " more needed"
	}
	return "", ""
}

func (a *attempt) preemption(because admission.Reason, cell *quota.Cell, request amount.Amount) Mode {
	if a.opts.Preemption == nil || because != admission.WaitingForQuota {
		return NoFit
	}
	return a.opts.Preemption(cell, request)
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
