package controller

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// remoteObjects finds a Workload's objects on the workers, by what the fleet's caches show and have shown. It calls no worker.
type remoteObjects struct{ fleet *fleet.Fleet }

// lookupRemote returns what the informers of a cluster show of an Original. Objects of another origin are never seen there.
func (c *remoteObjects) lookupRemote(cluster string, o mirror.Original) mirror.Found {
	var f mirror.Found
	if obj, _ := c.fleet.Get(cluster, workloadGVK(), o.Key()); obj != nil {
		f.Workload, _ = obj.(*kueue.Workload)
	}
	switch {
	case o.Kind != nil && job.HasMembers(o.Kind):
		f.Job = o.FirstMember(c.listMembers(cluster, o))
	case o.Kind != nil && o.JobName != "":
		f.Job, _ = c.fleet.Get(cluster, o.Kind.GVK(), o.JobKey())
	}
	return f
}

// lookupEarlier tells of the copies of the slices from which the Workload has taken over.
func (c *remoteObjects) lookupEarlier(cluster string, o mirror.Original) mirror.EarlierCopies {
	return o.ObserveEarlier(cluster, func(key client.ObjectKey) *kueue.Workload {
		obj, _ := c.fleet.Get(cluster, workloadGVK(), key)
		wl, _ := obj.(*kueue.Workload)
		return wl
	})
}

// lastDeletedJob is the job that went last of those of the Workload and of the slices from which it has taken over.
func (c *remoteObjects) lastDeletedJob(cluster string, o mirror.Original) (fleet.DeletedObject, bool) {
	gone, ok := c.fleet.LastDeleted(cluster, o.Kind.GVK(), o.Key())
	for _, slice := range o.Slice.Earlier {
		if !ok {
			gone, ok = c.fleet.LastDeleted(cluster, o.Kind.GVK(), slice.ObjectKey)
		}
	}
	return gone, ok
}

// listMembers lists what the informers of a cluster show of an Original's members, and what bears the name of one of the hub's for another
// Workload.
func (c *remoteObjects) listMembers(cluster string, o mirror.Original) []client.Object {
	members := c.fleet.ListForWorkload(cluster, o.Kind.GVK(), o.Key())
	for _, local := range o.Members {
		named, _ := c.fleet.Get(cluster, o.Kind.GVK(), client.ObjectKeyFromObject(local))
		if named == nil {
			continue
		}
		if key, _ := mirror.WorkloadKeyOfJob(named); key != o.Key() {
			members = append(members, named)
		}
	}
	return members
}

// lookupDeletedObjects returns what is remembered of an Original.
func (c *remoteObjects) lookupDeletedObjects(cluster string, o mirror.Original) (l deletedObjects) {
	// That one of several is gone says nothing of the others.
	if o.Kind != nil && (!job.HasMembers(o.Kind) || len(c.fleet.ListForWorkload(cluster, o.Kind.GVK(), o.Key())) == 0) {
		l.job, _ = c.lastDeletedJob(cluster, o)
	}
	l.workload, _ = c.fleet.LastDeleted(cluster, workloadGVK(), o.Key())
	return l
}

// addDeletedObjects adds what is remembered of objects that are no more: how the run ended, in whatever epoch, or that those of the present
// one were seen to go unfinished.
func (c *remoteObjects) addDeletedObjects(v *dispatch.ClusterView, s *workloadScope) {
	o := s.original
	current := func(obj client.Object) bool {
		epoch := mirror.Epoch(obj)
		return epoch == s.state.Epoch || epoch == 0 && s.state.Epoch == 1
	}
	if v.Copy.Holder == dispatch.Absent {
		gone, ok := c.fleet.LastDeleted(v.Name, workloadGVK(), o.Key())
		if wl, is := gone.LastState.(*kueue.Workload); ok && is && o.ObserveWorkload(wl).Holder == dispatch.Ours {
			last := o.ObserveWorkload(wl)
			v.Copy = dispatch.Copy{Finished: last.Finished, Epoch: last.Epoch, Adopted: last.Adopted, AdoptedBy: last.AdoptedBy}
			hadJob := last.Adopted || s.observed.Local.Slice.HadJobOn(v.Name, max(last.Epoch, 1))
			v.Ended.Unfinished = gone.DeletionObserved && current(wl) && !hadJob && last.Finished == nil
		}
	}
	if o.Kind == nil || v.Job.Holder == dispatch.Ours {
		return
	}
	if job.IsServing(o.Kind) { // it never ends, so that it was lost
		v.Ended.Unfinished = v.Name == s.state.Bound
		return
	}
	gone, ok := c.lastDeletedJob(v.Name, o)
	last := deletedJobFacts(o, gone.LastState)
	switch {
	case !ok || last.Holder != dispatch.Ours || !s.state.IsWorkloadJob(v.Name, v.Copy, last):
	case last.Finished != nil && (v.Job.Holder == dispatch.Absent || current(gone.LastState)): // somebody may have taken its name since
		v.Job, v.Job.Holder, v.Ended.Unfinished = last, dispatch.Absent, false
	case v.Job.Holder == dispatch.Absent && current(gone.LastState):
		v.Job, v.Job.Holder = last, dispatch.Absent
		v.Ended.Unfinished = v.Ended.Unfinished || gone.DeletionObserved && o.Kind.ReportsOutcome() && v.Copy.Finished == nil
	}
}

// clustersFor names the clusters that show anything of a Workload.
func (c *remoteObjects) clustersFor(o mirror.Original) []string {
	if o.Kind == nil || o.JobName == "" {
		return c.fleet.ClustersFor(o.Key(), workloadGVK(), schema.GroupVersionKind{}, client.ObjectKey{})
	}
	return c.fleet.ClustersFor(o.Key(), workloadGVK(), o.Kind.GVK(), o.JobKey())
}

// connectionNumber is the number of the present connection to a cluster, or of the last one.
func (c *remoteObjects) connectionNumber(cluster string) int64 {
	state, _ := c.fleet.State(cluster)
	return state.ConnectionNumber
}

// lastKnownJob returns the job on a cluster as it was last seen, by a live read, in the cache, or before it went, unless it is one that
// has taken the name of the Workload's.
func (c *remoteObjects) lastKnownJob(s *workloadScope, cluster string) client.Object {
	o := s.original
	believed := func(f mirror.Found) bool {
		return f.Job != nil && s.state.IsWorkloadJob(cluster, o.ObserveWorkload(f.Workload), o.ObserveJob(f.Job))
	}
	if f := newestRead(c.fleet.ActionResults(cluster, o.Key()), func(f liveRead) bool { return believed(f.Found) }); f != nil {
		return f.Job
	}
	seen := c.lookupRemote(cluster, o)
	if taken := seen.Job == nil || o.ObserveJob(seen.Job).Holder != dispatch.Ours; taken && o.Kind != nil { // gone, and perhaps its name taken
		gone, _ := c.lastDeletedJob(cluster, o)
		seen.Job = gone.LastState
	}
	if !believed(seen) {
		return nil
	}
	return seen.Job
}

// hasUnrecordedTopology tells whether the chosen worker has placed pods whose places the hub left to it, and the Workload does not say so
// yet: what has become of the check is stored already, but a worker may place pods after it has admitted them, or again.
func (c *remoteObjects) hasUnrecordedTopology(s *workloadScope, plan dispatch.Plan) bool {
	l := s.observed.Local
	if plan.CheckResult.State != dispatch.Ready || !l.Quota.Reserved || l.Quota.Evicted || l.Finished || l.Deleted {
		return false
	}
	return len(c.listPlacedPodSets(s.original.Workload, plan.Next)) > 0
}

// recordTopology records that the worker has placed the pods whose places the hub left to it (contract: multikueue.md 4
// case 6b). It goes with a write that is made anyway, as a rule.
func (c *remoteObjects) recordTopology(wl *kueue.Workload, state dispatch.State) {
	for _, i := range c.listPlacedPodSets(wl, state) {
		wl.Status.Admission.PodSetAssignments[i].DelayedTopologyRequest = kueue.DelayedTopologyRequestStateReady
	}
}

// listPlacedPodSets lists those of a Workload's assignments whose places are still to be computed as far as the hub knows, but have been by
// the cluster that it is bound to, in the present epoch.
func (c *remoteObjects) listPlacedPodSets(wl *kueue.Workload, state dispatch.State) []int {
	pending := func(a kueue.PodSetAssignment) bool {
		return a.DelayedTopologyRequest == kueue.DelayedTopologyRequestStatePending
	}
	mine := wl.Status.Admission
	if state.Bound == "" || mine == nil || !slices.ContainsFunc(mine.PodSetAssignments, pending) {
		return nil
	}
	obj, _ := c.fleet.Get(state.Bound, workloadGVK(), client.ObjectKeyFromObject(wl))
	remote, ok := obj.(*kueue.Workload)
	if !ok || remote.Status.Admission == nil || !isOfEpoch(remote, state.Epoch) {
		return nil
	}
	var list []int
	for i, a := range mine.PodSetAssignments {
		theirs := slices.ContainsFunc(remote.Status.Admission.PodSetAssignments, func(b kueue.PodSetAssignment) bool {
			return b.Name == a.Name && b.TopologyAssignment != nil
		})
		if pending(a) && theirs {
			list = append(list, i)
		}
	}
	return list
}

// deletedObjects is what is remembered of a Workload's objects that are gone from a cluster; without a Last where there is nothing.
type deletedObjects struct {
	job, workload fleet.DeletedObject
	// ofTakeover is set if the workload was the copy of a slice that was to take over a job there.
	ofTakeover bool
}

// stoppedEpoch is dispatch.ClusterView.Stopped. A job that was deleted in the foreground stays until its pods have ended,
// unless a user deletes it again without waiting: guarded says that the worker refuses that (charts/README.md). On other
// workers the job must have shown that it has no pods left, which its controller is mostly too late to write.
func stoppedEpoch(o mirror.Original, l deletedObjects, guarded bool) int64 {
	var before, ended int64
	if l.job.LastState != nil {
		before = max(mirror.Epoch(l.job.LastState), 1)
		foreground := slices.Contains(l.job.LastState.GetFinalizers(), metav1.FinalizerDeleteDependents)
		if l.job.DeletionObserved && foreground && (guarded || !o.Kind.Progress(l.job.LastState).HoldsPods()) {
			ended = before
		}
	}
	wl, ok := l.workload.LastState.(*kueue.Workload)
	if ok && !l.ofTakeover && l.workload.DeletionObserved && !o.ObserveWorkload(wl).Adopted && max(mirror.Epoch(wl), 1) > before {
		return max(mirror.Epoch(wl), 1)
	}
	return ended
}

// isOfEpoch tells whether an object was made in an epoch; what bears no stamp was made in the first.
func isOfEpoch(obj client.Object, epoch int64) bool {
	made := mirror.Epoch(obj)
	return made == epoch || made == 0 && epoch == 1
}
