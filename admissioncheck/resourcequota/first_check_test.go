package resourcequota

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func newCheck(controller string) *kueue.AdmissionCheck {
	check := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "check"}}
	check.Spec.ControllerName = controller
	return check
}

func isClosed(seen <-chan struct{}) bool {
	select {
	case <-seen:
		return true
	default:
		return false
	}
}

func TestNothingBeginsBeforeThereIsACheckOfOurs(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	informers := &informertest.FakeInformers{Scheme: scheme}
	seen, err := watchFirstCheck(t.Context(), informers)
	if err != nil {
		t.Fatal(err)
	}
	informer, err := informers.FakeInformerFor(t.Context(), &kueue.AdmissionCheck{})
	if err != nil {
		t.Fatal(err)
	}
	informer.Add(newCheck(kueue.MultiKueueControllerName))
	informer.Update(newCheck(kueue.MultiKueueControllerName), newCheck(kueue.ProvisioningRequestControllerName))
	if isClosed(seen) {
		t.Fatal("somebody else's check makes it begin")
	}
	informer.Add(newCheck(ControllerName))
	if !isClosed(seen) {
		t.Fatal("a check of ours does not make it begin")
	}
	informer.Add(newCheck(ControllerName)) // closing twice would panic
}

func TestItBeginsOnceACheckIsSeenAndNotAfterTheEnd(t *testing.T) {
	failed := errors.New("no")
	began := 0
	begin := func(context.Context) error { began++; return failed }
	seen := make(chan struct{})
	ended, end := context.WithCancel(t.Context())
	end()
	if err := runWhenClosed(ended, seen, begin); err != nil || began != 0 {
		t.Errorf("after the end: %v, began %d times", err, began)
	}
	close(seen)
	if err := runWhenClosed(t.Context(), seen, begin); !errors.Is(err, failed) || began != 1 {
		t.Errorf("when seen: %v, began %d times", err, began)
	}
}
