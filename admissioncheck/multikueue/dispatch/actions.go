package dispatch

// workerActions returns the actions for the worker clusters that bring them where the State wants them: one offer for each
// nominated cluster, and nothing that is not wanted any more.
type workerActions struct {
	state       *State
	observed    *Observation
	policy      *Policy
	record      recordCheck
	results     runResults
	eligibility eligibility
	debts       debts
}

// offerActions returns what the clusters need so that each nominated one has exactly one offer of this epoch and the others
// have nothing.
func (w workerActions) offerActions() []Action {
	var removals, others []Action
	for _, v := range w.observed.Clusters {
		if !v.connected() {
			continue
		}
		actions := w.clusterActions(v)
		if len(actions) > 0 && actions[0].Verb == Retract {
			removals = append(removals, actions...)
		} else {
			others = append(others, actions...)
		}
	}
	return append(removals, others...)
}

// clusterActions is offerActions for one cluster. Nothing is offered to a cluster that may still hold an earlier epoch's job:
// that job would adopt the new copy and run under its admission. An object that is not as it should be and that no case names
// goes by itself, or is not ours.
func (w workerActions) clusterActions(v ClusterView) []Action {
	offered := w.state.isNominated(v.Name) && w.eligibility.ineligibleReason(v) == ""
	c := v.Copy
	switch {
	case w.state.hasStale(v) || w.state.hasDebt(v.Name):
		return w.collectDebt(v)
	case !offered && v.removable():
		return w.removeAll(v)
	case !offered:
		return nil
	case c.Holder == Absent:
		return w.createOffer(v)
	case !w.state.isCurrentCopy(c) || c.Finished != nil || c.Deleting:
		return nil
	case c.Deactivating: // a deactivated copy is never admitted: its fence, or a user, has ended this offer, not the next
		return w.removeAll(v)
	case c.OnlyPriorityDiffers || c.OnlyLarger:
		return []Action{{Verb: UpdateOffer, Cluster: v.Name, Epoch: w.state.Epoch}}
	case !c.SpecMatches:
		return w.removeAll(v)
	default: // the offer is as it should be
		return nil
	}
}

// createOffer creates the copy. It does nothing if a job is in the way, or if the cluster's fence might stop what is offered. The
// copy's preemption gate is made closed where preemption is orchestrated and no sibling has chosen the cluster.
func (w workerActions) createOffer(v ClusterView) []Action {
	if v.Job.Holder != Absent || w.policy.awaitsLease(v) {
		return nil
	}
	return []Action{{
		Verb: CreateOffer, Cluster: v.Name, Epoch: w.state.Epoch, StopsOnHubLost: w.policy.OnHubLost == Stop,
		GateClosed: w.policy.OrchestratePreemption && w.observed.Local.Siblings.Pin == "",
	}}
}

// boundActions removes the losers' copies, and brings the priority and the size of the winner's up to date. The size follows that of the job, once that
// is seen: a worker stops a job that runs more pods than its copy is for and asks for more still.
func (w workerActions) boundActions(v ClusterView) []Action {
	actions := w.cleanOthers()
	c := v.Copy
	if c.OnlyPriorityDiffers || c.OnlyLarger && v.Job.Holder != Absent && !v.Job.SizeBehind {
		actions = append(actions, Action{Verb: UpdateOffer, Cluster: v.Name, Epoch: w.state.Epoch})
	}
	return actions
}

// cleanOthers removes what other clusters hold, and what earlier epochs left on the bound one, and reads the debtors that
// show nothing. A stamp above the epoch says that the record is behind what has happened, or lost: nothing is removed by it.
func (w workerActions) cleanOthers() []Action {
	if w.record.isBehind() {
		return nil
	}
	var actions []Action
	for _, v := range w.observed.Clusters {
		switch {
		case !v.connected():
		case v.Name == w.state.Bound:
			if w.state.hasStale(v) {
				actions = append(actions, w.removeStale(v)...)
			}
		case v.removable():
			actions = append(actions, w.removeAll(v)...)
		case w.state.hasDebt(v.Name):
			actions = append(actions, w.collectDebt(v)...)
		}
	}
	return actions
}

// collectDebt returns the actions for a debtor that can be reached: to remove what is seen there, or to read it if nothing is
// seen and no answer is at hand. It does nothing if the answer is at hand: settle looks at that.
func (w workerActions) collectDebt(v ClusterView) []Action {
	switch {
	case w.state.hasStale(v):
		return w.removeStale(v)
	case w.state.liveAnswer(v) == nil:
		return []Action{{Verb: LiveRead, Cluster: v.Name, Epoch: w.state.Epoch}}
	}
	return nil
}

// stopJob tells the given-up cluster that the hub evicts, and copies the status of its job while it stops. Nothing is copied once the job has
// stopped and the hub's job shows no active pods: the one on the cluster may go on showing some. An abandoned job is removed if the hub waits
// for the cluster to be unbound, or for a status that may never show that the job has stopped.
func (w workerActions) stopJob(v ClusterView) []Action {
	var actions []Action
	c := v.Copy
	running := c.Holder == Ours && (c.Admitted || c.QuotaReserved) && !c.Evicted && !c.Deactivating && !c.Deleting && c.Finished == nil
	if w.observed.Local.Quota.Evicted && running {
		actions = append(actions, Action{Verb: EvictRemote, Cluster: v.Name, Epoch: w.state.Epoch,
			Message: "Evicted on manager: " + w.observed.Local.Quota.EvictedMessage})
	}
	if v.Job.StatusBehind && w.state.mayCopyStatus(v) && (w.observed.Local.Job.Active || !w.debts.toldByQuota(v)) {
		actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: w.state.Epoch})
	}
	outOfSync := c.Finished != nil && c.Finished.Reason == OutOfSync
	live := w.state.liveAnswer(v)
	hidden := live != nil && live.Job.Holder == Relabelled
	local := w.observed.Local
	awaited := local.Quota.AwaitsUnbinding || local.Job.Active && local.Job.StatusOutlivesPods
	if awaited && (v.removable() || hidden) && (c.Holder != Ours || outOfSync || v.Job.OfSlice || hidden && live.Job.OfSlice) {
		actions = append(actions, w.removeAbandoned(v)...)
	}
	return actions
}

// deletionActions removes what is seen, reads the debtors that show nothing, and copies the last status of the job. Of several
// debtors that have a job, the status of the latest one is copied: otherwise their statuses would take turns.
func (w workerActions) deletionActions() []Action {
	var actions, copies []Action
	latest := w.latestReporter()
	for _, v := range w.observed.Clusters {
		owed := w.state.hasDebt(v.Name)
		switch {
		case !v.connected():
			continue
		case v.removable() || w.state.hasStale(v):
			actions = append(actions, w.removeAll(v)...)
		case owed && w.state.liveAnswer(v) == nil && !w.observed.Local.Job.Active: // clearActiveWhenSilent reads an active one
			actions = append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: w.state.Epoch})
		}
		if v.Name == latest && v.Job.StatusBehind {
			copies = append(copies, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: w.state.Epoch})
		}
	}
	return append(actions, copies...)
}

// latestReporter returns the debtor whose job may be shown as the hub's and has the highest epoch; empty if there is none.
func (w workerActions) latestReporter() string {
	name, epoch := "", int64(-1)
	for _, v := range w.observed.Clusters {
		if v.connected() && w.state.hasDebt(v.Name) && w.state.mayCopyStatus(v) && v.Job.Epoch > epoch {
			name, epoch = v.Name, v.Job.Epoch
		}
	}
	return name
}

// removeEverywhere removes everything of ours, of whatever epoch, from every cluster that can be talked to. Without spareResults
// it removes jobs that have ended as well, though their result was not seen.
func (w workerActions) removeEverywhere(spareResults bool) []Action {
	return w.removeExcept("", spareResults)
}

// removeExcept is removeEverywhere but for one cluster.
func (w workerActions) removeExcept(cluster string, spareResults bool) []Action {
	var actions []Action
	for _, v := range w.observed.Clusters {
		if v.connected() && v.removable() && v.Name != cluster {
			for _, a := range w.removeAll(v) {
				a.SpareFinished = a.SpareFinished && spareResults
				actions = append(actions, a)
			}
		}
	}
	return actions
}

// removeAbandoned removes a job whose copy was removed by others, or that is out of sync with its copy. Nothing on the cluster
// would tell any more that such a job has stopped. Its object stays until its pods have ended, so that a read that finds nothing
// tells that.
func (w workerActions) removeAbandoned(v ClusterView) []Action {
	actions := w.remove(v, max(w.state.Epoch, v.newestEpoch()+1))
	for i := range actions {
		actions[i].Foreground = true
	}
	return actions
}

// removeStale removes what earlier epochs and owners left on a cluster. Objects of the present epoch stay.
func (w workerActions) removeStale(v ClusterView) []Action { return w.remove(v, w.state.Epoch) }

// removeAll removes everything of ours that is seen there, of whatever epoch.
func (w workerActions) removeAll(v ClusterView) []Action {
	newest := max(w.state.Epoch, w.observed.newestEpoch())
	if newest >= maxPlausibleEpoch {
		newest = MaxEpoch
	}
	return w.remove(v, newest+1)
}

// removeUnlessEnded is removeAll for a job that is left alone if it turns out to have ended.
func (w workerActions) removeUnlessEnded(v ClusterView) []Action {
	actions := w.removeAll(v)
	for i := range actions {
		actions[i].SpareFinished = true
	}
	return actions
}

// removeCopy removes the copy, of whatever epoch, and leaves the job alone.
func (w workerActions) removeCopy(v ClusterView) []Action {
	actions := w.removeAll(v)
	for i := range actions {
		actions[i].OnlyCopy, actions[i].SpareFinished, actions[i].Foreground = true, false, false
	}
	return actions
}

// remove removes what was made below an epoch. It does nothing if all that is left is a job that is being deleted already. The
// removal of a copy is repeated: the copy may wait for the hub to take its finalizer off.
func (w workerActions) remove(v ClusterView, below int64) []Action {
	if v.Copy.Holder == Absent && v.Job.Deleting {
		return nil
	}
	return []Action{{Verb: Retract, Cluster: v.Name, Epoch: below, SpareFinished: w.results.mustSpareFinished(v), Foreground: w.policy.forbidsOverlap()}}
}
