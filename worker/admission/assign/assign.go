// Package assign chooses flavors: given what a queue offers and what a workload asks for, it finds the flavor of every
// resource of every pod set, or says why there is none (contract: kueue-api.md 4.6).
//
// It only reads. Preemption slots in through Options.Preemption, which grades requests that do not fit now.
package assign

import (
	"slices"
	"strings"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// Options change how flavors are chosen.
type Options struct {
	// IgnoreUndeclared skips requested resources that no group of the queue covers, instead of failing.
	IgnoreUndeclared bool
	// FirstFlavor takes the first flavor that something can come of, whatever the queue's fungibility says.
	FirstFlavor bool
	// Held is what the workload takes over from one that it replaces: only what it asks for beyond that has to be available.
	Held quota.Usage
	// PreemptionOracle grades a request of an amount that the cell has not available now: how could preemption meet it, and at
	// which borrowing height once the victims have left? Nil means that it never can.
	PreemptionOracle func(cell *quota.Cell, request amount.Amount) (Mode, int)
}

// Result is the outcome of an assignment.
type Result struct {
	// Mode is the worst over all pod sets: how the whole workload can be met.
	Mode Mode
	// Assignment is nil if Mode is NoFit.
	Assignment *admission.Assignment
	// Reason and Message say why Mode is not Fit.
	Reason  admission.Reason
	Message string
	// Shortfalls is what was not available now, in every flavor that was tried. Valid until the next assignment by the same
	// Assigner.
	Shortfalls []admission.Shortfall
}

// Assign chooses flavors for the workload from the flavor table of its queue.
func Assign(flavors *admission.FlavorTable, w *admission.Workload, opts Options) Result {
	return new(Assigner).Assign(flavors, w, opts)
}

// Assigner is memory that assignments use one after the other; the zero value is ready. What it returns it does not touch
// again, but for Result.Lacks.
type Assigner struct{ state assignState }

// Assign is the function of the same name.
func (x *Assigner) Assign(flavors *admission.FlavorTable, w *admission.Workload, opts Options) Result {
	a := &x.state
	a.reset(flavors, w, opts)
	for i := range w.PodSets {
		if unit := a.podSetGroup(i); unit != nil {
			a.assignPodSets(unit)
		}
		if a.failReason != "" {
			return Result{Mode: NoFit, Reason: a.failReason, Message: strings.Join(a.messages, "; "), Shortfalls: a.shortfalls}
		}
	}
	result := Result{Mode: a.total.mode, Assignment: &a.slabs.assignments.alloc(1)[0], Shortfalls: a.shortfalls}
	*result.Assignment = admission.Assignment{PodSets: a.podSets, Usage: a.usage(), Borrowing: a.total.borrowingHeight}
	if a.total.mode == Fit {
		result.Assignment.Considered = a.consideredText()
	} else {
		result.Reason, result.Message = admission.WaitingForQuota, strings.Join(a.messages, "; ")
	}
	return result
}

// assignState is an assignment in the making.
type assignState struct {
	flavorTable *admission.FlavorTable
	workload    *admission.Workload
	opts        Options

	podSets []admission.PodSetAssignment
	// assigned is what the pod sets placed so far take, in the order they took it; the next ones find that much less.
	assigned []assignedUse
	total    flavorGrade
	// failReason is why a pod set cannot be placed; it is the last that is judged. texts say what is in the way of the pod sets,
	// of those that can be placed, but not now, as well.
	failReason admission.Reason
	messages   []string
	shortfalls []admission.Shortfall

	slabs slabs
	// considered are the flavors that were looked at and are not simply free; their obstacles are consecutive in obstacles.
	considered        []consideredFlavor
	obstacles         []failureDetail
	nominalQuotaInUse bool // see considered

	// The rest is reused from one pod set to the next.
	podSetIndices []int
	requests      []resourceRequest
	chosenFlavors []flavorChoice
	// groupFailure is what failed at the flavors of the group that were tried so far, obstacle what did at the last one.
	groupFailure  failure
	flavorFailure failure
	// waitDetails is what is in the way at the groups of the pod set that have a flavor, but not now.
	waitDetails []failureDetail
}

type assignedUse struct {
	cell *quota.Cell
	quota.Use
}

// reset forgets the last assignment, except for the memory it took.
func (a *assignState) reset(flavors *admission.FlavorTable, w *admission.Workload, opts Options) {
	a.flavorTable, a.workload, a.opts = flavors, w, opts
	a.podSets = a.slabs.podSets.alloc(len(w.PodSets))
	a.total = flavorGrade{mode: Fit}
	a.failReason = ""
	a.assigned, a.messages, a.shortfalls = a.assigned[:0], a.messages[:0], a.shortfalls[:0]
	a.considered, a.obstacles = a.considered[:0], a.obstacles[:0]
}

// podSetGroup returns the indices of the pod sets that share the flavors of pod set i; nil if an earlier one spoke for it.
func (a *assignState) podSetGroup(i int) []int {
	podSets := a.workload.PodSets
	a.podSetIndices = append(a.podSetIndices[:0], i)
	group := podSets[i].Group
	if group == "" {
		return a.podSetIndices
	}
	for j := range podSets {
		switch {
		case podSets[j].Group != group || j == i:
		case j < i:
			return nil
		default:
			a.podSetIndices = append(a.podSetIndices, j)
		}
	}
	return a.podSetIndices
}

// assignPodSets chooses flavors for a unit and takes their quota, or notes why it cannot: for what the queue does not offer at all,
// otherwise for the group without a flavor of which the least can be hoped.
func (a *assignState) assignPodSets(unit []int) {
	var worst failure
	demand := a.sumRequests(unit, &worst)
	if worst.reason != "" {
		a.fail(unit, worst)
		return
	}
	a.waitDetails = a.waitDetails[:0]
	a.chosenFlavors = append(a.chosenFlavors[:0], make([]flavorChoice, len(a.flavorTable.Groups))...)
	for i := range a.flavorTable.Groups {
		if !slices.ContainsFunc(demand, func(w resourceRequest) bool { return w.column.Group == i }) {
			continue
		}
		got := a.chooseFlavor(&a.flavorTable.Groups[i], i, unit, demand)
		switch {
		case got.flavor == nil && severity(a.groupFailure.reason) > severity(worst.reason):
			worst = failure{reason: a.groupFailure.reason, details: slices.Clone(a.groupFailure.details)}
		case got.flavor != nil:
			a.chosenFlavors[i] = got
			a.total = a.total.combine(got.flavorGrade)
			if got.mode != Fit {
				a.waitDetails = append(a.waitDetails, a.groupFailure.details...)
			}
		}
	}
	if worst.reason != "" {
		a.fail(unit, worst)
		return
	}
	if len(a.waitDetails) > 0 {
		a.addMessages(unit, a.waitDetails)
	}
	for _, i := range unit {
		a.recordAssignment(i, a.chosenFlavors)
	}
}

func (a *assignState) fail(unit []int, why failure) {
	a.failReason = why.reason
	a.addMessages(unit, why.details)
}

func (a *assignState) addMessages(unit []int, details []failureDetail) {
	for _, i := range unit {
		a.messages = append(a.messages, formatDetails(a.workload.PodSets[i].Name, details))
	}
}
