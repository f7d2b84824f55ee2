package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube/polltest"
)

const origin = "hub"

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func newBuilder(t *testing.T, scheme *runtime.Scheme) *fake.ClientBuilder {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).
		WithStatusSubresource(&kueue.Workload{}, &kueue.MultiKueueCluster{})
}

// workloadKinds is what the fleet watches: Workloads, by their own names.
func workloadKinds() []fleet.WatchedKind {
	return []fleet.WatchedKind{{
		Required: true,
		GVK:      kueue.GroupVersion.WithKind("Workload"), New: func() client.Object { return &kueue.Workload{} },
		NewList:     func() client.ObjectList { return &kueue.WorkloadList{} },
		WorkloadKey: func(obj client.Object) (client.ObjectKey, bool) { return client.ObjectKeyFromObject(obj), true },
	}}
}

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !polltest.Holds(t, condition) {
		t.Fatalf("never: %s", what)
	}
}
