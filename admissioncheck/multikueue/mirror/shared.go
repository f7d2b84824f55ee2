package mirror

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Several Workloads may have one object in common (job.Shared): on a worker it is there as long as one of them is bound to the cluster. What runs
// of it is decided by the Workloads that are there, so that it bears the epoch of none.

// Share is what a Workload has to do with the object that it shares with others, on one cluster.
type Share struct {
	// Concerned is set if the object counts as the Workload's own: it is bound to the cluster, or has been and is the last that may have to
	// remove it.
	Concerned bool
	// Epoch is that of which the object counts.
	Epoch int64
}

func (o Original) isShared() bool { return o.Kind != nil && job.IsShared(o.Kind) }

// holderOfShared says whose a remote object is: the hub's by the UID of the hub's object of which it is a copy, or that of an earlier one of its name.
func (o Original) holderOfShared(remote client.Object) dispatch.Holder {
	of := remote.GetAnnotations()[kueue.MultiKueueOriginUIDAnnotation]
	same := o.Workload.Labels[kueue.JobUIDLabel] == of
	switch {
	case OtherHub(remote, o.Hub, o.Adopted) != "" || of == "":
		return dispatch.Foreign
	case o.Origin != "" && remote.GetLabels()[kueue.MultiKueueOriginLabel] == "" && same && !o.Deleted:
		return dispatch.Relabelled
	case !HasOrigin(remote, o.Origin):
		return dispatch.Foreign
	case !same && !o.Deleted:
		return dispatch.Predecessor
	}
	return dispatch.Ours
}

// observeShared tells the dispatcher about the object as far as it concerns the Workload.
func (o Original) observeShared(remote client.Object) dispatch.Job {
	holder := o.holderOfShared(remote)
	if (holder == dispatch.Ours || holder == dispatch.Relabelled) && !o.Share.Concerned {
		return dispatch.Job{}
	}
	return dispatch.Job{
		Holder: holder, Epoch: o.epochOfJob(remote), Deleting: !remote.GetDeletionTimestamp().IsZero(), Since: remote.GetCreationTimestamp().Time,
		UID: string(remote.GetUID()), HasWorkloadUID: holder == dispatch.Ours || holder == dispatch.Relabelled,
		SpecBehind: holder == dispatch.Ours && o.Job != nil && o.isSpecBehind(remote),
	}
}

// epochOfJob is the epoch of which a remote job counts.
func (o Original) epochOfJob(remote client.Object) int64 {
	if o.isShared() {
		return o.Share.Epoch
	}
	return Epoch(remote)
}

// isJobRemovable tells whether a remote job may be removed, as one of an epoch below the given one.
func (o Original) isJobRemovable(remote client.Object, below int64) bool {
	holder := o.holderOfJob(remote)
	if o.isShared() && holder != dispatch.Predecessor && !o.Share.Concerned {
		return false
	}
	return isRemovableIn(holder, o.epochOfJob(remote), below)
}

// WorkloadKeyOfShared names the hub's Workload under which a remote object is filed that several share.
func WorkloadKeyOfShared(kind job.Shared) func(client.Object) (client.ObjectKey, bool) {
	return func(remote client.Object) (client.ObjectKey, bool) {
		return client.ObjectKey{Namespace: remote.GetNamespace(), Name: kind.FirstWorkload(remote)}, true
	}
}
