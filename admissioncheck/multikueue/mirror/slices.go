package mirror

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// Slice is a Workload's place among the slices of an elastic job (contract: job-kinds.md 15). They have one job on a worker, which is stamped
// with the UID of the slice that it was made for and with the name that all have in common, and which names the slice by which it runs.
type Slice struct {
	// Passive says that the job is another slice's.
	Passive bool
	// Earlier are the slices that the Workload has taken over from, the latest first, as far as the hub still has them.
	Earlier []types.NamespacedName
}

// isOfSlice tells whether a job was made for a slice that the Workload has taken over from: all of them have one name in common, which bears a
// digest of the hub's job.
func (o Original) isOfSlice(remote client.Object) bool {
	return !o.Deleted && workload.IsElastic(o.Workload) && remote.GetAnnotations()[kueue.WorkloadSliceNameAnnotation] == workload.SliceName(o.Workload)
}

// jobStamps are the annotations of a job that is created in an epoch.
func (o Original) jobStamps(epoch int64) map[string]string {
	stamps := o.stampAnnotations(epoch)
	if workload.IsElastic(o.Workload) {
		maps.Copy(stamps, map[string]string{kueue.WorkloadSliceNameAnnotation: workload.SliceName(o.Workload)})
	}
	return stamps
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
