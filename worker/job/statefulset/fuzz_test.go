package statefulset

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/job/serving/servingtest"
)

// FuzzReconcile lets the reconciler look at a set, a pod and a Workload with anything in them: it answers, keeps its laws, and changes
// nothing twice.
func FuzzReconcile(f *testing.F) {
	for seed := range int64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		filler := servingtest.NewFiller(seed)
		set, pod, wl := &appsv1.StatefulSet{}, &corev1.Pod{}, &kueue.Workload{}
		filler.Fill(set)
		filler.Fill(pod)
		filler.Fill(wl)
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: kueue.AdmissionSchedulingGate})
		pod.DeletionTimestamp, pod.OwnerReferences = nil, []metav1.OwnerReference{{UID: set.UID, Controller: new(true)}}
		set.Namespace, pod.Namespace, wl.Namespace = servingtest.Namespace, servingtest.Namespace, servingtest.Namespace
		for _, i := range indexes() {
			i.By(set)
			i.By(pod)
			i.By(wl)
		}
		c := newCluster(t)
		r := &reconciler{serving.NewBase(Kind(), c.Options, c.Client, c.Client, c.Client, nil)}
		s := &snapshot{set: set, wl: wl, pods: []*corev1.Pod{pod}, replacing: set}
		s.facts.Managed, s.facts.Replicas = isMarked(set), replicas(set)
		s.countPods(s.pods, false)
		m := membership(set, r.workloadName(s))
		for _, change := range stepPods(s.pods, s.replacing, m, c.Options.Gates) {
			pod := change.Pod
			if change.Joined != nil {
				pod = change.Joined
			}
			if change.Ungate {
				pod = serving.Ungate(pod)
			}
			if again := stepPods([]*corev1.Pod{pod}, s.replacing, m, c.Options.Gates); len(again) > 0 {
				t.Error("a pod is changed once more")
			}
		}
		if _, _, err := r.Groups.Follow(context.Background(), wl, s.group()); s.lacksClass(err) != nil {
			t.Error(err)
		}
		checkLaws(t, s.facts, Step(s.facts))
	})
}
