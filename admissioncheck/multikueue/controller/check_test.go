package controller

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/check"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube/polltest"
)

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !polltest.Holds(t, condition) {
		t.Fatalf("never: %s", what)
	}
}

func TestTheConditionOfACheck(t *testing.T) {
	cluster := func(name string, status metav1.ConditionStatus) *kueue.MultiKueueCluster {
		return &kueue.MultiKueueCluster{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     kueue.MultiKueueClusterStatus{Conditions: []metav1.Condition{{Type: "Active", Status: status}}},
		}
	}
	config := func(clusters ...string) *kueue.MultiKueueConfig {
		return &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Spec: kueue.MultiKueueConfigSpec{Clusters: clusters}}
	}
	ref := &kueue.AdmissionCheckParametersReference{APIGroup: kueue.GroupVersion.Group, Kind: "MultiKueueConfig", Name: "config"}
	on, off := cluster("on", metav1.ConditionTrue), cluster("off", metav1.ConditionFalse)
	for _, tc := range []struct {
		name    string
		ref     *kueue.AdmissionCheckParametersReference
		objects []client.Object
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{
			name: "no parameters", status: metav1.ConditionFalse, reason: "BadConfig",
			message: "Cannot load the AdmissionChecks parameters: missing parameters reference",
		},
		{
			name: "no such config", ref: ref, status: metav1.ConditionFalse, reason: "BadConfig",
			message: `Cannot load the AdmissionChecks parameters: multikueueconfigs.kueue.x-k8s.io "config" not found`,
		},
		{
			name: "all clusters active", ref: ref, objects: []client.Object{config("on"), on},
			status: metav1.ConditionTrue, reason: "Active", message: "The admission check is active",
		},
		{
			name: "some missing and some inactive", ref: ref, objects: []client.Object{config("gone", "on", "lost", "off"), on, off},
			status: metav1.ConditionTrue, reason: "SomeActiveClusters", message: "Missing clusters: [gone lost], Inactive clusters: [off]",
		},
		{
			name: "none usable", ref: ref, objects: []client.Object{config("gone", "off"), off},
			status: metav1.ConditionFalse, reason: "NoUsableClusters", message: "Missing clusters: [gone], Inactive clusters: [off]",
		},
		{
			name: "all inactive", ref: ref, objects: []client.Object{config("off"), off},
			status: metav1.ConditionFalse, reason: "NoUsableClusters", message: "Inactive clusters: [off]",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ac := &kueue.AdmissionCheck{
				ObjectMeta: metav1.ObjectMeta{Name: "mk"},
				Spec:       kueue.AdmissionCheckSpec{ControllerName: kueue.MultiKueueControllerName, Parameters: tc.ref},
			}
			c := newBuilder(t, testScheme(t)).WithObjects(append(tc.objects, ac)...).Build()
			r := check.NewReconciler(c)
			request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "mk"}}
			if _, err := r.Reconcile(context.Background(), request); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(context.Background(), request.NamespacedName, ac); err != nil {
				t.Fatal(err)
			}
			got := meta.FindStatusCondition(ac.Status.Conditions, kueue.AdmissionCheckActive)
			if got == nil || got.Status != tc.status || got.Reason != tc.reason || got.Message != tc.message {
				t.Errorf("condition %+v", got)
			}
			version := ac.ResourceVersion
			if _, err := r.Reconcile(context.Background(), request); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(context.Background(), request.NamespacedName, ac); err != nil || ac.ResourceVersion != version {
				t.Errorf("an unchanged condition was written again (%v)", err)
			}
		})
	}
}

func TestACheckOfAnotherControllerIsLeftAlone(t *testing.T) {
	ac := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: kueue.AdmissionCheckSpec{ControllerName: "example.com/other"}}
	c := newBuilder(t, testScheme(t)).WithObjects(ac).Build()
	request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "other"}}
	if _, err := (check.NewReconciler(c)).Reconcile(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(context.Background(), request.NamespacedName, ac); err != nil || len(ac.Status.Conditions) > 0 {
		t.Errorf("conditions %v, error %v", ac.Status.Conditions, err)
	}
}
