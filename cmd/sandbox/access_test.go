package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	"switchyard.dev/config/samples"
	"switchyard.dev/worker/job/all"
)

func TestTheSampleGrantsAHubExactlyWhatItNeedsOnAWorker(t *testing.T) {
	objects, err := samples.Objects("workers/access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var jobs, followed []workeraccess.JobResource
	for _, kind := range append(all.Kinds(), all.Mirrored()...) {
		resource, _ := meta.UnsafeGuessKindToResource(kind.GVK())
		if kind.Mirrorable() {
			jobs = append(jobs, resource.GroupResource())
		}
		if kind.FollowsSpec() {
			followed = append(followed, resource.GroupResource())
		}
	}
	want := append(workeraccess.WorkerRules(jobs...), workeraccess.FollowRules(followed...)...)
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
