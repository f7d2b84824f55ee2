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
	}
	if a.failed.because != "" {
		return Result{Mode: NoFit, Because: a.failed.because, Message: strings.Join(a.texts, "; "), Lacks: a.lacks}
	}
	result := Result{Mode: a.total.mode, Assignment: &a.slabs.assignments.cut(1)[0], Lacks: a.lacks}
	*result.Assignment = admission.Assignment{PodSets: a.podSets, Usage: a.usage(), Borrowing: a.total.borrowing}
	if a.total.mode != Fit {
		result.Because, result.Message = admission.WaitingForQuota, strings.Join(a.obstacles, "; ")
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
	// failed collects the pod sets that cannot be placed, texts what they say; obstacles are the texts of those that can,
	// but not now.
	failed    failure
	texts     []string
	obstacles []string
	lacks     []admission.Lack

	slabs slabs

	// The rest is reused from one pod set to the next.
	units  []int
	wants  []want
	chosen []choice
	// passed is what failed at the flavors of the group that were tried so far.
	passed   failure
	obstacle failure
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
	a.failed.clear()
	a.taken, a.texts, a.obstacles, a.lacks = a.taken[:0], a.texts[:0], a.obstacles[:0], a.lacks[:0]
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

// place chooses flavors for a unit and takes their quota, or notes why it cannot.
func (a *attempt) place(unit []int) {
	var failed failure
	demand := a.demand(unit, &failed)
	a.chosen = append(a.chosen[:0], make([]choice, len(a.menu.Groups))...)
	for i := range a.menu.Groups {
		if !slices.ContainsFunc(demand, func(w want) bool { return w.column.Group == i }) {
			continue
		}
		got := a.choose(&a.menu.Groups[i], i, unit, demand)
		if got.flavor == nil {
			failed.also(a.passed.because, a.passed.details...)
			continue
		}
		a.chosen[i] = got
		a.total = a.total.and(got.grade)
		if got.mode == NoCandidates {
			got.failed = a.passed.clone() // No flavor is better than another then.
		}
		if got.mode != Fit {
			a.obstacles = append(a.obstacles, got.failed.text(a.names(unit)...))
		}
	}
	if failed.because != "" {
		a.failed.also(failed.because)
		a.texts = append(a.texts, failed.text(a.names(unit)...))
		return
	}
	for _, i := range unit {
		a.record(i, a.chosen)
	}
}

func (a *attempt) names(unit []int) []string {
	names := make([]string, len(unit))
	for k, i := range unit {
		names[k] = a.workload.PodSets[i].Name
	}
	return names
}
