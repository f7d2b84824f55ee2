package queue

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func clusterQueueWithChecks(checks ...string) *kueue.ClusterQueue {
	q := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
	if len(checks) > 0 {
		q.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{}
	}
	for _, name := range checks {
		rule := kueue.AdmissionCheckStrategyRule{Name: kueue.AdmissionCheckReference(name)}
		q.Spec.AdmissionChecksStrategy.AdmissionChecks = append(q.Spec.AdmissionChecksStrategy.AdmissionChecks, rule)
	}
	return q
}

func newFakeClient(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).
		WithIndex(&kueue.ClusterQueue{}, checkNameIndex, checkNames).Build()
}

func TestACheckStaysAsLongAsAQueueAsksForIt(t *testing.T) {
	now := metav1.Now()
	for _, c := range []struct {
		name     string
		guarded  bool
		deleting bool
		queue    *kueue.ClusterQueue
		want     string
	}{
		{"a new check is guarded though nobody asks for it yet", false, false, clusterQueueWithChecks(), "guarded"},
		{"a check that a queue asks for survives its deletion", true, true, clusterQueueWithChecks("other", "check"), "guarded"},
		{"a check that nobody asks for goes", true, true, clusterQueueWithChecks("other"), "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "check"}}
			if c.guarded {
				check.Finalizers = []string{kueue.ResourceInUseFinalizer}
			}
			if c.deleting {
				check.DeletionTimestamp = &now
			}
			r := &AdmissionCheckReconciler{Client: newFakeClient(t, interceptor.Funcs{}, check, c.queue)}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "check"}}); err != nil {
				t.Fatal(err)
			}
			got := "gone"
			switch err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(check), check); {
			case err == nil && controllerutil.ContainsFinalizer(check, kueue.ResourceInUseFinalizer):
				got = "guarded"
			case err == nil:
				got = "unguarded"
			}
			if got != c.want {
				t.Errorf("the check is %s, want %s", got, c.want)
			}
		})
	}
}

func TestAConflictingWriteIsRetried(t *testing.T) {
	conflict := apierrors.NewConflict(kueue.Resource("admissionchecks"), "check", nil)
	refuse := func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return conflict
	}
	check := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "check"}}
	r := &AdmissionCheckReconciler{Client: newFakeClient(t, interceptor.Funcs{Patch: refuse}, check)}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "check"}})
	if err != nil || result.RequeueAfter != conflictDelay {
		t.Errorf("result %+v, error %v", result, err)
	}
}
