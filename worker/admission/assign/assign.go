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
	// Preemption grades a request of an amount that the cell has not available now: how could preemption meet it? Nil
	// means that it never can.
	Preemption func(cell *quota.Cell, request amount.Amount) Mode
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
}

// Assign chooses flavors for the workload from the menu of its queue.
func Assign(menu *admission.Menu, w *admission.Workload, opts Options) Result {
	a := attempt{menu: menu, workload: w, opts: opts, total: grade{mode: Fit}}
	a.podSets = make([]admission.PodSetAssignment, len(w.PodSets))
	for i := range w.PodSets {
		if unit := a.unit(i); unit != nil {
			a.place(unit)
		}
	}
	if a.failed.because != "" {
		return Result{Mode: NoFit, Because: a.failed.because, Message: strings.Join(a.failed.details, "; ")}
	}
	result := Result{Mode: a.total.mode, Assignment: &admission.Assignment{
		PodSets: a.podSets, Usage: a.usage(), Borrowing: a.total.borrowing,
	}}
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
	// failed collects the pod sets that cannot be placed; obstacles are the texts of those that can, but not now.
	failed    failure
	obstacles []string

	// units and wants are reused from one pod set to the next.
	units []int
	wants []want
}

type taking struct {
	cell *quota.Cell
	quota.Use
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
	chosen := make([]choice, len(a.menu.Groups))
	for i := range a.menu.Groups {
		if !slices.ContainsFunc(demand, func(w want) bool { return w.column.Group == i }) {
			continue
		}
		chosen[i] = a.choose(&a.menu.Groups[i], i, unit, demand)
		if chosen[i].flavor == nil {
			failed.also(chosen[i].failed.because, chosen[i].failed.details...)
			continue
		}
		a.total = a.total.and(chosen[i].grade)
		if chosen[i].mode != Fit {
			a.obstacles = append(a.obstacles, chosen[i].failed.text(a.names(unit)...))
		}
	}
	if failed.because != "" {
		a.failed.also(failed.because, failed.text(a.names(unit)...))
		return
	}
	for _, i := range unit {
		a.record(i, chosen)
	}
}

func (a *attempt) names(unit []int) []string {
	names := make([]string, len(unit))
	for k, i := range unit {
		names[k] = a.workload.PodSets[i].Name
	}
	return names
}
