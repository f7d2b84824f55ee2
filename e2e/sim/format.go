package sim

import (
	"fmt"
	"strings"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// formatAction is an action in words.
func formatAction(a dispatch.Action) string {
	switch a.Verb {
	case dispatch.Retract:
		return fmt.Sprintf("%s from %s below epoch %d%s", a.Verb, a.Cluster, a.Epoch, map[bool]string{true: ", the copy only"}[a.OnlyCopy])
	case dispatch.EvictRemote:
		return fmt.Sprintf("%s on %s: %s", a.Verb, a.Cluster, a.Message)
	case dispatch.Finish:
		return fmt.Sprintf("%s from %s: %s", a.Verb, a.Cluster, a.Outcome.Reason)
	case dispatch.CreateOffer, dispatch.UpdateOffer, dispatch.CreateJob, dispatch.OpenGate:
		return fmt.Sprintf("%s on %s in epoch %d", a.Verb, a.Cluster, a.Epoch)
	case dispatch.ResizeJob:
		return fmt.Sprintf("%s on %s%s", a.Verb, a.Cluster, map[bool]string{true: " to no more"}[a.OnlyShrink])
	case dispatch.LiveRead, dispatch.CopyStatus, dispatch.SyncSpec:
		return fmt.Sprintf("%s of %s", a.Verb, a.Cluster)
	case dispatch.DrainStatus:
		return string(a.Verb)
	}
	return string(a.Verb)
}

// formatWrite is a write in words: only what changes.
func formatWrite(s dispatch.State, plan dispatch.Plan, item workload) string {
	var parts []string
	next := plan.Next
	if next.Epoch != s.Epoch || next.Reservation != s.Reservation {
		parts = append(parts, fmt.Sprintf("epoch %d", next.Epoch))
	}
	if next.Bound != s.Bound {
		parts = append(parts, "bound to "+orElse(next.Bound, "nobody"))
	}
	if strings.Join(next.Nominated, " ") != strings.Join(s.Nominated, " ") && next.Bound == "" {
		parts = append(parts, "nominated "+orElse(strings.Join(next.Nominated, " "), "nobody"))
	}
	if formatDebts(next) != formatDebts(s) {
		parts = append(parts, "owed by "+orElse(formatDebts(next), "nobody"))
	}
	if plan.CheckResult.State != item.check || plan.CheckResult.Message != item.message {
		parts = append(parts, fmt.Sprintf("check %s %q", plan.CheckResult.State, plan.CheckResult.Message))
	}
	return "stores " + strings.Join(parts, ", ")
}

func formatDebts(s dispatch.State) string {
	var parts []string
	for _, d := range s.Debts {
		text := fmt.Sprintf("%s since epoch %d", d.Cluster, d.Epoch)
		if !d.AbsentSince.IsZero() {
			text += " (gone)"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// printState writes the whole truth.
func (w *World) printState() {
	if w.out == nil {
		return
	}
	for _, name := range w.hub.workloadNames() {
		item := w.hub.workloads[name]
		fmt.Fprintf(w.out, "  %s  hub  %s  %s\n", w.formatClock(), name, describeWorkload(item))
	}
	for _, c := range w.workers {
		for _, name := range c.objectNames() {
			fmt.Fprintf(w.out, "  %s  %s   %s  %s\n", w.formatClock(), c.name, name, c.describeObjects(name))
		}
	}
}

func describeWorkload(item workload) string {
	s := item.state()
	parts := []string{fmt.Sprintf("epoch %d", s.Epoch)}
	if item.elastic {
		parts = append(parts, fmt.Sprintf("%d pods of %d", item.gpu, item.asked))
	}
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
		parts = append(parts, "owed by "+formatDebts(s))
	}
	if item.deleting {
		parts = append(parts, "deleting")
	}
	return fmt.Sprintf("%s; check %s %q", strings.Join(parts, ", "), orElse(string(item.check), "none"), item.message)
}

func (c *worker) describeObjects(name string) string {
	var parts []string
	if obj, ok := c.workloads[name]; ok {
		parts = append(parts, "copy "+formatOwner(obj.owner, obj.stampedEpoch())+obj.phase()+obj.formatSize())
	}
	if job, ok := c.jobs[name]; ok {
		parts = append(parts, "job "+formatOwner(job.owner, job.stampedEpoch())+job.phase()+job.formatSize())
	}
	return strings.Join(parts, "; ")
}

func formatOwner(o owner, epoch int64) string {
	if !o.ours {
		return "of somebody else"
	}
	return fmt.Sprintf("of epoch %d ", epoch)
}

func (obj remoteWorkload) phase() string {
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

// formatSize is for how many pods a slice is.
func (obj remoteWorkload) formatSize() string {
	if !obj.elastic {
		return ""
	}
	return fmt.Sprintf(", for %d pods", obj.gpu)
}

// formatSize is how many pods an elastic job has and asks for, and by which slice.
func (j remoteJob) formatSize() string {
	if !j.elastic {
		return ""
	}
	return fmt.Sprintf(", %d of %d pods, by %s", j.runs, j.pods, j.prebuilt)
}
