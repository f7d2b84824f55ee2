package sim

import (
	"cmp"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
)

// What the dispatcher is told of slices. That is not modelled: the real controller's hubworkload.ObserveSlice and the real mirror say it, of objects
// as they are in the API.

const (
	namespace = "ns"
	hubOrigin = "hub"
)

// SliceFunc is hubworkload.ObserveSlice, or a mutant of it.
type SliceFunc func(wl *kueue.Workload, others []*kueue.Workload) dispatch.Slice

// sliceView is what a slice is to the dispatcher.
type sliceView struct {
	dispatch.Slice
	original mirror.Original
	facts    map[jobFactsKey]dispatch.Job
}

// jobFactsKey is all that decides about what the mirror makes of a job.
type jobFactsKey struct {
	workload, gpu   int64
	passive         bool
	earlier         int
	owner           owner
	prebuilt, chain string
	pods            int64
	lostMarks       lostMarks
}

// kubeObjects are Workloads as they are in the API, by name and version, and what was found out about jobs.
type kubeObjects struct {
	slices map[kubeKey]*kueue.Workload
	facts  map[jobFactsKey]dispatch.Job
	kind   job.Integration
}

type kubeKey struct {
	name   string
	rv     int64
	bound  string
	quota  bool
	record *dispatch.Record
}

func newKubeObjects() *kubeObjects {
	return &kubeObjects{slices: map[kubeKey]*kueue.Workload{}, facts: map[jobFactsKey]dispatch.Job{}}
}

// viewSlice is what a slice is to the dispatcher's program, by its cache.
func (w *program) viewSlice(item workload) *sliceView {
	var all []workload
	for name, other := range w.driver.localInformer.cache {
		if jobOf(name) == jobOf(item.name) {
			all = append(all, other)
		}
	}
	slices.SortFunc(all, func(a, b workload) int { return cmp.Compare(a.number, b.number) })
	wl, others := w.kubeSlice(item), w.kubeSlices(all, item)
	v := &sliceView{Slice: w.parts.Slice(wl, others), facts: w.hub.kube.facts}
	v.original = mirror.Original{
		Origin: hubOrigin, Workload: wl, Kind: w.hub.kube.kindOf(), JobName: jobOf(item.name), Job: &batchv1.Job{},
		Slice: mirror.Slice{Passive: v.Passive, Earlier: hubworkload.EarlierSlices(wl, others)},
	}
	return v
}

// kindOf is the kind of all elastic jobs.
func (k *kubeObjects) kindOf() job.Integration {
	if k.kind == nil {
		k.kind = job.NewIntegration(batchjob.Kind())
	}
	return k.kind
}

// kubeSlices are the other slices of the same job and chain, as listSlices of the controller has it.
func (w *hubCluster) kubeSlices(all []workload, except workload) []*kueue.Workload {
	var list []*kueue.Workload
	for _, other := range all {
		if other.elastic && other.name != except.name && other.ownerUID == except.ownerUID && other.chain == except.chain {
			list = append(list, w.kubeSlice(other))
		}
	}
	return list
}

// kubeSlice is a slice as it is in the hub's API.
func (w *hubCluster) kubeSlice(item workload) *kueue.Workload {
	key := kubeKey{item.name, item.rv, item.bound, item.quota, item.record}
	if wl, known := w.hub.kube.slices[key]; known {
		return wl
	}
	wl := kubeWorkload(item.name, item.uid, item.slicePlace, item.gpu)
	wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: jobOf(item.name), UID: types.UID(formatUID(item.ownerUID)), Controller: ptr.To(true)}}
	hubworkload.SetState(wl, item.state(), w.now)
	if item.quota {
		wl.Status.Admission = &kueue.Admission{}
	}
	if item.evictions > 0 {
		wl.Status.SchedulingStats = &kueue.SchedulingStats{Evictions: []kueue.WorkloadSchedulingStatsEviction{{Reason: "Preempted", Count: int32(item.evictions)}}}
	}
	set := func(condition string, is bool, reason string) {
		if is {
			meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason})
		}
	}
	set(kueue.WorkloadQuotaReserved, item.quota, "QuotaReserved")
	set(kueue.WorkloadAdmitted, w.isAdmitted(item), "Admitted")
	set(kueue.WorkloadEvicted, item.evicted, "Preempted")
	if item.finished != nil {
		set(kueue.WorkloadFinished, true, item.finished.Reason)
	}
	w.hub.kube.slices[key] = wl
	return wl
}

// kubeWorkload is a slice, or a copy, without its status.
func kubeWorkload(name string, uid int64, place slicePlace, gpu int64) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(formatUID(uid)), CreationTimestamp: metav1.NewTime(place.creationTime()),
		Annotations: map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: place.chain},
	}}
	if place.replaces != "" {
		wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = namespace + "/" + place.replaces
	}
	wl.Spec.PodSets = []kueue.PodSet{{Name: podSetName, Count: int32(gpu)}}
	return wl
}

// observeJob is what the mirror makes of a job, as far as slices matter to that.
func (v *sliceView) observeJob(item workload, j remoteJob) dispatch.Job {
	key := jobFactsKey{item.uid, item.gpu, v.Passive, len(v.original.Slice.Earlier), j.owner, j.prebuilt, j.chain, j.pods, j.lostMarks}
	if facts, known := v.facts[key]; known {
		return facts
	}
	remote := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: jobOf(item.name), Annotations: map[string]string{}, Labels: map[string]string{}}}
	if j.ours && j.lostMarks == lostNone {
		remote.Labels[kueue.MultiKueueOriginLabel] = hubOrigin
	}
	if j.uid != 0 && j.lostMarks != lostAllMarks {
		remote.Annotations[switchyard.OwnerUIDAnnotation] = formatUID(j.uid)
	}
	if j.prebuilt != "" {
		remote.Annotations[kueue.PrebuiltWorkloadNameKey] = j.prebuilt
	}
	if j.chain != "" && j.lostMarks != lostAllMarks {
		remote.Annotations[kueue.WorkloadSliceNameAnnotation] = j.chain
	}
	remote.Spec.Parallelism = ptr.To(int32(j.pods))
	facts := v.original.ObserveJob(remote)
	v.facts[key] = facts
	return facts
}

// hadJobOn reports whether a copy that is gone was to take over a job there.
func (w workload) hadJobOn(cluster string, obj remoteWorkload) bool {
	return w.view != nil && w.view.HadJobOn(cluster, obj.stampedEpoch())
}

// holderOf is whose a job is.
func (v *sliceView) holderOf(item workload, j remoteJob) dispatch.Holder {
	return v.observeJob(item, j).Holder
}

// sliceJobFacts are a job's facts as a slice of it sees them; of one whose job is another's there is next to nothing.
func (v *sliceView) sliceJobFacts(item workload, j remoteJob, f dispatch.Job) dispatch.Job {
	seen := v.observeJob(item, j)
	if v.Passive {
		return seen
	}
	f.Holder, f.HasWorkloadUID, f.NamesWorkload = seen.Holder, seen.HasWorkloadUID, seen.NamesWorkload
	f.OfSlice, f.SizeBehind, f.SizeAbove = seen.OfSlice, seen.SizeBehind, seen.SizeAbove
	f.StatusBehind = f.StatusBehind && seen.Holder == dispatch.Ours
	return f
}

// copyOf is a copy as it is in a worker's API, as far as slices matter.
func copyOf(name string, obj remoteWorkload) *kueue.Workload {
	wl := kubeWorkload(name, obj.id, obj.slicePlace, obj.gpu)
	if obj.ours {
		wl.Labels = map[string]string{kueue.MultiKueueOriginLabel: hubOrigin}
	}
	wl.Annotations[switchyard.OwnerUIDAnnotation] = formatUID(obj.uid)
	wl.Annotations[switchyard.EpochAnnotation] = strconv.FormatInt(obj.stampedEpoch(), 10)
	if obj.quota {
		wl.Status.Admission = &kueue.Admission{}
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "QuotaReserved"})
	}
	if obj.finished != nil {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: obj.finished.Reason})
	}
	if obj.adopted {
		wl.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(formatUID(obj.adoptedBy)), Controller: ptr.To(true)}}
	}
	return wl
}

// isLarger reports whether a copy is for more pods than the slice is now, and differs in nothing else.
func (v *sliceView) isLarger(item workload, obj remoteWorkload) bool {
	return obj.gpu > item.gpu && v.original.ObserveWorkload(copyOf(item.name, obj)).OnlyLarger
}

// observeEarlier is what is seen of the copies of the slices before (lookupEarlier of the controller).
func (v *sliceView) observeEarlier(cluster string, r *remoteState) mirror.EarlierCopies {
	return v.original.ObserveEarlier(cluster, func(key types.NamespacedName) *kueue.Workload {
		if obj := r.informers.workloads.get(key.Name); obj.exists && obj.value.elastic {
			return copyOf(key.Name, obj.value)
		}
		return nil
	})
}

// placeOn is the place of a slice's copy on a cluster: it takes over from the one by which the job runs there.
func (v *sliceView) placeOn(cluster string, r *remoteState, item workload) slicePlace {
	place := item.slicePlace
	if running := v.observeEarlier(cluster, r).Running; running.Name != "" {
		place.replaces = running.Name
	}
	return place
}

// mayHaveShown reports whether a job that is gone was last seen as that of the slice, or of one from which it has taken over (lastDeletedJob of
// the controller). Of a passive slice nothing is remembered: to it a job is nobody's.
func (v *sliceView) mayHaveShown(item workload, last remoteJob) bool {
	if v.Passive {
		return false
	}
	return last.prebuilt == item.name || slices.ContainsFunc(v.original.Slice.Earlier, func(slice hubworkload.EarlierSlice) bool { return slice.Name == last.prebuilt })
}
