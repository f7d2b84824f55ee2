package mirror

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// Slice is a Workload's place among the slices of an elastic job (contract: job-kinds.md 15). They have one job on a worker, which is stamped
// with the UID of the slice that it was made for and with the name that all have in common, and which names the slice by which it runs.
type Slice struct {
	// Passive says that the job is another slice's.
	Passive bool
	// Earlier are the slices that the Workload has taken over from, the latest first, as far as the hub still has them.
	Earlier []hubworkload.EarlierSlice
}

// isOfSlice tells whether a job was made for the Workload or a slice that it has taken over from: all of them have one name in common, which bears
// a digest of the hub's job. A job that says nothing of that name has to name one of those slices, and to bear its UID: anybody may name one.
func (o Original) isOfSlice(remote client.Object) bool {
	if o.Deleted || !workload.IsElastic(o.Workload) {
		return false
	}
	if chain := remote.GetAnnotations()[kueue.WorkloadSliceNameAnnotation]; chain != "" {
		return chain == workload.SliceName(o.Workload)
	}
	named := types.NamespacedName{Namespace: remote.GetNamespace(), Name: job.PrebuiltWorkloadName(remote)}
	made := types.UID(remote.GetAnnotations()[switchyard.OwnerUIDAnnotation])
	return made != "" && slices.Contains(o.Slice.Earlier, hubworkload.EarlierSlice{ObjectKey: named, UID: made})
}

// namesEarlier tells whether a job says by name that it is for a slice that the Workload has taken over from.
func (o Original) namesEarlier(remote client.Object) bool {
	named := types.NamespacedName{Namespace: remote.GetNamespace(), Name: job.PrebuiltWorkloadName(remote)}
	return slices.ContainsFunc(o.Slice.Earlier, func(s hubworkload.EarlierSlice) bool { return s.ObjectKey == named })
}

// stampChain has a job say the name that all slices of it have in common, and tells whether that changes anything.
func (o Original) stampChain(remote client.Object) bool {
	annotations, chain := maps.Clone(remote.GetAnnotations()), workload.SliceName(o.Workload)
	if annotations[kueue.WorkloadSliceNameAnnotation] == chain {
		return false
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[kueue.WorkloadSliceNameAnnotation] = chain
	remote.SetAnnotations(annotations)
	return true
}

// ObserveReplaced tells the dispatcher about the copy of the slice before: whether it is there, and whether a job has taken it up.
func (o Original) ObserveReplaced(remote *kueue.Workload) dispatch.Copy {
	if remote == nil || !HasOrigin(remote, o.Origin) || OtherHub(remote, o.Hub, o.Adopted) != "" || !workload.IsElastic(remote) ||
		workload.SliceName(remote) != workload.SliceName(o.Workload) {
		return dispatch.Copy{}
	}
	c := dispatch.Copy{Holder: dispatch.Ours, Epoch: Epoch(remote)}
	c.Adopted, c.AdoptedBy = adoptingJob(remote)
	return c
}

// passiveJob is what a slice whose job is another's has to know of it: whether that still runs by this one.
func (o Original) passiveJob(remote client.Object) dispatch.Job {
	return dispatch.Job{NamesWorkload: HasOrigin(remote, o.Origin) && job.PrebuiltWorkloadName(remote) == o.Workload.Name}
}
