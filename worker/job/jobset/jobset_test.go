package jobset_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/job/jobtest"
)

// The examples, by the names that stories call them by.
var (
	sample     = jobset.Examples().Job
	started    = jobset.Examples().Started
	suspending = jobset.Examples().Suspending
)

func TestJobSetIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, jobset.Kind(), jobset.Examples())
}

func TestEveryReplicatedJobIsAPodSet(t *testing.T) {
	sets, err := jobset.Kind().PodSets(sample())
	if err != nil {
		t.Fatal(err)
	}
	got := map[kueue.PodSetReference]int32{}
	for i := range sets {
		got[sets[i].Name] = sets[i].Count
	}
	if diff := cmp.Diff(map[kueue.PodSetReference]int32{"driver": 1, "workers": 6}, got); diff != "" {
		t.Errorf("pod sets differ (-want +got):\n%s", diff)
	}
}

func TestPodsOfSucceededJobsAreReclaimable(t *testing.T) {
	js := sample()
	js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{{Name: "Workers", Succeeded: 1, Active: 1}, {Name: "driver", Active: 1}}
	want := []kueue.ReclaimablePod{{Name: "workers", Count: 3}}
	if diff := cmp.Diff(want, jobset.Kind().Progress(js).Reclaimable); diff != "" {
		t.Errorf("reclaimable pods differ (-want +got):\n%s", diff)
	}
}

func TestJobSetIsReadyWhenEveryReplicaIs(t *testing.T) {
	js := sample()
	js.Spec.Suspend = ptr.To(false)
	js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{{Name: "Workers", Succeeded: 1, Ready: 1}}
	if jobset.Kind().Progress(js).Ready {
		t.Error("ready without its driver")
	}
	js.Status.ReplicatedJobsStatus = append(js.Status.ReplicatedJobsStatus, jobsetv1.ReplicatedJobStatus{Name: "driver", Ready: 1})
	if !jobset.Kind().Progress(js).Ready {
		t.Error("not ready with all replicas")
	}
}

func TestAJobSetThatCannotBeCountedIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		replicas, parallelism int32
		want                  string
	}{
		"the largest count":            {1, math.MaxInt32, ""},
		"one more":                     {2, 1 << 30, "spec.replicatedJobs[1]: Invalid value: 2147483648"},
		"a product that wraps to one":  {65537, 65537, "must be 0 to 2147483647 pods"},
		"a product that wraps to zero": {65536, 65536, "must be 0 to 2147483647 pods"},
	} {
		t.Run(name, func(t *testing.T) {
			js := sample()
			js.Spec.ReplicatedJobs[1].Replicas = row.replicas
			js.Spec.ReplicatedJobs[1].Template.Spec.Parallelism = &row.parallelism
			js.Spec.ReplicatedJobs[1].Template.Spec.Completions = nil
			_, err := jobset.Kind().PodSets(js)
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("the count says %v, want %q", err, row.want)
			}
		})
	}
	js := sample()
	js.Spec.ReplicatedJobs[1].Replicas, *js.Spec.ReplicatedJobs[1].Template.Spec.Completions = 1<<20, 1<<20
	js.Spec.ReplicatedJobs[1].Template.Spec.Parallelism = ptr.To[int32](1 << 20)
	js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{{Name: "Workers", Succeeded: 1 << 20}}
	if free := jobset.Kind().Progress(js).Reclaimable; len(free) != 1 || free[0].Count != math.MaxInt32 {
		t.Errorf("reclaimable are %v", free)
	}
}
