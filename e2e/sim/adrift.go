package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// Workloads whose check or config is missing for a time, as controller/observe.go has it: one that was dispatched before is carried
// on with where it is, nothing new is offered, and nothing is run twice, because nobody knows what was meant.

// configured reports whether there is a config to go by for a Workload.
func (w *World) configured(item workload) bool { return w.asked(item) && !w.hub.noConfig }

// listedFor are the clusters that count as listed for a Workload.
func (w *World) listedFor(item workload) []string {
	switch {
	case w.configured(item) || w.parts.Shell.RemembersTheConfig:
		return w.hub.listed
	case item.bound != "":
		return []string{item.bound}
	}
	return nil
}

// concerns reports whether there is anything to decide about a Workload.
func (w *World) concerns(item workload) bool {
	adrift := !w.configured(item) && !item.deleting && item.quota && item.finished == nil
	if !adrift || w.parts.Shell.RemembersTheConfig {
		return true
	}
	s := item.state()
	if s.Bound == "" && len(s.Debts) == 0 || w.parts.Shell.ForgetsTheAdrift {
		return false
	}
	w.reach(Adrift)
	if w.asked(item) || item.record != nil {
		return true
	}
	r, known := w.program.remote[s.Bound]
	return known && (copyFacts(item, r.watch.copies.get(item.name)).Holder == dispatch.Ours ||
		jobFacts(item, r.watch.jobs.get(item.name)).Holder == dispatch.Ours)
}

// policyFor is the policy that holds for a Workload.
func (w *World) policyFor(item workload) dispatch.Policy {
	p := w.policy
	if !w.configured(item) {
		p.OnHubLost, p.OnWorkerLost = dispatch.KeepRunning, dispatch.Hold
	}
	return p
}

// policyToStep is what the program takes for that.
func (w *World) policyToStep(item workload) dispatch.Policy {
	p := w.policyFor(item)
	if w.parts.Shell.GuessesThePolicy && !w.configured(item) {
		p.OnHubLost, p.OnWorkerLost = dispatch.KeepRunning, dispatch.Redispatch
	}
	return p
}

// adriftAtRest checks, while checks and configs are still missing, that what has ended on the cluster that is bound is known on the hub,
// and that what was evicted has been stopped.
func (w *World) adriftAtRest() {
	for _, name := range w.hub.names() {
		item := w.hub.items[name]
		c := w.worker(item.bound)
		if c == nil || w.configured(item) || !item.owns() || item.deleting {
			continue
		}
		job, there := c.jobs[name]
		mine := there && job.uid == item.uid && job.epoch == item.state().Epoch
		w.must(lawAdrift, !mine || job.finished == nil || item.finished != nil, "%s has ended on %s", name, c.name)
	}
}

// restore brings back what was missing.
func (w *World) restore() {
	w.hub.noConfig, w.hub.noCheck = false, false
	w.changed()
	for _, name := range w.hub.names() {
		if item := w.hub.items[name]; item.unasked {
			w.put(item.askAgain())
		}
	}
}

// askAgain is what the queue does that asks for the check once more: its entry begins anew.
func (w workload) askAgain() workload {
	w.unasked = false
	if w.quota && w.check == "" {
		w.check = dispatch.Pending
	}
	return w
}

// config gone, or config back; check gone, or check back.
func missing(what func(*hub) *bool) func(command) error {
	return func(c command) error {
		*what(c.hub) = c.arg(0) == "gone"
		c.changed()
		return nil
	}
}

// unask j1, ask j1: the queue asks for the check of the dispatcher no more, or does again.
func (c command) unask() error {
	return c.update(func(item *workload) { item.unasked, item.check, item.message = true, "", "" })
}

func (c command) ask() error {
	return c.update(func(item *workload) { *item = item.askAgain() })
}

// reorder w2 w1: the config lists these clusters, and no others, in this order.
func (c command) reorder() error {
	c.hub.listed = nil
	for _, name := range c.args {
		if c.worker(name) != nil && !slices.Contains(c.hub.listed, name) {
			c.hub.listed = append(c.hub.listed, name)
		}
	}
	c.changed()
	return nil
}
