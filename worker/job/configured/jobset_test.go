package configured_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/job/jobtest"
)

// toUnstructured is a JobSet as the API server sends it.
func toUnstructured(tb testing.TB, js *jobsetv1.JobSet) *unstructured.Unstructured {
	tb.Helper()
	js.SetGroupVersionKind(jobset.Kind().GVK)
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(js)
	if err != nil {
		tb.Fatal(err)
	}
	return &unstructured.Unstructured{Object: m}
}

// untyped does to a JobSet without a Go type what the change does to a typed one.
func untyped(tb testing.TB, change func(*jobsetv1.JobSet)) func(*unstructured.Unstructured) {
	tb.Helper()
	return func(u *unstructured.Unstructured) {
		js := &jobsetv1.JobSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, js); err != nil {
			tb.Fatal(err)
		}
		change(js)
		u.Object = toUnstructured(tb, js).Object
	}
}

func jobSetExamples(tb testing.TB) job.Examples[*unstructured.Unstructured] {
	tb.Helper()
	e := jobset.Examples()
	return job.Examples[*unstructured.Unstructured]{
		Job:        func() *unstructured.Unstructured { return toUnstructured(tb, e.Job()) },
		Started:    untyped(tb, e.Started),
		Suspending: untyped(tb, e.Suspending),
		Succeeded:  untyped(tb, e.Succeeded),
		Failed:     untyped(tb, e.Failed),
	}
}

func TestADeclaredJobSetIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, compileSample(t, "jobset.yaml").Kind(), jobSetExamples(t))
}

func TestADeclaredJobSetSaysWhatTheBuiltInKindSays(t *testing.T) {
	declared, builtIn, e := compileSample(t, "jobset.yaml").Kind(), jobset.Kind(), jobset.Examples()
	for name, change := range map[string]func(*jobsetv1.JobSet){
		"a new one": func(*jobsetv1.JobSet) {}, "one whose pods are ready": e.Started, "one that is being suspended": e.Suspending,
		"one that has succeeded": e.Succeeded, "one that has failed": e.Failed,
		"one that runs": func(js *jobsetv1.JobSet) { e.Started(js); builtIn.SetSuspend(js, false) },
		"one half of which has succeeded": func(js *jobsetv1.JobSet) {
			e.Started(js)
			js.Status.ReplicatedJobsStatus[1].Succeeded = 1
			js.Status.ReplicatedJobsStatus[1].Ready = 0
		},
		"one with fewer completions than parallelism": func(js *jobsetv1.JobSet) {
			*js.Spec.ReplicatedJobs[1].Template.Spec.Completions = 2
		},
		"one without pods": func(js *jobsetv1.JobSet) { js.Spec.ReplicatedJobs = nil },
	} {
		t.Run(name, func(t *testing.T) {
			js := e.Job()
			change(js)
			want, err := builtIn.PodSets(js)
			if err != nil {
				t.Fatal(err)
			}
			got, err := declared.PodSets(toUnstructured(t, js))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("pod sets differ (-built in +declared), error %v:\n%s", err, diff)
			}
			if diff := cmp.Diff(builtIn.Progress(js), declared.Progress(toUnstructured(t, js))); diff != "" {
				t.Errorf("progress differs (-built in +declared):\n%s", diff)
			}
		})
	}
}
