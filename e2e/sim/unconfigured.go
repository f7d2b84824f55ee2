package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// Workloads whose check or config is missing for a time, as controller/observe.go has it: one that was dispatched before is
// carried on with where it is, nothing new is offered, and nothing is run twice, because what was meant is not known.

// hasConfig reports whether there is a config to go by for a Workload.
func (w *hubCluster) hasConfig(item workload) bool { return w.hasCheckEntry(item) && !w.hub.noConfig }

// listedClusters are the clusters that count as listed for a Workload.
func (w *hubCluster) listedClusters(item workload) []string {
	switch {
	case w.hasConfig(item) || w.parts.DriverBugs.KeepsOldConfig:
		return w.hub.listed
	case item.bound != "":
		return []string{item.bound}
	}
	return nil
}

// needsDecision reports whether there is anything to decide about a Workload.
func (w *program) needsDecision(item workload) bool {
	adrift := !w.hasConfig(item) && !item.deleting && item.quota && item.finished == nil
	if !adrift || w.parts.DriverBugs.KeepsOldConfig {
		return true
	}
	s := item.state()
	if s.Bound == "" && len(s.Debts) == 0 || w.parts.DriverBugs.DropsUnconfigured {
		return false
	}
	w.recordEvent(Unconfigured)
	if w.hasCheckEntry(item) || item.record != nil {
		return true
	}
	if item.elastic && item.view == nil {
		item.view = w.viewSlice(item)
	}
	r, known := w.driver.remotes[s.Bound]
	return known && (workloadFacts(item, r.informers.workloads.get(item.name)).Holder == dispatch.Ours ||
		jobFacts(item, r.informers.jobs.get(jobOf(item.name))).Holder == dispatch.Ours)
}

// policyFor is the policy that holds for a Workload.
func (w *hubCluster) policyFor(item workload) dispatch.Policy {
	p := w.policy
	if !w.hasConfig(item) {
		p.OnHubLost, p.OnWorkerLost = dispatch.KeepRunning, dispatch.Hold
	}
	return p
}

// stepPolicy is what the program takes for that.
func (w *hubCluster) stepPolicy(item workload) dispatch.Policy {
	p := w.policyFor(item)
	if w.parts.DriverBugs.AssumesDefaultPolicy && !w.hasConfig(item) {
		p.OnHubLost, p.OnWorkerLost = dispatch.KeepRunning, dispatch.Redispatch
	}
	return p
}

// checkUnconfiguredAtRest checks, while checks and configs are still missing, that what has ended on the cluster that is bound is known on the hub,
// and that what was evicted has been stopped.
func (w *workerClusters) checkUnconfiguredAtRest() {
	for _, name := range w.hub.workloadNames() {
		item := w.hub.workloads[name]
		c := w.lookupWorker(item.bound)
		if c == nil || w.hasConfig(item) || !item.ownsJob() || item.deleting {
			continue
		}
		if item.elastic && !w.hasJobNow(item) {
			continue
		}
		job, there := c.jobs[jobOf(name)]
		mine := there && w.history.sameRun(job.uid, item.uid) && job.epoch == item.state().Epoch
		w.mustHold(invUnconfigured, !mine || job.finished == nil || item.finished != nil, "%s has ended on %s", name, c.name)
	}
}

// restoreConfig brings back what was missing.
func (w *hubCluster) restoreConfig() {
	w.hub.noConfig, w.hub.noCheck = false, false
	w.markChanged()
	for _, name := range w.hub.workloadNames() {
		if item := w.hub.workloads[name]; item.noCheckEntry {
			w.putWorkload(item.withCheckEntry())
		}
	}
}

// withCheckEntry is what the queue does that asks for the check once more: its entry begins anew.
func (w workload) withCheckEntry() workload {
	w.noCheckEntry = false
	if w.quota && w.check == "" {
		w.check = dispatch.Pending
	}
	return w
}

// config gone, or config back; check gone, or check back.
func setMissing(what func(*hub) *bool) func(command) error {
	return func(c command) error {
		*what(c.hub) = c.arg(0) == "gone"
		c.markChanged()
		return nil
	}
}

// removeCheckEntry j1, ask j1: the queue asks for the check of the dispatcher no more, or does again.
func removeCheckEntry(c command) error {
	return c.updateWorkload(func(item *workload) { item.noCheckEntry, item.check, item.message = true, "", "" })
}

func addCheckEntry(c command) error {
	return c.updateWorkload(func(item *workload) { *item = item.withCheckEntry() })
}

// reorderClusters w2 w1: the config lists these clusters, and no others, in this order.
func reorderClusters(c command) error {
	c.hub.listed = nil
	for _, name := range c.args {
		if c.lookupWorker(name) != nil && !slices.Contains(c.hub.listed, name) {
			c.hub.listed = append(c.hub.listed, name)
		}
	}
	c.markChanged()
	return nil
}
