package podgroup

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/plan"
	"switchyard.dev/worker/job/podgroup/podmeta"
)

// Mirrored is by what a hub runs pods on other clusters (contract: job-kinds.md 10.8). A Workload has any number of them there, see
// [job.Membered]; how they ended only their Workload says. The integration reconciles nothing: [Framework] does.
func Mirrored() job.Integration {
	return mirrored{job.NewIntegration(job.Kind[*corev1.Pod]{
		Name: Name, GVK: podmeta.GVK(), AddToScheme: corev1.AddToScheme,
		New:      func() *corev1.Pod { return &corev1.Pod{} },
		NewList:  func() client.ObjectList { return &corev1.PodList{} },
		Progress: func(*corev1.Pod) job.Progress { return job.Progress{} },
		Strip:    stripRemote, CopyStatus: copyStatus,
	})}
}

// mirrored does otherwise than other kinds what pods do otherwise: nothing in their spec says who looks after them, and their gates stay.
type mirrored struct{ job.Integration }

var _ job.Membered = mirrored{}

// HasEnded implements [job.Membered].
func (mirrored) HasEnded(member client.Object) bool {
	pod, ok := member.(*corev1.Pod)
	return ok && podmeta.IsTerminal(pod)
}

// HaveEnded implements [job.Membered], by the rule by which their own cluster goes. Pods that were told to go may run anew.
func (mirrored) HaveEnded(members []client.Object, group bool) bool {
	f := plan.Facts{Single: !group, Copy: true}
	for _, m := range members {
		if pod, ok := m.(*corev1.Pod); ok {
			member := memberOf(pod)
			f.Members, f.TotalCount = append(f.Members, member), max(f.TotalCount, member.TotalCount)
			f.Serving = f.Serving || podmeta.IsTrue(pod, kueue.PodGroupServingAnnotation)
		}
	}
	return f.HaveEnded()
}

// MarkEnded implements [job.Membered].
func (mirrored) MarkEnded(member client.Object, success bool, message string) bool {
	pod, ok := member.(*corev1.Pod)
	if !ok || !podmeta.IsGated(pod) || podmeta.IsTerminal(pod) {
		return false
	}
	ended := corev1.PodStatus{Phase: corev1.PodFailed, Message: message, StartTime: pod.Status.StartTime}
	if success {
		ended.Phase = corev1.PodSucceeded
	}
	pod.Status = shownStatus(&pod.Status, &ended)
	return true
}

// Mirrorable implements job.Integration.
func (mirrored) Mirrorable() bool { return true }

// ReportsOutcome implements job.Integration.
func (mirrored) ReportsOutcome() bool { return false }

// IsManagedByMultiKueue implements job.Integration: the queue decides.
func (mirrored) IsManagedByMultiKueue(client.Object) (bool, string) { return true, "" }

// RemoteCopy implements job.Integration. The copy keeps its gates, so that it waits there whatever becomes of the webhooks. What the other
// cluster's admission computes by its own classes is left to it.
func (mirrored) RemoteCopy(obj client.Object, o job.RemoteOptions) client.Object {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		panic("podgroup: the pod to be copied is none")
	}
	copied := &corev1.Pod{ObjectMeta: *pod.ObjectMeta.DeepCopy(), Spec: *pod.Spec.DeepCopy()}
	job.StampCopy(copied, o)
	metav1.SetMetaDataAnnotation(&copied.ObjectMeta, kueue.MultiKueueOriginUIDAnnotation, string(pod.UID)) // its name may come again
	spec := &copied.Spec
	spec.NodeName, spec.EphemeralContainers = "", nil
	spec.Priority, spec.PreemptionPolicy = nil, nil
	if spec.RuntimeClassName != nil {
		spec.Overhead = nil
	}
	podmeta.AddGate(copied, kueue.AdmissionSchedulingGate)
	return copied
}

// copyStatus shows on the hub's pod how its copy does. Addresses are left out: those of another cluster would mislead Services of this one.
// A pod that was told to go has not ended, as it may run anew on another cluster; one that somebody there has deleted has ended as it says; one
// that has ended here does not begin again. One without its gate runs here.
func copyStatus(local, remote *corev1.Pod) (changed, deferred bool) {
	going := remote.DeletionTimestamp != nil && !podmeta.IsTerminal(remote) || memberOf(remote).Told
	if local.DeletionTimestamp != nil || !podmeta.IsGated(local) || podmeta.IsTerminal(local) || going {
		return false, false
	}
	next := shownStatus(&local.Status, &remote.Status)
	if equality.Semantic.DeepEqual(local.Status, next) {
		return false, false
	}
	local.Status = next
	return true, false
}

// shownStatus is what a hub's pod shows of a remote one's status.
func shownStatus(local, remote *corev1.PodStatus) corev1.PodStatus {
	shown := copiedStatus(remote)
	shown.Conditions = shownConditions(local.Conditions, remote.Conditions)
	shown.QOSClass, shown.ObservedGeneration = local.QOSClass, local.ObservedGeneration
	return shown
}

// shownConditions are those of a remote pod. To an autoscaler of the hub a pod that is not scheduled there waits behind its gates here.
func shownConditions(local, remote []corev1.PodCondition) []corev1.PodCondition {
	var shown []corev1.PodCondition
	for _, c := range remote {
		if c.Type != corev1.PodScheduled || c.Status == corev1.ConditionTrue {
			shown = append(shown, c)
		}
	}
	if condition(shown, corev1.PodScheduled) != nil {
		return shown
	}
	if waits := condition(local, corev1.PodScheduled); waits != nil && waits.Status == corev1.ConditionFalse {
		return append(shown, *waits)
	}
	return append(shown, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
		Message: "Scheduling is blocked due to non-empty scheduling gates",
	})
}

func condition(conditions []corev1.PodCondition, of corev1.PodConditionType) *corev1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == of {
			return &conditions[i]
		}
	}
	return nil
}

// copiedStatus is what is copied of a remote pod's status besides its conditions.
func copiedStatus(remote *corev1.PodStatus) corev1.PodStatus {
	shown := corev1.PodStatus{
		Phase: cmp.Or(remote.Phase, corev1.PodPending), Message: remote.Message, Reason: remote.Reason, StartTime: remote.StartTime.DeepCopy(),
	}
	for _, s := range remote.InitContainerStatuses {
		shown.InitContainerStatuses = append(shown.InitContainerStatuses, shownContainer(s))
	}
	for _, s := range remote.ContainerStatuses {
		shown.ContainerStatuses = append(shown.ContainerStatuses, shownContainer(s))
	}
	return shown
}

// shownContainer leaves out what belongs to a cluster's devices and nodes.
func shownContainer(s corev1.ContainerStatus) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: s.Name, State: *s.State.DeepCopy(), LastTerminationState: *s.LastTerminationState.DeepCopy(), Ready: s.Ready,
		RestartCount: s.RestartCount, Image: s.Image, ImageID: s.ImageID, ContainerID: s.ContainerID, Started: s.Started,
	}
}

// stripRemote leaves of a cached remote pod what is copied of it, and who it is.
func stripRemote(pod *corev1.Pod) {
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	conditions := pod.Status.Conditions
	pod.Status = copiedStatus(&pod.Status)
	pod.Status.Conditions = conditions
}
