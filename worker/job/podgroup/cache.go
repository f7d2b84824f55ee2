package podgroup

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/podgroup/podmeta"
)

// CacheOptions says which pods a cache shows, and what of them: those that bear the mark of managed pods, small. With unmarked it shows
// all, for integrations that mark the pods of their objects only after those were created; of pods that are nobody's it knows little more
// than the names then.
func CacheOptions(unmarked bool) cache.ByObject {
	if unmarked {
		return cache.ByObject{Transform: strip}
	}
	return cache.ByObject{Label: labels.SelectorFromSet(labels.Set{kueue.ManagedLabel: kueue.ManagedLabelValue}), Transform: strip}
}

// strip leaves of a pod what decisions read and what patches of it must not lose. A pod that waits keeps its spec, of which its
// Workload is made; one that was let go keeps next to nothing of it. Nothing but metadata is ever written of such a pod.
func strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields = nil
	if !podmeta.IsGated(pod) { // the status of one that waits is small, and that of another cluster's is compared with it
		pod.Status = stripStatus(&pod.Status)
	}
	switch {
	case !podmeta.IsManaged(pod) && !podmeta.HasSuspendingParent(pod):
		pod.ObjectMeta = metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}
		pod.Spec, pod.Status = corev1.PodSpec{}, corev1.PodStatus{}
	case !podmeta.IsGated(pod):
		pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, SchedulingGates: pod.Spec.SchedulingGates}
		pod.Annotations = ownAnnotations(pod.Annotations)
	}
	return pod, nil
}

func stripStatus(status *corev1.PodStatus) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: status.Phase, Message: status.Message,
		Conditions: slices.DeleteFunc(status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type != corev1.PodReady && c.Type != kueue.PodTerminationTarget
		}),
	}
}

// ownAnnotations leaves out what other programs have written on a pod, some of which is long, but for what LeaderWorkerSets say of it.
func ownAnnotations(all map[string]string) map[string]string {
	var own map[string]string
	for key, value := range all {
		domain, _, _ := strings.Cut(key, "/")
		if domain == "kueue.x-k8s.io" || domain == "switchyard.dev" || domain == "leaderworkerset.sigs.k8s.io" {
			if own == nil {
				own = map[string]string{}
			}
			own[key] = value
		}
	}
	return own
}

// serviceAccountVolume is how the names of the volumes begin that kube-apiserver adds to pods for their tokens. Each has another name.
const serviceAccountVolume = "kube-api-access-"

// templateOf returns what a Workload says of a pod: its spec as its user wrote it, without gates and volumes that were added since, so
// that equal pods have equal pod sets.
func templateOf(pod *corev1.Pod) corev1.PodTemplateSpec {
	spec := pod.Spec.DeepCopy()
	spec.SchedulingGates = slices.DeleteFunc(spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool {
		return g.Name == kueue.AdmissionSchedulingGate || g.Name == kueue.TopologySchedulingGate
	})
	if len(spec.SchedulingGates) == 0 {
		spec.SchedulingGates = nil
	}
	spec.NodeName = ""
	dropTokens(spec)
	return corev1.PodTemplateSpec{Spec: *spec}
}

// dropTokens takes the volumes of service account tokens out of a spec.
func dropTokens(spec *corev1.PodSpec) {
	injected := func(name string) bool { return strings.HasPrefix(name, serviceAccountVolume) }
	before := len(spec.Volumes)
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return injected(v.Name) && v.Projected != nil })
	if len(spec.Volumes) == before {
		return
	}
	if len(spec.Volumes) == 0 {
		spec.Volumes = nil
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			list[i].VolumeMounts = slices.DeleteFunc(list[i].VolumeMounts, func(m corev1.VolumeMount) bool { return injected(m.Name) })
			if len(list[i].VolumeMounts) == 0 {
				list[i].VolumeMounts = nil
			}
		}
	}
}
