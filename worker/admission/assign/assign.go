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
	// Preemption grades a request of an amount that the cell has not available now: how could preemption meet it, and at
	// which borrowing height once the victims have left? Nil means that it never can.
	Preemption func(cell *quota.Cell, request amount.Amount) (Mode, int)
}

// Result is the outcome of an assignment.
type Result struct {
	// Mode is the worst over all pod sets: how the whole workload can be met.
	Mode Mode
	// Assignment is nil if Mode is NoFit.
	Assignment *admission.Assignment
	// Because and Message say why Mode is not Fit.
	Because admission.Reason
	Message string
	// Lacks is what was not available now, in every flavor that was tried. Valid until the next assignment by the same
	// Assigner.
	Lacks []admission.Lack
}

// Assign chooses flavors for the workload from the menu of its queue.
func Assign(menu *admission.Menu, w *admission.Workload, opts Options) Result {
	return new(Assigner).Assign(menu, w, opts)
}

// Assigner is memory that assignments use one after the other; the zero value is ready. What it returns it does not touch
// again, but for Result.Lacks.
type Assigner struct{ attempt attempt }

// Assign is the function of the same name.
func (x *Assigner) Assign(menu *admission.Menu, w *admission.Workload, opts Options) Result {
	a := &x.attempt
	a.begin(menu, w, opts)
	for i := range w.PodSets {
		if unit := a.unit(i); unit != nil {
			a.place(unit)
		}
		if a.failed != "" {
			return Result{Mode: NoFit, Because: a.failed, Message: strings.Join(a.texts, "; "), Lacks: a.lacks}
		}
	}
	result := Result{Mode: a.total.mode, Assignment: &a.slabs.assignments.cut(1)[0], Lacks: a.lacks}
	*result.Assignment = admission.Assignment{PodSets: a.podSets, Usage: a.usage(), Borrowing: a.total.borrowing}
	if a.total.mode == Fit {
		result.Assignment.Considered = a.consideredText()
	} else {
		result.Because, result.Message = admission.WaitingForQuota, strings.Join(a.texts, "; ")
	}
	return result
}

// attempt is an assignment in the making.
type attempt struct {
	menu     *admission.Menu
	workload *admission.Workload
	opts     Options

	podSets []admission.PodSetAssignment
	// taken is what the pod sets placed so far take, in the order they took it; the next ones find that much less.
	taken []taking
	total grade
	// failed is why a pod set cannot be placed; it is the last that is judged. texts say what is in the way of the pod sets,
	// of those that can be placed, but not now, as well.
	failed admission.Reason
	texts  []string
	lacks  []admission.Lack

	slabs slabs
	// considered are the flavors that were looked at and are not simply free; their obstacles are consecutive in obstacles.
	considered []considered
	obstacles  []detail
	waits      bool // see considered

	// The rest is reused from one pod set to the next.
	units  []int
	wants  []want
	chosen []choice
	// passed is what failed at the flavors of the group that were tried so far, obstacle what did at the last one.
	passed   failure
	obstacle failure
	// delayed is what is in the way at the groups of the pod set that have a flavor, but not now.
	delayed []detail
}

type taking struct {
	cell *quota.Cell
	quota.Use
}

// begin forgets the last assignment, except for the memory it took.
func (a *attempt) begin(menu *admission.Menu, w *admission.Workload, opts Options) {
	a.menu, a.workload, a.opts = menu, w, opts
	a.podSets = a.slabs.podSets.cut(len(w.PodSets))
	a.total = grade{mode: Fit}
	a.failed = ""
	a.taken, a.texts, a.lacks = a.taken[:0], a.texts[:0], a.lacks[:0]
	a.considered, a.obstacles = a.considered[:0], a.obstacles[:0]
}

// unit returns the indices of the pod sets that share the flavors of pod set i; nil if an earlier one spoke for it.
func (a *attempt) unit(i int) []int {
	podSets := a.workload.PodSets
	a.units = append(a.units[:0], i)
	group := podSets[i].Group
	if group == "" {
		return a.units
	}
	for j := range podSets {
		switch {
		case podSets[j].Group != group || j == i:
		case j < i:
			return nil
		default:
			a.units = append(a.units, j)
		}
	}
	return a.units
}

// place chooses flavors for a unit and takes their quota, or notes why it cannot: for what the queue does not offer at all,
// otherwise for the group without a flavor of which the least can be hoped.
func (a *attempt) place(unit []int) {
	var worst failure
	demand := a.demand(unit, &worst)
	if worst.because != "" {
		a.fail(unit, worst)
		return
	}
	a.delayed = a.delayed[:0]
	a.chosen = append(a.chosen[:0], make([]choice, len(a.menu.Groups))...)
	for i := range a.menu.Groups {
		if !slices.ContainsFunc(demand, func(w want) bool { return w.column.Group == i }) {
			continue
		}
		got := a.choose(&a.menu.Groups[i], i, unit, demand)
		switch {
		case got.flavor == nil && severity(a.passed.because) > severity(worst.because):
			worst = failure{because: a.passed.because, details: slices.Clone(a.passed.details)}
		case got.flavor != nil:
			a.chosen[i] = got
			a.total = a.total.and(got.grade)
			if got.mode != Fit {
				a.delayed = append(a.delayed, a.passed.details...)
			}
		}
	}
	if worst.because != "" {
		a.fail(unit, worst)
		return
	}
	if len(a.delayed) > 0 {
		a.tell(unit, a.delayed)
	}
	for _, i := range unit {
		a.record(i, a.chosen)
	}
}

func (a *attempt) fail(unit []int, why failure) {
	a.failed = why.because
	a.tell(unit, why.details)
}

func (a *attempt) tell(unit []int, details []detail) {
	for _, i := range unit {
		a.texts = append(a.texts, text(a.workload.PodSets[i].Name, details))
	}
}
