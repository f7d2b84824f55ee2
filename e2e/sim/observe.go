package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// observe makes the Observation of one Workload from what the program knows, of all clusters only where those near do not do.
func (w *program) observe(item workload) dispatch.Observation {
	all := w.observeAll(item)
	all.Fleet, all.CutOffEnded = w.fleetLinks(all.Clusters)
	switch {
	case w.parts.DriverBugs.IgnoresOtherClusters && item.bound != "":
		all.Fleet = nil
		return all.Relevant(item.state())
	case !dispatch.NeedsAll(item.state(), all):
		return all.Relevant(item.state())
	}
	return all
}

func (w *program) observeAll(item workload) dispatch.Observation {
	if item.elastic && item.view == nil {
		item.view = w.viewSlice(item)
	}
	o := dispatch.Observation{Now: w.now, Local: w.observeLocal(item)}
	listed := w.listedClusters(item)
	o.Clusters = w.views[:0]
	if w.policy.Dispatcher == dispatch.BestFit || w.hub.draining[item.bound] {
		choices := w.rankClusters(item)
		w.driver.choices[item.name] = choices
		defer func() {
			for i := range o.Clusters {
				addFit(&o.Clusters[i], choices[o.Clusters[i].Name])
			}
		}()
	}
	for _, name := range listed {
		o.Clusters = append(o.Clusters, w.observeCluster(item, name, true))
	}
	for _, c := range w.workers {
		if !slices.Contains(listed, c.name) {
			o.Clusters = append(o.Clusters, w.observeCluster(item, c.name, false))
		}
	}
	w.views = o.Clusters
	return o
}

// observeLocal is what the hub knows of a Workload, its siblings included.
func (w *program) observeLocal(item workload) dispatch.Local {
	l := localFacts(item)
	if item.view != nil {
		l.Slice = item.view.Slice
	}
	if !l.Slice.Passive && (item.ownsJob() || w.parts.DriverBugs.MatchesJobByName) {
		l.Job.Active, l.Job.StatusOutlivesPods = item.status.active, item.staleStatus
	}
	l.Quota.AwaitsUnbinding = item.evicted && w.hasCheckEntry(item) && !item.evictedByCheck
	if w.hasCheckEntry(item) {
		l.Check.State, l.Check.Message = item.check, item.message
	}
	first := true
	for _, sibling := range w.listSiblings(item) {
		s := sibling.state()
		if s.Bound != "" && !s.Retreating() && (l.Siblings.Pin == "" || s.Bound < l.Siblings.Pin) {
			l.Siblings.Pin = s.Bound
		}
		l.Siblings.Left = l.Siblings.Left || isDebtor(s, item.bound)
		first = first && item.name < sibling.name
	}
	l.Siblings.Awaited = l.Siblings.Pin == "" && !first
	return l
}

// listSiblings are the other Workloads of the same owner that are not over, as the program sees them.
func (w *program) listSiblings(item workload) []workload {
	var list []workload
	for _, name := range w.hub.workloadNames() {
		other := w.driver.localInformer.get(name)
		related := other.value.ownerName() == item.ownerName()
		if other.exists && name != item.name && related && other.value.finished == nil && !other.value.deleting {
			list = append(list, other.value)
		}
	}
	return list
}

func localFacts(item workload) dispatch.Local {
	return dispatch.Local{
		Deleted: item.deleting, KeptForJob: item.deleting && item.retained && item.ownsJob(),
		Finished: item.finished != nil, FinishedAt: item.finishedAt,
		Quota: dispatch.LocalQuota{
			Reserved: item.quota, Reservation: item.reservation, ReservedAt: item.reservedAt,
			Evicted: item.evicted, EvictedMessage: item.evictedMsg, Evictions: item.evictions,
		},
		Check: dispatch.LocalCheck{OthersReady: !item.otherChecksPending},
		Job:   dispatch.LocalJob{KillGrace: item.killGrace},
	}
}

func (w *program) observeCluster(item workload, name string, listed bool) dispatch.ClusterView {
	r := w.driver.remotes[name]
	v := dispatch.ClusterView{
		Name: name, InConfig: listed, Link: r.link,
		Operator: dispatch.Operator{
			DeclaredGone: w.hub.declaredGone[name],
			Cordoned:     w.hub.cordoned[name] || w.hub.draining[name] || w.hub.declaredGone[name],
			BeingDrained: w.hub.draining[name],
		},
		Fence: dispatch.Fence{RenewedAt: r.renewedAt},
		Copy:  workloadFacts(item, r.informers.workloads.get(item.name)),
		Job:   jobFacts(item, r.informers.jobs.get(jobOf(item.name))),
	}
	if item.view != nil {
		earlier := item.view.observeEarlier(name, r)
		v.Replaced, v.EarlierWaits = earlier.Replaced, earlier.Waits
	}
	v.Job.StatusBehind = v.Job.StatusBehind && (item.ownsJob() || w.parts.DriverBugs.MatchesJobByName)
	if r.link.State == dispatch.Connected && !w.isResponsive(name) {
		v.Health.Degraded = overdueMessage
		w.recordEvent(ClusterDegraded)
	}
	if v.Operator.DeclaredGone && r.link.Untried && w.isResponsive(name) {
		w.recordEvent(GoneDeclarationIgnored)
	}
	v.Health.Trouble = r.callErrors[item.name]
	w.driver.tracker.AddTo(trackedWorkload(item), item.state().Epoch, &v)
	if c := w.lookupWorker(name); c != nil {
		v.Fence.Lease = w.leaseState(c)
	}
	v.Ended.StoppedEpoch = r.informers.stoppedEpoch(item, name, !w.isStock(name))
	unstamped := v.Copy.Holder == dispatch.Ours && !v.Copy.StopsOnHubLost
	v.Fence.Alive = w.hub.fenceSeen[name] && !unstamped
	w.addDeletedObjects(item, r.informers, &v)
	if a, ok := r.liveReads[item.name]; ok {
		v.Live = &dispatch.Live{Epoch: a.epoch, At: a.at, Copy: workloadFacts(item, a.copy), Job: jobFacts(item, a.job)}
		if v.Job.Holder == dispatch.Absent && v.Live.Job.Holder == dispatch.Foreign {
			v.Job = v.Live.Job
		}
	}
	return v
}

// addDeletedObjects adds what is remembered of objects that are no more: how the run ended, in whatever epoch, or that those of the present
// one were seen to go unfinished.
func (w *program) addDeletedObjects(item workload, seen *informers, v *dispatch.ClusterView) {
	epoch := item.state().Epoch
	if last, had := seen.workloads.deleted[item.name]; had && v.Copy.Holder == dispatch.Absent && last.uid == item.uid {
		v.Copy = dispatch.Copy{Finished: last.finished, Epoch: last.stampedEpoch(), Adopted: last.adopted, AdoptedBy: formatUID(last.adoptedBy)}
		v.Ended.Unfinished = epoch == last.stampedEpoch() && !last.adopted && !item.hadJobOn(v.Name, last) && last.finished == nil
	}
	last, had := seen.jobs.deleted[jobOf(item.name)]
	if !had || v.Job.Holder == dispatch.Ours || last.ownerFor(item).uid != item.uid || item.elastic && !item.view.mayHaveShown(item, last) {
		return
	}
	there, current := v.Job.Holder != dispatch.Absent, epoch == last.stampedEpoch()
	facts := jobFacts(item, optional[remoteJob]{true, last})
	facts.Holder, facts.StatusBehind, facts.Deleting = dispatch.Absent, false, false
	switch {
	case last.finished != nil && (!there || current && item.finished == nil):
		v.Job, v.Ended.Unfinished = facts, false
	case !there && current:
		v.Job = facts
		v.Ended.Unfinished = v.Ended.Unfinished || v.Copy.Finished == nil
	}
}

// overdueMessage is what the hub notices of a worker that has gone before it takes it for lost.
const overdueMessage = "its answers are overdue"

// isResponsive reports whether a worker does.
func (w *workerClusters) isResponsive(name string) bool {
	c := w.lookupWorker(name)
	return c != nil && c.up
}

func (o owner) holder(item workload) dispatch.Holder {
	switch {
	case !o.ours:
		return dispatch.Foreign
	case o.uid != item.uid:
		return dispatch.Predecessor
	}
	return dispatch.Ours
}

func workloadFacts(item workload, c optional[remoteWorkload]) dispatch.Copy {
	if !c.exists {
		return dispatch.Copy{}
	}
	v := c.value
	same := v.gpu == item.gpu
	return dispatch.Copy{
		OnlyLarger:          item.view != nil && item.view.isLarger(item, v),
		Holder:              v.holder(item),
		Epoch:               v.stampedEpoch(),
		SpecMatches:         same && v.priority == item.priority,
		OnlyPriorityDiffers: same && v.priority != item.priority,
		QuotaReserved:       v.quota,
		Since:               v.reservedAt,
		WaitingMessage:      v.waitingReason,
		Refused:             v.refused,
		Admitted:            v.admitted,
		AdmittedAt:          v.admittedAt,
		Evicted:             v.evicted,
		Deactivating:        v.deactivating,
		Adopted:             v.adopted, AdoptedBy: formatUID(v.adoptedBy), HasWorkloadUID: v.ours && v.uid == item.uid,
		Finished:       v.finished,
		Deleting:       v.deleting,
		StopsOnHubLost: v.stopsWithoutHub,
		GateClosed:     v.isGateClosed(),
		GateOpenedAt:   v.openedAt, BlockedOnGate: !v.blockedAt.IsZero(), BlockedSince: v.blockedAt,
	}
}

func jobFacts(item workload, j optional[remoteJob]) dispatch.Job {
	if !j.exists {
		return dispatch.Job{}
	}
	v := j.value
	facts := dispatch.Job{
		Holder:         jobHolder(item, v),
		UID:            formatUID(v.id),
		HasWorkloadUID: v.ours && v.uid == item.uid && v.lostMarks != lostAllMarks,
		NamesWorkload:  v.namesWorkload,
		Epoch:          v.stampedEpoch(),
		Finished:       v.finished,
		Deleting:       v.deleting,
		StatusBehind:   v.status() != item.status,
	}
	if item.view != nil {
		return item.view.sliceJobFacts(item, v, facts)
	}
	return facts
}
