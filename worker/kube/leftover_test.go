package kube

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func testCondition(name string) metav1.Condition {
	return metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Unix(0, 0)}
}

func TestWhatOthersOwnGoesWhenItIsNotWantedAnyMore(t *testing.T) {
	at := metav1.Unix(0, 0)
	check := func(name string) kueue.AdmissionCheckState {
		return kueue.AdmissionCheckState{Name: kueue.AdmissionCheckReference(name), State: kueue.CheckStateReady, LastTransitionTime: at}
	}
	answer := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl"}, Status: kueue.WorkloadStatus{
		Conditions:            []metav1.Condition{testCondition("DeactivationTarget"), testCondition("PodsReady"), testCondition("Evicted")},
		AdmissionChecks:       []kueue.AdmissionCheckState{check("old"), check("new")},
		Admission:             &kueue.Admission{ClusterQueue: "cq"},
		ReclaimablePods:       []kueue.ReclaimablePod{{Name: "main", Count: 1}},
		RequeueState:          &kueue.RequeueState{Count: ptr.To[int32](1)},
		NominatedClusterNames: []string{"w1"},
		UnhealthyNodes:        []kueue.UnhealthyNode{{Name: "n"}},
	}}
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(answer).WithStatusSubresource(answer).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(answer), answer); err != nil {
		t.Fatal(err)
	}
	wanted := &kueue.WorkloadStatus{
		Conditions: []metav1.Condition{testCondition("Evicted")}, AdmissionChecks: []kueue.AdmissionCheckState{check("new")},
	}
	if err := withdrawLeftovers(t.Context(), c, answer, wanted); err != nil {
		t.Fatal(err)
	}
	stored := &kueue.Workload{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(answer), stored); err != nil {
		t.Fatal(err)
	}
	want := kueue.WorkloadStatus{
		Conditions:      []metav1.Condition{testCondition("PodsReady"), testCondition("Evicted")},
		AdmissionChecks: []kueue.AdmissionCheckState{check("new")},
		ReclaimablePods: []kueue.ReclaimablePod{{Name: "main", Count: 1}},
	}
	for name, got := range map[string]*kueue.Workload{"answer": answer, "stored": stored} {
		if diff := cmp.Diff(want, got.Status); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	version := stored.ResourceVersion
	if err := withdrawLeftovers(t.Context(), c, answer, wanted); err != nil || answer.ResourceVersion != version {
		t.Errorf("a second time: version %s after %s, error %v", answer.ResourceVersion, version, err)
	}
}

func TestAnApplyThatLeavesHalfAnEntryIsWrittenAsAWhole(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl"}, Status: kueue.WorkloadStatus{
		AdmissionChecks: []kueue.AdmissionCheckState{{Name: "old", State: kueue.CheckStateReady, LastTransitionTime: metav1.Unix(0, 0)}},
		Conditions:      []metav1.Condition{testCondition("PodsReady")},
		ReclaimablePods: []kueue.ReclaimablePod{{Name: "main", Count: 1}},
	}}
	refuse := func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		if p.Type() == types.ApplyPatchType {
			return apierrors.NewInvalid(kueue.Kind("Workload"), "wl", nil)
		}
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(wl).WithStatusSubresource(wl).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: refuse}).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(wl), wl); err != nil {
		t.Fatal(err)
	}
	stale := wl.DeepCopy()
	wl.Status.AdmissionChecks = nil
	wl.Status.Conditions = append(wl.Status.Conditions, testCondition("Admitted"))
	if err := ApplyAdmission(t.Context(), c, wl); err != nil {
		t.Fatal(err)
	}
	want := kueue.WorkloadStatus{
		Conditions: []metav1.Condition{testCondition("PodsReady"), testCondition("Admitted")}, ReclaimablePods: []kueue.ReclaimablePod{{Name: "main", Count: 1}},
	}
	if diff := cmp.Diff(want, wl.Status); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := ApplyAdmission(t.Context(), c, stale); !apierrors.IsConflict(err) {
		t.Errorf("on an old version: %v", err)
	}
}

func TestTheAdmissionPartIsAllOfTheStatusButReclaimablePods(t *testing.T) {
	var names []string
	status := reflect.TypeFor[kueue.WorkloadStatus]()
	for i := range status.NumField() {
		name, _, _ := strings.Cut(status.Field(i).Tag.Get("json"), ",")
		if name != "reclaimablePods" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, admissionFields()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
