package main

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
)

func TestTheRequestsAreMixed(t *testing.T) {
	all := requests()
	seen := map[string]int{}
	names := map[string]bool{}
	for _, r := range all {
		names[r.title()] = true
		seen[r.Namespace]++
		seen[r.Priority]++
		seen[r.kind()]++
		seen[r.describeRequest()[4:]]++
	}
	if len(all) != 30 || len(names) != len(all) {
		t.Errorf("%d requests with %d names; want 30 different ones", len(all), len(names))
	}
	for _, each := range []string{"vision", "language", "urgent", "normal", "background", "Job", "JobSet", "H100", "A100", "L4", "any"} {
		if seen[each] < 3 {
			t.Errorf("%d requests are for %s; want at least 3", seen[each], each)
		}
	}
}

func TestAJobIsTheSampleWithTheRequestsNumbers(t *testing.T) {
	r := requests()[0]
	object, err := r.buildObject()
	if err != nil {
		t.Fatal(err)
	}
	job, ok := object.(*batchv1.Job)
	if !ok {
		t.Fatalf("the first request is a %T; want a Job", object)
	}
	gpus := job.Spec.Template.Spec.Containers[0].Resources.Limits[clusters.GPUResource]
	if job.Labels[kueue.QueueNameLabel] != "train" || job.Labels[kueue.PriorityClassLabel] != r.Priority ||
		*job.Spec.Parallelism != 2 || gpus.Value() != 2 || job.Spec.Template.Spec.NodeSelector[clusters.GPUClassLabel] != "H100" ||
		job.Spec.Template.Annotations[clusters.RunForAnnotation] != "3s" {
		t.Errorf("job %+v does not match %+v", job, r)
	}
}

func TestAJobSetsDriverNeedsNoGPU(t *testing.T) {
	r := requests()[1]
	object, err := r.buildObject()
	if err != nil {
		t.Fatal(err)
	}
	set, ok := object.(*jobset.JobSet)
	if !ok {
		t.Fatalf("the second request is a %T; want a JobSet", object)
	}
	for _, part := range set.Spec.ReplicatedJobs {
		gpus := part.Template.Spec.Template.Spec.Containers[0].Resources.Limits[clusters.GPUResource]
		want, pods := int64(r.GPUs), int32(r.Pods)
		if part.Name == "driver" {
			want, pods = 0, 1
		}
		if gpus.Value() != want || *part.Template.Spec.Parallelism != pods {
			t.Errorf("%s: %d pods of %d GPUs; want %d of %d", part.Name, *part.Template.Spec.Parallelism, gpus.Value(), pods, want)
		}
	}
}
