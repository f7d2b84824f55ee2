package jobset_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/job/jobtest"
)

// sample is a JobSet of one driver and two workers of three pods each.
func sample() *jobsetv1.JobSet {
	return &jobsetv1.JobSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: "train", Namespace: "team", UID: "u-1", ResourceVersion: "5", Generation: 2,
			Labels: map[string]string{kueue.QueueNameLabel: "main"}, Annotations: map[string]string{"note": "mine"},
		},
		Spec: jobsetv1.JobSetSpec{
			Suspend:        ptr.To(true),
			ReplicatedJobs: []jobsetv1.ReplicatedJob{replicated("driver", 1, 1), replicated("Workers", 2, 3)},
		},
	}
}

func replicated(name string, replicas, parallelism int32) jobsetv1.ReplicatedJob {
	return jobsetv1.ReplicatedJob{Name: name, Replicas: replicas, Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
		Parallelism: &parallelism, Completions: ptr.To(parallelism + 1),
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: map[string]string{"scrape": "yes"}},
			Spec: corev1.PodSpec{
				Containers:   []corev1.Container{{Name: "main", Image: name + ":1"}},
				NodeSelector: map[string]string{"arch": "arm64"},
				Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
			},
		},
	}}}
}

func started(js *jobsetv1.JobSet) {
	js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{
		{Name: "driver", Ready: 1, Active: 1}, {Name: "Workers", Ready: 2, Active: 2},
	}
}

func suspending(js *jobsetv1.JobSet) {
	js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{{Name: "driver", Suspended: 1}, {Name: "Workers", Suspended: 2}}
}

func ended(condition jobsetv1.JobSetConditionType) func(*jobsetv1.JobSet) {
	return func(js *jobsetv1.JobSet) {
		js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{{Name: "driver", Succeeded: 1}, {Name: "Workers", Succeeded: 2}}
		js.Status.Conditions = []metav1.Condition{{Type: string(condition), Status: metav1.ConditionTrue, Message: "it is over"}}
	}
}

func TestJobSetIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, jobset.Kind(), jobtest.Fixtures[*jobsetv1.JobSet]{
		Job: sample, Started: started, Suspending: suspending,
		Succeeded: ended(jobsetv1.JobSetCompleted), Failed: ended(jobsetv1.JobSetFailed),
	})
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
		"a product that wraps to one":  {65537, 65537, "lower replicas, or parallelism"},
		"a product that wraps to zero": {65536, 65536, "lower replicas, or parallelism"},
	} {
		t.Run(name, func(t *testing.T) {
			js := sample()
			js.Spec.ReplicatedJobs[1].Replicas = row.replicas
			js.Spec.ReplicatedJobs[1].Template.Spec.Parallelism = &row.parallelism
			js.Spec.ReplicatedJobs[1].Template.Spec.Completions = nil
			refused := jobset.Kind().Validate(nil, js).ToAggregate()
			_, err := jobset.Kind().PodSets(js)
			for what, err := range map[string]error{"the webhook": refused, "the count": err} {
				if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
					t.Errorf("%s says %v, want %q", what, err, row.want)
				}
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
