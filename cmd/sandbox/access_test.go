package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	"switchyard.dev/config/samples"
)

func TestTheSampleGrantsAHubExactlyWhatItNeedsOnAWorker(t *testing.T) {
	objects, err := samples.Objects("workers/access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := workeraccess.WorkerRules(
		workeraccess.JobResource{Group: "batch", Resource: "jobs"},
		workeraccess.JobResource{Group: "jobset.x-k8s.io", Resource: "jobsets"},
	)
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, role.Rules); diff != "" {
			t.Error(diff)
		}
		return
	}
	t.Error("no ClusterRole in workers/access.yaml")
}
