package sim

import (
	"fmt"
	"strings"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// sentence is an action in words.
func sentence(a dispatch.Action) string {
	switch a.Verb {
	case dispatch.Retract:
		return fmt.Sprintf("%s from %s below epoch %d", a.Verb, a.Cluster, a.Epoch)
	case dispatch.EvictRemote:
		return fmt.Sprintf("%s on %s: %s", a.Verb, a.Cluster, a.Message)
	case dispatch.Finish:
		return fmt.Sprintf("%s from %s: %s", a.Verb, a.Cluster, a.Outcome.Reason)
	case dispatch.CreateOffer, dispatch.UpdateOffer, dispatch.CreateJob, dispatch.OpenGate:
		return fmt.Sprintf("%s on %s in epoch %d", a.Verb, a.Cluster, a.Epoch)
	case dispatch.LiveRead, dispatch.CopyStatus:
		return fmt.Sprintf("%s of %s", a.Verb, a.Cluster)
	case dispatch.DrainStatus:
		return string(a.Verb)
	}
	return string(a.Verb)
}

// storing is a write in words: only what changes.
func storing(s dispatch.State, plan dispatch.Plan, item workload) string {
	var parts []string
	next := plan.Next
	if next.Epoch != s.Epoch || next.Reservation != s.Reservation {
		parts = append(parts, fmt.Sprintf("epoch %d", next.Epoch))
	}
	if next.Bound != s.Bound {
		parts = append(parts, "bound to "+or(next.Bound, "nobody"))
	}
	if strings.Join(next.Nominated, " ") != strings.Join(s.Nominated, " ") && next.Bound == "" {
		parts = append(parts, "nominated "+or(strings.Join(next.Nominated, " "), "nobody"))
	}
	if debts(next) != debts(s) {
		parts = append(parts, "owed by "+or(debts(next), "nobody"))
	}
	if plan.Verdict.Check != item.check || plan.Verdict.Message != item.message {
		parts = append(parts, fmt.Sprintf("check %s %q", plan.Verdict.Check, plan.Verdict.Message))
	}
	return "stores " + strings.Join(parts, ", ")
}

func debts(s dispatch.State) string {
	var parts []string
	for _, d := range s.Debts {
		text := fmt.Sprintf("%s since epoch %d", d.Cluster, d.Epoch)
		if !d.Absent.IsZero() {
			text += " (gone)"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// show writes the whole truth.
func (w *World) show() {
	if w.out == nil {
		return
	}
	for _, name := range w.hub.names() {
		item := w.hub.items[name]
		fmt.Fprintf(w.out, "  %s  hub  %s  %s\n", w.clock(), name, describe(item))
	}
	for _, c := range w.workers {
		for _, name := range c.names() {
			fmt.Fprintf(w.out, "  %s  %s   %s  %s\n", w.clock(), c.name, name, c.describe(name))
		}
	}
}

func describe(item workload) string {
	s := item.state()
	parts := []string{fmt.Sprintf("epoch %d", s.Epoch)}
	switch {
	case item.finished != nil:
		parts = append(parts, "finished "+item.finished.Reason)
	case item.evicted:
		parts = append(parts, "evicted")
	case item.quota:
		parts = append(parts, "quota")
	default:
		parts = append(parts, "queued")
	}
	if s.Bound != "" {
		parts = append(parts, "bound to "+s.Bound)
	}
	if len(s.Nominated) > 0 {
		parts = append(parts, "nominated "+strings.Join(s.Nominated, " "))
	}
	if len(s.Debts) > 0 {
		parts = append(parts, "owed by "+debts(s))
	}
	if item.deleting {
		parts = append(parts, "deleting")
	}
	return fmt.Sprintf("%s; check %s %q", strings.Join(parts, ", "), or(string(item.check), "none"), item.message)
}

func (c *worker) describe(name string) string {
	var parts []string
	if obj, ok := c.copies[name]; ok {
		parts = append(parts, "copy "+stamp(obj.owner, obj.stamp())+obj.phase())
	}
	if job, ok := c.jobs[name]; ok {
		parts = append(parts, "job "+stamp(job.owner, job.stamp())+job.phase())
	}
	return strings.Join(parts, "; ")
}

func stamp(o owner, epoch int64) string {
	if !o.ours {
		return "of somebody else"
	}
	return fmt.Sprintf("of epoch %d ", epoch)
}

func (obj copied) phase() string {
	switch {
	case !obj.ours:
		return ""
	case obj.finished != nil:
		return "finished " + obj.finished.Reason
	case obj.evicted:
		return "evicted"
	case obj.admitted:
		return "admitted"
	case obj.quota:
		return "has quota"
	}
	return "waiting"
}

func (j remoteJob) phase() string {
	switch {
	case !j.ours:
		return ""
	case j.finished != nil:
		return "finished"
	case j.deleting:
		return "being deleted"
	case j.running:
		return "running"
	}
	return "suspended"
}
