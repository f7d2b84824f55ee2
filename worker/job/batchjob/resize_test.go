package batchjob

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestAJobOnAnotherClusterTakesTheSizeOfItsWorkload(t *testing.T) {
	indexed := func(parallelism, completions int32) *batchv1.Job {
		return &batchv1.Job{Spec: batchv1.JobSpec{
			Parallelism: &parallelism, Completions: &completions, CompletionMode: ptr.To(batchv1.IndexedCompletion),
		}}
	}
	plain := func(parallelism int32) *batchv1.Job {
		return &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: &parallelism}}
	}
	limited := func(parallelism, completions int32) *batchv1.Job {
		j := plain(parallelism)
		j.Spec.Completions = &completions
		return j
	}
	for _, c := range []struct {
		name          string
		local, remote *batchv1.Job
		pods          int32
		want          *batchv1.Job
	}{
		{"it shrinks", plain(2), plain(5), 2, plain(2)},
		{"it grows", plain(5), plain(2), 5, plain(5)},
		{"it has the size", plain(5), plain(5), 5, plain(5)},
		{"it does not run ahead of the quota", plain(9), plain(2), 4, plain(4)},
		{"there is work for no more pods", limited(10, 4), limited(10, 4), 4, limited(10, 4)},
		{"none are wanted", plain(0), plain(3), 0, plain(0)},
		{"nothing is said of its size", plain(3), &batchv1.Job{}, 3, plain(3)},
		{"it has as many indexes as pods", indexed(5, 5), indexed(3, 3), 5, indexed(5, 5)},
		{"its indexes wait for quota", indexed(7, 7), indexed(3, 3), 3, indexed(3, 3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := !ptr.Equal(c.remote.Spec.Parallelism, c.want.Spec.Parallelism)
			sets := []kueue.PodSet{{Name: podSetName, Count: c.pods}}
			if got := resize(c.local, c.remote, sets); got != changes {
				t.Errorf("changed %t, want %t", got, changes)
			}
			if !ptr.Equal(c.remote.Spec.Parallelism, c.want.Spec.Parallelism) || !ptr.Equal(c.remote.Spec.Completions, c.want.Spec.Completions) {
				t.Errorf("got %+v, want %+v", c.remote.Spec, c.want.Spec)
			}
			if resize(c.local, c.remote, sets) {
				t.Error("it does not come to rest")
			}
		})
	}
}

func TestAJobIsNotResizedByTheWorkloadOfSomethingElse(t *testing.T) {
	j := &batchv1.Job{}
	if resize(j, j, nil) || resize(j, j, make([]kueue.PodSet, 2)) || j.Spec.Parallelism != nil {
		t.Errorf("resized to %v", j.Spec.Parallelism)
	}
}
