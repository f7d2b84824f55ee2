package job

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestPlacingATemplateIsAllOrNothing(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}}}
	before := template.DeepCopy()
	err := PlaceTemplate(&template, Placement{NodeSelector: map[string]string{"zone": "a"}, Labels: map[string]string{"app": "y"}})
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.What != "labels" || conflict.Key != "app" {
		t.Errorf("error is %v", err)
	}
	if diff := cmp.Diff(*before, template); diff != "" {
		t.Errorf("template differs (-want +got):\n%s", diff)
	}
}

func TestPlacingTwiceAddsNothingTwice(t *testing.T) {
	p := Placement{
		NodeSelector: map[string]string{"zone": "a"}, Tolerations: []corev1.Toleration{{Key: "gpu"}},
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "gate"}},
	}
	var once, twice corev1.PodTemplateSpec
	for _, target := range []*corev1.PodTemplateSpec{&once, &twice, &twice} {
		if err := PlaceTemplate(target, p); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("templates differ (-once +twice):\n%s", diff)
	}
}

// admittedTo returns a Workload with two pod sets on two flavors.
func admittedTo() *kueue.Workload {
	wl := &kueue.Workload{Spec: kueue.WorkloadSpec{QueueName: "lq", PodSets: []kueue.PodSet{{Name: "a", Count: 3}, {Name: "b", Count: 1}}}}
	wl.Status.Admission = &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{
		{Name: "b", Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": "spot"}},
		{Name: "a", Count: ptr.To[int32](2), Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": "spot", "gpu": "h100"}},
	}}
	wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{
		{Name: "ready", State: kueue.CheckStateReady, PodSetUpdates: []kueue.PodSetUpdate{
			{Name: "b", Annotations: map[string]string{"pr": "1"}},
			{Name: "b", Annotations: map[string]string{"pr": "2"}}, // of two the first counts
		}},
		{Name: "pending", State: kueue.CheckStatePending, PodSetUpdates: []kueue.PodSetUpdate{{Name: "b", Annotations: map[string]string{"no": "1"}}}},
	}
	return wl
}

func flavors() map[kueue.ResourceFlavorReference]*kueue.ResourceFlavor {
	spot, h100 := &kueue.ResourceFlavor{}, &kueue.ResourceFlavor{}
	spot.Spec.NodeLabels = map[string]string{"spot": "yes"}
	spot.Spec.Tolerations = []corev1.Toleration{{Key: "spot"}}
	h100.Spec.NodeLabels = map[string]string{"gpu": "h100"}
	return map[kueue.ResourceFlavorReference]*kueue.ResourceFlavor{"spot": spot, "h100": h100}
}

func TestPlacementsSumUpFlavorsAndReadyChecks(t *testing.T) {
	got, err := buildPlacements(admittedTo(), flavors(), false)
	if err != nil {
		t.Fatal(err)
	}
	want := []Placement{
		{
			Name: "a", Count: 2, NodeSelector: map[string]string{"spot": "yes", "gpu": "h100"},
			Tolerations: []corev1.Toleration{{Key: "spot"}}, Labels: map[string]string{kueue.PodSetLabel: "a"},
		},
		{
			Name: "b", Count: 1, NodeSelector: map[string]string{"spot": "yes"}, Tolerations: []corev1.Toleration{{Key: "spot"}},
			Labels: map[string]string{kueue.PodSetLabel: "b"}, Annotations: map[string]string{"pr": "1"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("placements differ (-want +got):\n%s", diff)
	}
}

func TestFlavorsThatContradictEachOtherAreAConflict(t *testing.T) {
	contradicting := flavors()
	contradicting["h100"].Spec.NodeLabels["spot"] = "no"
	_, err := buildPlacements(admittedTo(), contradicting, false)
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Key != "spot" {
		t.Errorf("error is %v", err)
	}
}

func TestQueueNamesThatAreNoLabelValuesAreLeftOut(t *testing.T) {
	wl := admittedTo()
	wl.Status.Admission.ClusterQueue = "a-name-that-is-far-too-long-for-a-label-value-because-it-goes-on-and-on"
	wl.Labels = map[string]string{kueue.MultiKueueOriginLabel: "hub"}
	want := map[string]string{kueue.PodSetLabel: "a", kueue.LocalQueueNameLabel: "lq", kueue.MultiKueueWorkerWorkloadPodLabel: "true"}
	if diff := cmp.Diff(want, podLabels(wl, "a", true)); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
}
