package assign

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// flavorChoice is the flavor chosen for a group, nil if there is none.
type flavorChoice struct {
	flavor *admission.FlavorTableEntry
	flavorGrade
}

// chooseFlavor goes through the group's flavors in order, stops at one that is good enough and otherwise takes the best. What is in
// the way at those that were tried is in a.passed.
func (a *assignState) chooseFlavor(group *admission.FlavorTableGroup, index int, unit []int, demand []resourceRequest) flavorChoice {
	best := flavorChoice{}
	a.groupFailure.clear()
	for i := range group.Flavors {
		flavor := &group.Flavors[i]
		why := a.firstMismatch(flavor, group.LabelKeys, unit)
		if why == "" {
			why = a.otherFlavor(flavor.Name, index, unit)
		}
		if why != "" {
			a.groupFailure.addAlternative(admission.NoMatchingFlavor, failureDetail{text: why})
			a.recordConsidered(consideredFlavor{firstPodSet: unit[0], resourceGroup: index, flavor: flavor.Name}, failureDetail{text: why})
			continue
		}
		got := a.gradeFlavor(flavor, index, demand)
		if a.flavorFailure.reason != "" {
			a.groupFailure.addAlternative(a.flavorFailure.reason, a.flavorFailure.details...)
		}
		if got.mode != Fit || got.borrowingHeight > 0 {
			a.recordConsidered(consideredFlavor{firstPodSet: unit[0], resourceGroup: index, flavor: flavor.Name, flavorGrade: got, nominalQuotaInUse: a.nominalQuotaInUse}, a.flavorFailure.details...)
		}
		if got.mode == NoFit {
			continue
		}
		if best.flavor == nil || got.isBetterThan(best.flavorGrade, a.flavorTable.Queue.Fungibility.Preference) {
			best = flavorChoice{flavor: flavor, flavorGrade: got}
		}
		if a.canStopAt(got) {
			break
		}
	}
	return best
}

// canStopAt reports whether the search may stop at a flavor of this grade.
func (a *assignState) canStopAt(g flavorGrade) bool {
	if a.opts.FirstFlavor {
		return g.mode > NoCandidates
	}
	return g.canStopSearch(a.flavorTable.Queue.Fungibility)
}

// firstMismatch says why a flavor does not suit one of the pod sets that have to share it; "" if it suits them all.
func (a *assignState) firstMismatch(flavor *admission.FlavorTableEntry, keys []string, unit []int) string {
	for _, i := range unit {
		if why := flavorMismatch(&a.workload.PodSets[i], *flavor, keys); why != "" {
			return why
		}
	}
	return ""
}

// otherFlavor says that pods of the unit run in another flavor already, of which this one would be a second; "" if they do not.
func (a *assignState) otherFlavor(flavor string, group int, unit []int) string {
	for _, i := range unit {
		for _, has := range a.workload.PodSets[i].Flavors {
			column, covered := a.flavorTable.FindResource(has.Resource)
			if covered && column.Group == group && has.Flavor != flavor {
				return "could not assign " + flavor + " flavor since the original workload is assigned: " + has.Flavor
			}
		}
	}
	return ""
}

// gradeFlavor says how the flavor can meet the demand on the group; a.obstacle is what is in the way if not at once.
func (a *assignState) gradeFlavor(flavor *admission.FlavorTableEntry, group int, demand []resourceRequest) flavorGrade {
	total := flavorGrade{mode: Fit}
	a.flavorFailure.clear()
	a.nominalQuotaInUse = a.opts.PreemptionOracle == nil
	for _, w := range demand {
		if w.column.Group != group || w.amount <= 0 {
			continue
		}
		cell := flavor.Cells[w.column.Index]
		before := a.assignedAmount(cell)
		request := w.amount.Add(before)
		charge := a.beyondHeld(cell, request)
		got := flavorGrade{mode: Fit, borrowingHeight: cell.BorrowingHeight(charge)}
		if because, lack := quotaShortfall(cell, request, charge, failureDetail{resource: w.resource, flavor: flavor.Name}); because != "" {
			lack.requestedBefore = before
			a.flavorFailure.addRequired(because, lack)
			a.nominalQuotaInUse = a.nominalQuotaInUse && because == admission.WaitingForQuota && request <= cell.Nominal()
			got = a.gradeWithPreemption(because, cell, charge, got.borrowingHeight)
			a.recordShortfall(because, flavor.Name, w.resource, cell, charge)
		}
		total = total.combine(got)
	}
	return total
}

// recordShortfall writes down what is not available now.
func (a *assignState) recordShortfall(because admission.Reason, flavor, resource string, cell *quota.Cell, request amount.Amount) {
	if because == admission.WaitingForQuota {
		name := quota.FlavorResource{Flavor: flavor, Resource: resource}
		a.shortfalls = append(a.shortfalls, admission.Shortfall{FlavorResource: name, Cell: cell, Amount: request})
	}
}

// beyondHeld is the part of a request that the workload does not take over from the one that it replaces.
func (a *assignState) beyondHeld(cell *quota.Cell, request amount.Amount) amount.Amount {
	if len(a.opts.Held) == 0 {
		return request
	}
	return request.Sub(a.opts.Held.Amount(cell.Name())).AtLeast(0)
}

// quotaShortfall says why the cell cannot meet the request now, of which charge has to be available, if it cannot. The detail names
// resource and flavor.
func quotaShortfall(cell *quota.Cell, request, charge amount.Amount, of failureDetail) (admission.Reason, failureDetail) {
	of.requested = request
	available := cell.Available()
	if charge <= available || charge <= 0 {
		return "", failureDetail{}
	}
	if most := cell.PotentialAvailable(); request > most {
		of.maximum = most
		return admission.ExceedsMaxQuota, of
	}
	of.shortfall = charge.Sub(available)
	return admission.WaitingForQuota, of
}

// gradeWithPreemption grades a flavor that lacks quota. Only quota can be freed by preemption: without an oracle, or for
// another obstacle, the flavor does not fit.
func (a *assignState) gradeWithPreemption(because admission.Reason, cell *quota.Cell, request amount.Amount, borrowing int) flavorGrade {
	if a.opts.PreemptionOracle == nil || because != admission.WaitingForQuota {
		return flavorGrade{mode: NoFit, borrowingHeight: borrowing}
	}
	mode, height := a.opts.PreemptionOracle(cell, request)
	return flavorGrade{mode: mode, borrowingHeight: height}
}

// assignedAmount is what earlier pod sets of the same workload have been given of a cell. It counts against what the next
// one finds there.
func (a *assignState) assignedAmount(cell *quota.Cell) amount.Amount {
	var sum amount.Amount
	for _, t := range a.assigned {
		if t.cell == cell {
			sum = sum.Add(t.Amount)
		}
	}
	return sum
}
