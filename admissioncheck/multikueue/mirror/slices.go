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
	// Replaced is, on the cluster in question, the one by whose copy the job runs there, the zero value if there is none: the Workload's copy takes
	// over from that, whichever slices came in between on the hub.
	Replaced types.NamespacedName
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
	return made != "" && slices.ContainsFunc(o.Slice.Earlier, func(s hubworkload.EarlierSlice) bool { return s.ObjectKey == named && s.UID == made })
}

// EarlierSliceOf returns the UID of the slice before that a job on a worker was made for, empty if it was made for the Workload itself, is another's,
// or is nil.
func (o Original) EarlierSliceOf(remote client.Object) types.UID {
	if remote == nil || o.Slice.Passive || o.isStampedForWorkload(remote) || !o.isOfSlice(remote) || o.holderOfJob(remote) != dispatch.Ours {
		return ""
	}
	return types.UID(remote.GetAnnotations()[switchyard.OwnerUIDAnnotation])
}

// hasLostLabel tells whether a job was made for a slice that the Workload has taken over from, which its UID tells, and has lost our label since.
func (o Original) hasLostLabel(remote client.Object) bool {
	made := types.UID(remote.GetAnnotations()[switchyard.OwnerUIDAnnotation])
	bare := o.Origin != "" && remote.GetLabels()[kueue.MultiKueueOriginLabel] == "" && OtherHub(remote, o.Hub, o.Adopted) == ""
	return bare && made != "" && slices.ContainsFunc(o.Slice.Earlier, func(s hubworkload.EarlierSlice) bool { return s.UID == made })
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

// EarlierCopies is what the copies of the slices before say of the job on a cluster.
type EarlierCopies struct {
	// Replaced is one of them, as the dispatcher is told: one that a job has taken up, if there is such a one. One that none has tells that there
	// never was a job only if that is so of every slice that was admitted there, because each may have had it.
	Replaced dispatch.Copy
	// Waits tells that one of them waits for quota, which its slice will remove; Running is the newest that has quota.
	Waits   bool
	Running types.NamespacedName
}

// ObserveEarlier tells about the copies of the slices before on a cluster, as they are found there.
func (o Original) ObserveEarlier(cluster string, find func(types.NamespacedName) *kueue.Workload) (e EarlierCopies) {
	proven := true
	for _, slice := range o.Slice.Earlier {
		admitted := slice.AdmittedOn == cluster
		c, remote := dispatch.Copy{}, find(slice.ObjectKey)
		if remote != nil && HasOrigin(remote, o.Origin) && OtherHub(remote, o.Hub, o.Adopted) == "" && workload.IsElastic(remote) &&
			workload.SliceName(remote) == workload.SliceName(o.Workload) {
			c = dispatch.Copy{Holder: dispatch.Ours, Epoch: Epoch(remote)}
			c.Adopted, c.AdoptedBy = adoptingJob(remote)
			over := workload.IsFinished(remote) || !remote.DeletionTimestamp.IsZero()
			e.Waits = e.Waits || !over && !workload.HasQuota(remote) && slice.UID != ""
			if !over && workload.HasQuota(remote) && e.Running.Name == "" {
				e.Running = client.ObjectKeyFromObject(remote)
			}
		}
		if c.Holder != dispatch.Absent && (admitted || c.Adopted) && (e.Replaced.Holder == dispatch.Absent || c.Adopted && !e.Replaced.Adopted) {
			e.Replaced = c
		}
		proven = proven && slice.UID != "" && (!admitted || c.Holder != dispatch.Absent)
	}
	if !proven && !e.Replaced.Adopted {
		e.Replaced = dispatch.Copy{}
	}
	return e
}

// passiveJob is what a slice whose job is another's has to know of it: whether that still runs by this one, or by another.
func (o Original) passiveJob(remote client.Object) dispatch.Job {
	if !HasOrigin(remote, o.Origin) {
		return dispatch.Job{}
	}
	named := job.PrebuiltWorkloadName(remote) == o.Workload.Name
	return dispatch.Job{NamesWorkload: named, OfSlice: !named && o.isOfSlice(remote)}
}
