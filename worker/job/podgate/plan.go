package podgate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// grant is how many pods of a pod set may run, and what those get that are let go.
type grant struct {
	pods int
	// annotations and nodeSelector are those of the admission checks that are ready.
	annotations, nodeSelector map[string]string
}

// copiedAnnotations are those that a pod takes over from an admission check.
func copiedAnnotations() []string {
	return []string{"autoscaling.x-k8s.io/consume-provisioning-request", "autoscaling.x-k8s.io/provisioning-class-name"}
}

// isAdmitted tells whether pods may run by the slice.
func isAdmitted(wl *kueue.Workload) bool {
	return workload.HasQuota(wl) && workload.IsAdmitted(wl) && !workload.IsEvicted(wl) && !workload.IsFinished(wl)
}

// grants returns what an admitted slice gives each of its pod sets. An error says that two of its checks contradict each other.
func grants(wl *kueue.Workload) (map[string]grant, error) {
	all := map[string]grant{}
	for i := range wl.Spec.PodSets {
		set := &wl.Spec.PodSets[i]
		g := grant{annotations: map[string]string{}, nodeSelector: map[string]string{}}
		for _, psa := range wl.Status.Admission.PodSetAssignments {
			if psa.Name == set.Name {
				g.pods = int(max(min(ptr.Deref(psa.Count, set.Count), set.Count), 0))
			}
		}
		if err := addChecks(g, wl, set.Name); err != nil {
			return nil, err
		}
		all[string(set.Name)] = g
	}
	return all, nil
}

// addChecks adds to a grant what the admission checks that are ready want of the pods of a pod set.
func addChecks(g grant, wl *kueue.Workload, set kueue.PodSetReference) error {
	for _, check := range wl.Status.AdmissionChecks {
		i := slices.IndexFunc(check.PodSetUpdates, func(u kueue.PodSetUpdate) bool { return u.Name == set })
		if check.State != kueue.CheckStateReady || i < 0 {
			continue
		}
		update := &check.PodSetUpdates[i]
		annotations := maps.Clone(update.Annotations)
		maps.DeleteFunc(annotations, func(key, _ string) bool { return !slices.Contains(copiedAnnotations(), key) })
		if key := merge(g.annotations, annotations) + merge(g.nodeSelector, update.NodeSelector); key != "" {
			return fmt.Errorf("admission checks of workload %s/%s want several values for %s", wl.Namespace, wl.Name, key)
		}
	}
	return nil
}

// merge adds entries, and returns the first key that is there with another value; "" if there is none.
func merge(into, from map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if has, found := into[key]; found && has != from[key] {
			return key
		}
		into[key] = from[key]
	}
	return ""
}

// isGated tells whether the pod waits for its gate.
func isGated(pod *corev1.Pod) bool {
	return slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: kueue.ElasticJobSchedulingGate})
}

// isRunning tells whether the pod needs quota: its gate is gone, and it has not ended. One that is being terminated does.
func isRunning(pod *corev1.Pod) bool { return !hasEnded(pod) && !isGated(pod) }

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// pick returns the pods to let go: those of the lowest names, as many as the grant leaves room for. Pods that run, or are still being
// terminated, use it up. A pod that has other values already than those that the grant comes with cannot be changed any more: it waits.
func pick(pods []*corev1.Pod, g grant) []*corev1.Pod {
	room := g.pods
	var waiting []*corev1.Pod
	for _, pod := range pods {
		switch {
		case isRunning(pod):
			room--
		case !hasEnded(pod) && pod.DeletionTimestamp.IsZero() && g.fits(pod):
			waiting = append(waiting, pod)
		}
	}
	slices.SortFunc(waiting, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return waiting[:min(max(room, 0), len(waiting))]
}

// fits tells whether nothing that the grant comes with is on the pod with another value.
func (g grant) fits(pod *corev1.Pod) bool {
	same := func(has, want map[string]string) bool {
		for key, value := range want {
			if v, found := has[key]; found && v != value {
				return false
			}
		}
		return true
	}
	return same(pod.Annotations, g.annotations) && same(pod.Spec.NodeSelector, g.nodeSelector)
}

// release returns the pod without its gate, with what the grant comes with.
func (g grant) release(pod *corev1.Pod) *corev1.Pod {
	free := pod.DeepCopy()
	free.Spec.SchedulingGates = slices.DeleteFunc(free.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool {
		return gate.Name == kueue.ElasticJobSchedulingGate
	})
	if len(g.annotations) > 0 && free.Annotations == nil {
		free.Annotations = map[string]string{}
	}
	maps.Copy(free.Annotations, g.annotations)
	if len(g.nodeSelector) > 0 && free.Spec.NodeSelector == nil {
		free.Spec.NodeSelector = map[string]string{}
	}
	maps.Copy(free.Spec.NodeSelector, g.nodeSelector)
	return free
}
