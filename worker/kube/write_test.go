package kube_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// newCountingClient is a fake API server that counts writes.
func newCountingClient(t *testing.T, writes *int, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&kueue.Workload{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				*writes++
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				*writes++
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
}

func getWorkload(t *testing.T, c client.Client, name string) *kueue.Workload {
	t.Helper()
	wl := &kueue.Workload{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, wl); err != nil {
		t.Fatal(err)
	}
	return wl
}

func testWorkload() *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl"}, Spec: kueue.WorkloadSpec{QueueName: "main"}}
}

func TestPatchWritesNothingWhenNothingOutsideTheStatusDiffers(t *testing.T) {
	writes := 0
	c := newCountingClient(t, &writes, testWorkload())
	before := getWorkload(t, c, "wl")
	after := before.DeepCopy()
	after.Status.ClusterName = new(string)
	changed, err := kube.Patch(t.Context(), c, before, after)
	if err != nil || changed || writes != 0 {
		t.Errorf("changed %t, err %v, writes %d; want none", changed, err, writes)
	}
}

func TestPatchWritesOnceAndKeepsTheStatusInMemory(t *testing.T) {
	writes := 0
	c := newCountingClient(t, &writes, testWorkload())
	before := getWorkload(t, c, "wl")
	after := before.DeepCopy()
	after.Spec.QueueName = "other"
	after.Status.NominatedClusterNames = []string{"w1"}
	changed, err := kube.Patch(t.Context(), c, before, after)
	if err != nil || !changed || writes != 1 {
		t.Fatalf("changed %t, err %v, writes %d; want one write", changed, err, writes)
	}
	if diff := cmp.Diff([]string{"w1"}, after.Status.NominatedClusterNames); diff != "" {
		t.Errorf("status in memory: %s", diff)
	}
	if got := getWorkload(t, c, "wl"); got.Spec.QueueName != "other" || got.Status.NominatedClusterNames != nil {
		t.Errorf("stored %q, %v; want the spec alone", got.Spec.QueueName, got.Status.NominatedClusterNames)
	}
}

func TestPatchFailsWithAConflictOnAStaleObject(t *testing.T) {
	writes := 0
	c := newCountingClient(t, &writes, testWorkload())
	before := getWorkload(t, c, "wl")
	other := before.DeepCopy()
	other.Labels = map[string]string{"by": "somebody else"}
	if err := c.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopy()
	after.Spec.QueueName = "other"
	if _, err := kube.Patch(t.Context(), c, before, after); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
}

// The fake API server knows no list types: that the PodsReady condition survives is seen on a real one, in e2e/integration.
func TestApplyAdmissionRemovesWhatItOwnedAndLeavesWhatItNeverOwns(t *testing.T) {
	writes := 0
	c := newCountingClient(t, &writes, testWorkload())
	wl := getWorkload(t, c, "wl")
	wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 1}}
	if err := c.Status().Update(t.Context(), wl, client.FieldOwner("kueue-reclaimable-pods")); err != nil {
		t.Fatal(err)
	}

	wl = getWorkload(t, c, "wl")
	wl.Status.NominatedClusterNames = []string{"w1", "w2"}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "QuotaReserved"})
	if err := kube.ApplyAdmission(t.Context(), c, wl); err != nil {
		t.Fatal(err)
	}
	wl.Status.NominatedClusterNames = nil
	wl.Status.ClusterName = new("w1")
	if err := kube.ApplyAdmission(t.Context(), c, wl); err != nil {
		t.Fatal(err)
	}

	got := getWorkload(t, c, "wl")
	if got.Status.NominatedClusterNames != nil || got.Status.ClusterName == nil || *got.Status.ClusterName != "w1" {
		t.Errorf("nominated %v, cluster %v; want the cluster alone", got.Status.NominatedClusterNames, got.Status.ClusterName)
	}
	if len(got.Status.ReclaimablePods) != 1 {
		t.Errorf("the job's part is gone: %+v", got.Status)
	}
	if !meta.IsStatusConditionTrue(got.Status.Conditions, kueue.WorkloadQuotaReserved) {
		t.Errorf("the reservation is gone: %+v", got.Status.Conditions)
	}
}

func TestThatPodsWereNeverReadyGoesWithTheAdmissionAndAnythingElseOfPodsDoesNot(t *testing.T) {
	for reason, want := range map[kueue.Reason]bool{
		kueue.ReasonWaitForStart: true, kueue.ReasonWaitForRecovery: false, kueue.ReasonStarted: false,
	} {
		writes := 0
		c := newCountingClient(t, &writes, testWorkload())
		wl := getWorkload(t, c, "wl")
		status := metav1.ConditionFalse
		if reason == kueue.ReasonStarted {
			status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadPodsReady, Status: status, Reason: string(reason)})
		wl.Status.ClusterName = new("w1")
		if err := kube.ApplyAdmission(t.Context(), c, wl); err != nil {
			t.Fatal(err)
		}
		if got := meta.FindStatusCondition(getWorkload(t, c, "wl").Status.Conditions, kueue.WorkloadPodsReady) != nil; got != want || writes != 1 {
			t.Errorf("%s: written %v in %d writes", reason, got, writes)
		}
	}
}

func TestApplyAdmissionFailsWithAConflictOnAStaleWorkload(t *testing.T) {
	writes := 0
	c := newCountingClient(t, &writes, testWorkload())
	stale := getWorkload(t, c, "wl")
	other := stale.DeepCopy()
	other.Labels = map[string]string{"by": "somebody else"}
	if err := c.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	stale.Status.NominatedClusterNames = []string{"w1"}
	if err := kube.ApplyAdmission(t.Context(), c, stale); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
}

func TestTruncateCutsAtARune(t *testing.T) {
	for _, c := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"short texts stay", "abc", 3, "abc"},
		{"long texts end in dots", "abcdefgh", 6, "ab ..."},
		{"no rune is split", "a\u00e9defgh", 6, "a ..."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := kube.Truncate(c.text, c.limit); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
