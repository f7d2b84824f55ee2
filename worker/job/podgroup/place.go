package podgroup

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/podmeta"
)

// place returns what the pod is like when it is let go, as far as that differs: labels, annotations, node selector, tolerations, gates. An
// error is a conflict that no retry can solve.
func (r *reconciler) place(s *snapshot, pod *corev1.Pod, placement job.Placement) (corev1.PodTemplateSpec, error) {
	if r.opts.Gates.Topology {
		placement.Annotations = with(placement.Annotations, kueue.WorkloadAnnotation, s.wl.Name)
	}
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations},
		Spec:       corev1.PodSpec{NodeSelector: pod.Spec.NodeSelector, Tolerations: pod.Spec.Tolerations},
	}
	for _, gate := range pod.Spec.SchedulingGates {
		if gate.Name != kueue.AdmissionSchedulingGate && gate.Name != kueue.TopologySchedulingGate { // the placement has the latter if it is needed
			t.Spec.SchedulingGates = append(t.Spec.SchedulingGates, gate)
		}
	}
	err := job.PlaceTemplate(&t, placement)
	return t, err
}

func with(m map[string]string, key, value string) map[string]string {
	if _, found := m[key]; found {
		return m
	}
	next := map[string]string{key: value}
	for k, v := range m {
		next[k] = v
	}
	return next
}

// ungated returns the pod as it is let go.
func (r *reconciler) ungated(s *snapshot, i int) (*corev1.Pod, error) {
	t, err := r.place(s, s.pods[i], s.placements[s.roleOf(&s.facts.Members[i])])
	if err != nil {
		return nil, err
	}
	pod := s.pods[i].DeepCopy()
	pod.Labels, pod.Annotations = t.Labels, t.Annotations
	pod.Spec.NodeSelector, pod.Spec.Tolerations = t.Spec.NodeSelector, t.Spec.Tolerations
	pod.Spec.SchedulingGates = slices.Clone(t.Spec.SchedulingGates)
	podmeta.RemoveGate(pod, kueue.AdmissionSchedulingGate)
	return pod, nil
}
