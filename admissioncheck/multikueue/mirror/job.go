package mirror

import (
	"context"
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// JobCopy returns the job as it is created on a worker in an epoch (contract: multikueue.md 6). The hub's job must be
// known.
func (o Original) JobCopy(epoch int64, nameInLabel bool) client.Object {
	return o.Kind.RemoteCopy(o.Job, job.RemoteOptions{
		Origin: o.Origin, Workload: o.Workload, WorkloadNameInLabel: nameInLabel,
		Annotations: o.jobStamps(epoch),
	})
}

// jobStamps are the annotations of a job that is created in an epoch: its copy's, the name that the slices of an elastic job have in common, and of what several
// Workloads share only whose hub it is.
func (o Original) jobStamps(epoch int64) map[string]string {
	stamps := o.stampAnnotations(epoch)
	if o.isShared() {
		maps.DeleteFunc(stamps, func(key, _ string) bool { return key != switchyard.HubUIDAnnotation })
	}
	if workload.IsElastic(o.Workload) {
		stamps[kueue.WorkloadSliceNameAnnotation] = workload.SliceName(o.Workload)
	}
	return stamps
}

// ObserveJob tells the dispatcher about the job of our name on a worker; nil means that there is none.
func (o Original) ObserveJob(remote client.Object) dispatch.Job {
	if remote == nil || o.Kind == nil {
		return dispatch.Job{}
	}
	switch {
	case o.Slice.Passive:
		return o.passiveJob(remote)
	case o.isShared():
		return o.observeShared(remote)
	}
	j := dispatch.Job{
		Holder: o.holderOfJob(remote), Epoch: Epoch(remote), Finished: Outcome(o.Kind, remote),
		Deleting: !remote.GetDeletionTimestamp().IsZero(), Since: remote.GetCreationTimestamp().Time,
		UID: string(remote.GetUID()), HasWorkloadUID: o.isStampedForWorkload(remote) || o.isOfSlice(remote), NamesWorkload: o.isNamed(remote),
	}
	if j.Holder == dispatch.Foreign && o.namesEarlier(remote) { // a client may have taken off the rest of what the hub wrote on its job
		j.NamesWorkload = true
	}
	j.OfSlice = (j.Holder == dispatch.Ours || j.Holder == dispatch.Relabelled) && o.isOfSlice(remote) && !j.NamesWorkload
	j.SizeBehind = j.OfSlice
	if j.Holder == dispatch.Ours && o.Job != nil && !o.hasMembers() {
		_, behind, _ := o.WithStatus(remote)
		j.StatusBehind = behind
		j.SpecBehind, j.SizeBehind = o.isSpecBehind(remote), j.OfSlice || o.isSizeBehind(remote)
		j.SizeAbove = j.OfSlice && o.isSizeAbove(remote)
	}
	return j
}

// isSpecBehind tells whether what the remote job follows of the hub's differs.
func (o Original) isSpecBehind(remote client.Object) bool {
	if !o.Kind.FollowsSpec() {
		return false
	}
	synced, ok := remote.DeepCopyObject().(client.Object)
	return ok && o.Kind.SyncSpec(o.Job, synced)
}

// isSizeBehind tells whether the remote job, if it is elastic, asks for another number of pods than the hub's Workload.
func (o Original) isSizeBehind(remote client.Object) bool {
	if !workload.IsElastic(o.Workload) || !o.Kind.FollowsSpec() {
		return false
	}
	resized, ok := remote.DeepCopyObject().(client.Object)
	return ok && o.Kind.Resize(o.Job, resized, o.Workload.Spec.PodSets)
}

// isSizeAbove tells whether the remote job asks for more pods of some set than the hub's Workload.
func (o Original) isSizeAbove(remote client.Object) bool {
	shrunk, ok := remote.DeepCopyObject().(client.Object)
	return ok && o.Kind.Shrink(o.Job, shrunk, o.Workload.Spec.PodSets)
}

// ShrinkJob makes the job on a worker ask for no more pods than the hub's Workload, under the conditions of ResizeJob.
func (o Original) ShrinkJob(ctx context.Context, c client.Client, epoch int64) error {
	return o.patchJob(ctx, c, epoch, func(remote client.Object) bool {
		return o.Job != nil && o.ObserveJob(remote).OfSlice && o.Kind.Shrink(o.Job, remote, o.Workload.Spec.PodSets)
	})
}

// ResizeJob makes the job on a worker ask for as many pods as the hub's Workload, and name that, in one write, if the job is ours and of this
// epoch (contract: job-kinds.md 15). A job that is gone or ends needs it no more.
func (o Original) ResizeJob(ctx context.Context, c client.Client, epoch int64, nameInLabel bool) error {
	return o.patchJob(ctx, c, epoch, func(remote client.Object) bool {
		if !workload.IsElastic(o.Workload) || o.Job == nil {
			return false
		}
		resized := o.Kind.Resize(o.Job, remote, o.Workload.Spec.PodSets)
		named := job.NamePrebuiltWorkload(remote, o.Workload.Name, nameInLabel)
		return o.stampChain(remote) || named || resized
	})
}

// SyncSpec makes what the job on a worker follows of the hub's job like that, if the job is ours and of this epoch (contract: job-kinds.md 7,
// remote spec sync). A job that is gone or ends needs it no more.
func (o Original) SyncSpec(ctx context.Context, c client.Client, epoch int64) error {
	return o.patchJob(ctx, c, epoch, func(remote client.Object) bool { return o.Kind.SyncSpec(o.Job, remote) })
}

// patchJob changes the job on a worker, if that is ours, of this epoch, has not ended and is not going. Change tells whether it changes anything.
func (o Original) patchJob(ctx context.Context, c client.Client, epoch int64, change func(remote client.Object) bool) error {
	remote := o.Kind.New()
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.Workload.Namespace, Name: o.JobName}, remote); err != nil {
		return client.IgnoreNotFound(err)
	}
	fact := o.ObserveJob(remote)
	if fact.Holder != dispatch.Ours || fact.Epoch != epoch || fact.Deleting || fact.Finished != nil {
		return nil
	}
	changed, ok := remote.DeepCopyObject().(client.Object)
	if !ok || !change(changed) {
		return nil
	}
	if _, err := kube.Patch(ctx, c, remote, changed); err != nil {
		return fmt.Errorf("change %s %s/%s: %w", o.Kind.GVK().Kind, remote.GetNamespace(), remote.GetName(), err)
	}
	return nil
}

// holderOfJob is holder for a job, which may also tell by the name of its Workload that it is a predecessor's: a job that is
// deleted and created again under the same name gets another Workload. One that says nothing of a Workload was made by no hub,
// whatever its label.
func (o Original) holderOfJob(remote client.Object) dispatch.Holder {
	if o.isShared() {
		return o.holderOfShared(remote)
	}
	holder, name := o.holderOf(remote), job.PrebuiltWorkloadName(remote)
	switch {
	case (holder == dispatch.Ours || holder == dispatch.Predecessor) && o.isOfSlice(remote):
		return dispatch.Ours
	case holder == dispatch.Foreign && o.hasLostLabel(remote):
		return dispatch.Relabelled
	case holder == dispatch.Ours && name != "" && name != o.Workload.Name:
		return dispatch.Predecessor
	case holder == dispatch.Ours && name == "" && !o.Deleted && !o.isStampedForWorkload(remote):
		return dispatch.Foreign
	}
	return holder
}

// isNamed tells whether a job says by name that it is for the Workload.
func (o Original) isNamed(remote client.Object) bool {
	return job.PrebuiltWorkloadName(remote) == o.Workload.Name
}

// WithStatus returns the hub's job with the status of the remote one, and whether that changes anything. Texts in it are cut and
// cleaned, counts and times are such as a worker can mean, and one larger than MaxStatus changes nothing. Deferred says that the hub's job cannot take it yet.
func (o Original) WithStatus(remote client.Object) (local client.Object, changed, deferred bool) {
	local, ok := o.Job.DeepCopyObject().(client.Object)
	if !ok {
		panic("mirror: the copy of a job is not an object")
	}
	shown, small := o.sanitizeStatus(remote)
	if !small {
		return local, false, false
	}
	changed, deferred = o.Kind.CopyStatus(local, shown)
	return local, changed, deferred
}

// Outcome returns how a job ended, as the worker's own Workload would say it; nil if it has not.
func Outcome(kind job.Integration, remote client.Object) *dispatch.Outcome {
	finished := kind.Progress(remote).Finished
	if finished == nil {
		return nil
	}
	reason := kueue.ReasonFailed
	if finished.Success {
		reason = kueue.ReasonSucceeded
	}
	return outcome(string(reason), finished.FinishedMessage())
}

// WorkloadKeyOfJob names the hub's Workload that a remote job belongs to; false if it does not say.
func WorkloadKeyOfJob(remote client.Object) (client.ObjectKey, bool) {
	name := job.PrebuiltWorkloadName(remote)
	return client.ObjectKey{Namespace: remote.GetNamespace(), Name: name}, name != ""
}
