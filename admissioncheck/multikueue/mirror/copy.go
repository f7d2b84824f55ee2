package mirror

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/wire"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// Original is a Workload of the hub, as far as its copies are concerned.
type Original struct {
	// Origin is the hub's origin; never empty.
	Origin string
	// Hub is the identity of the hub; empty if it is not known, then no object is another hub's. Adopted are those of former
	// hubs whose objects are this hub's now.
	Hub     types.UID
	Adopted []types.UID
	// Workload is the hub's Workload. If Gone is set, only its name and namespace are known.
	Workload *kueue.Workload
	// Deleted says that the hub has no such Workload any more, as a live read has shown: whatever has our origin and its name
	// is ours to remove.
	Deleted bool
	// Kind is how to deal with its job; nil if the Workload has no owner that can be mirrored.
	Kind job.Integration
	// JobName is the name of the job, in the Workload's namespace; empty if unknown.
	JobName string
	// Job is the hub's job, nil if it is not seen.
	Job client.Object
	// Members are, for a kind whose Workloads have any number of objects (job.HasMembers), the hub's; Job is one of them.
	Members []client.Object
	// Slice is the Workload's place among the slices of an elastic job; the zero value is that of the only one.
	Slice Slice
	// Share is, for a kind of which several Workloads share one object (job.Shared), what this one has to do with it on the cluster in question.
	Share Share
	// Stops makes copies and jobs that a worker is to stop when the hub's run lease has run out there. Objects without that
	// stamp keep running.
	Stops bool
	// PreemptionGated makes copies that may not preempt before the hub opens their gate (contract: multikueue.md 8).
	PreemptionGated bool
	// Now is when this is looked at; zero believes whatever workers say of times.
	Now time.Time
	// Shape is the Shape of Workload where that is kept, because every copy is compared with it; nil works it out each time.
	Shape func() string
}

func (o Original) workloadShape() string {
	if o.Shape != nil {
		return o.Shape()
	}
	return Shape(o.Workload)
}

// stampAnnotations are the annotations of what is created in an epoch.
func (o Original) stampAnnotations(epoch int64) map[string]string {
	stamps := Stamps(o.Workload.UID, epoch)
	if o.Hub != "" {
		stamps[switchyard.HubUIDAnnotation] = string(o.Hub)
	}
	if o.Stops {
		stamps[switchyard.OnHubLostAnnotation] = string(switchyard.Stop)
	}
	return stamps
}

// Key is the namespaced name of the Workload, on the hub and on every worker.
func (o Original) Key() types.NamespacedName { return client.ObjectKeyFromObject(o.Workload) }

// JobKey is the namespaced name of the job, on the hub and on every worker.
func (o Original) JobKey() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Workload.Namespace, Name: o.JobName}
}

// holderOf says which hub and Workload a remote object belongs to. An object that names another hub is as foreign as one of
// another origin. An object that names another Workload is that of a predecessor. An object that was made for this Workload
// and has lost its label is still ours (Relabelled); with the label of another hub it may be that of a hub which was restored
// from the same backup.
func (o Original) holderOf(obj client.Object) dispatch.Holder {
	owner, says := obj.GetAnnotations()[switchyard.OwnerUIDAnnotation]
	stamped := o.isStampedForWorkload(obj)
	switch {
	case OtherHub(obj, o.Hub, o.Adopted) != "":
		return dispatch.Foreign
	case o.Origin != "" && obj.GetLabels()[kueue.MultiKueueOriginLabel] == "" && stamped:
		return dispatch.Relabelled
	case !HasOrigin(obj, o.Origin):
		return dispatch.Foreign
	case !o.Deleted && says && owner != string(o.Workload.UID):
		return dispatch.Predecessor
	}
	return dispatch.Ours
}

// isStampedForWorkload tells whether an object says by UID that it was made for the Workload.
func (o Original) isStampedForWorkload(obj client.Object) bool {
	owner := obj.GetAnnotations()[switchyard.OwnerUIDAnnotation]
	return !o.Deleted && owner != "" && owner == string(o.Workload.UID)
}

// WorkloadCopy returns the Workload as it is created on a worker in an epoch: name, labels without the job's UID, plus
// origin, annotations plus stamps, and the full spec, in which the hub's gate replaces those of the Workload if it is to be
// gated; no owner, no finalizer, no status (contract: multikueue.md 4 case 8).
func (o Original) WorkloadCopy(epoch int64) *kueue.Workload {
	from := o.Workload.DeepCopy()
	labels, annotations := from.Labels, from.Annotations
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, kueue.JobUIDLabel)
	labels[kueue.MultiKueueOriginLabel] = o.Origin
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, switchyard.OnHubLostAnnotation) // what the hub's own object says is for nobody else
	maps.Copy(annotations, o.stampAnnotations(epoch))
	if o.Slice.Replaced.Name != "" {
		annotations[kueue.WorkloadSliceReplacementForAnnotation] = o.Slice.Replaced.String()
	}
	if o.PreemptionGated {
		from.Spec.PreemptionGates = []kueue.PreemptionGate{{Name: kueue.MultiKueuePreemptionGate}}
	}
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: from.Name, Namespace: from.Namespace, Labels: labels, Annotations: annotations,
		},
		Spec: from.Spec,
	}
}

// ObserveWorkload tells the dispatcher about a Workload of our name on a worker; nil means that there is none.
func (o Original) ObserveWorkload(remote *kueue.Workload) dispatch.Copy {
	if remote == nil {
		return dispatch.Copy{}
	}
	same := o.Deleted || Shape(remote) == o.workloadShape()
	larger := !same && isLarger(remote, o.Workload)
	priority := o.Deleted || samePriority(remote, o.Workload)
	c := dispatch.Copy{
		Holder: o.holderOf(remote), Epoch: Epoch(remote),
		SpecMatches: same && priority, OnlyPriorityDiffers: same && !priority, OnlyLarger: larger,
		Evicted:        hasCondition(remote, kueue.WorkloadEvicted),
		Deactivating:   hasCondition(remote, kueue.WorkloadDeactivationTarget) || !ptr.Deref(remote.Spec.Active, true),
		Deleting:       !remote.DeletionTimestamp.IsZero(),
		Since:          remote.CreationTimestamp.Time,
		StopsOnHubLost: StopsWithoutHub(remote), HasWorkloadUID: o.isStampedForWorkload(remote),
	}
	c.Adopted, c.AdoptedBy = adoptingJob(remote)
	setPreemptionGate(&c, remote)
	if c.Evicted {
		c.EvictedAt = meta.FindStatusCondition(remote.Status.Conditions, kueue.WorkloadEvicted).LastTransitionTime.Time
	}
	if reserved := meta.FindStatusCondition(remote.Status.Conditions, kueue.WorkloadQuotaReserved); reserved != nil {
		c.QuotaReserved = reserved.Status == metav1.ConditionTrue
		if c.Holder != dispatch.Foreign {
			c.Since = reserved.LastTransitionTime.Time
		}
		if !c.QuotaReserved {
			c.WaitingMessage, c.WaitingReason = kube.Sanitize(reserved.Message, wire.MaxText), kube.Sanitize(reserved.Reason, wire.MaxText)
			c.Refused = slices.Contains(refusalReasons(), kueue.Reason(reserved.Reason))
		}
	}
	if admitted := meta.FindStatusCondition(remote.Status.Conditions, kueue.WorkloadAdmitted); admitted != nil && admitted.Status == metav1.ConditionTrue {
		c.Admitted, c.AdmittedAt = true, admitted.LastTransitionTime.Time
	}
	if finished := meta.FindStatusCondition(remote.Status.Conditions, kueue.WorkloadFinished); finished != nil && finished.Status == metav1.ConditionTrue {
		c.Finished = outcome(finished.Reason, finished.Message)
	}
	return c
}

// adoptingJob tells whether a job has ever taken up the copy, and that job's UID: its owner goes when that job is deleted and leaves its dependents
// alone, the job's UID in a label stays (contract: multikueue.md 6).
func adoptingJob(remote *kueue.Workload) (is bool, by string) {
	if controller := metav1.GetControllerOfNoCopy(remote); controller != nil {
		return true, string(controller.UID)
	}
	by = remote.Labels[kueue.JobUIDLabel]
	return by != "" || ownedByMembers(remote), by
}

// ownedByMembers tells whether pods of a group have taken the copy up. None of them controls it.
func ownedByMembers(remote *kueue.Workload) bool {
	return workload.IsGroup(remote) && len(remote.OwnerReferences) > 0
}

// setPreemptionGate tells how the hub's preemption gate of a copy stands. One without a position is closed (contract: multikueue.md 8).
func setPreemptionGate(c *dispatch.Copy, remote *kueue.Workload) {
	if blocked := meta.FindStatusCondition(remote.Status.Conditions, kueue.WorkloadBlockedOnPreemptionGates); blocked != nil {
		c.BlockedOnGate, c.BlockedSince = blocked.Status == metav1.ConditionTrue, blocked.LastTransitionTime.Time
	}
	c.GateClosed = slices.ContainsFunc(remote.Spec.PreemptionGates, func(g kueue.PreemptionGate) bool {
		return g.Name == kueue.MultiKueuePreemptionGate
	})
	for _, state := range remote.Status.PreemptionGates {
		if state.Name == kueue.MultiKueuePreemptionGate && state.Position == kueue.GateOpen {
			c.GateClosed, c.GateOpenedAt = false, state.LastTransitionTime.Time
		}
	}
}

// refusalReasons are the reasons to have no quota that pass only when an administrator changes something on that cluster
// (contract: kueue-api.md 1.13).
func refusalReasons() []kueue.Reason {
	return []kueue.Reason{
		kueue.ReasonNoMatchingFlavor, kueue.ReasonExceedsMaxQuota, kueue.ReasonMisconfigured, kueue.ReasonSuspended,
		kueue.ReasonDeactivated, kueue.ReasonInadmissible,
	}
}

func hasCondition(wl *kueue.Workload, condition string) bool {
	return meta.IsStatusConditionTrue(wl.Status.Conditions, condition)
}
