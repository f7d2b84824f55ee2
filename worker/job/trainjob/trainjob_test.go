package trainjob_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/trainjob"
)

func TestTrainJobIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, trainjob.Kind(), trainjob.Examples())
}

func text(t *testing.T, tj *unstructured.Unstructured, path ...string) string {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(tj.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := (&unstructured.Unstructured{Object: map[string]any{"kind": "x", "value": value}}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(raw), `{"kind":"x","value":`), "}\n")
}

const emptyEntry = `{"manager":"kueue.x-k8s.io/manager","trainingRuntimeSpec":{"template":{"spec":{}}}}`

func TestTheWebhookAddsTheEntryWhateverIsThere(t *testing.T) {
	for name, row := range map[string]struct{ before, want string }{
		"nothing":               {`{}`, `[` + emptyEntry + `]`},
		"another manager's":     {`{"runtimePatches": [{"manager": "a.com/a"}]}`, `[{"manager":"a.com/a"},` + emptyEntry + `]`},
		"one that a user wrote": {`{"runtimePatches": [` + emptyEntry + `]}`, `[` + emptyEntry + `,` + emptyEntry + `]`},
	} {
		tj := object("TrainJob", row.before)
		trainjob.Kind().Webhook.Default(tj, job.DefaultGates())
		if diff := cmp.Diff(row.want, text(t, tj, "spec", "runtimePatches")); diff != "" {
			t.Errorf("%s: patches differ (-want +got):\n%s", name, diff)
		}
	}
}

func TestOnlyWhatIsPlacedIsInTheEntry(t *testing.T) {
	tj := object("TrainJob", `{"runtimePatches": [{"manager": "kueue.x-k8s.io/manager", "time": "2026-01-01T00:00:00Z", "trainingRuntimeSpec": {"template": {"spec": {}}}}]}`)
	err := trainjob.Kind().Place(tj, []job.Placement{
		{Name: "node", NodeSelector: map[string]string{"gpu": "h100"}, Labels: map[string]string{"l": "1"}, Tolerations: []corev1.Toleration{{Key: "k", TolerationSeconds: ptr.To[int64](5)}}},
		{Name: "ps", SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}, Annotations: map[string]string{"a": "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"manager":"kueue.x-k8s.io/manager","time":"2026-01-01T00:00:00Z","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[` +
		`{"name":"node","template":{"spec":{"template":{"metadata":{"labels":{"l":"1"}},"spec":{"nodeSelector":{"gpu":"h100"},"tolerations":[{"key":"k","tolerationSeconds":5}]}}}}},` +
		`{"name":"ps","template":{"spec":{"template":{"metadata":{"annotations":{"a":"1"}},"spec":{"schedulingGates":[{"name":"g"}]}}}}}]}}}}]`
	if diff := cmp.Diff(want, text(t, tj, "spec", "runtimePatches")); diff != "" {
		t.Errorf("patches differ (-want +got):\n%s", diff)
	}
}

func TestATrainJobFromBeforeTheWebhookGetsItsEntryWithItsPlacement(t *testing.T) {
	tj := object("TrainJob", `{}`)
	if err := trainjob.Kind().Place(tj, []job.Placement{{Name: "node", NodeSelector: map[string]string{"gpu": "h100"}}}); err != nil {
		t.Fatal(err)
	}
	trainjob.Kind().Restore(tj, nil)
	if diff := cmp.Diff(`[`+emptyEntry+`]`, text(t, tj, "spec", "runtimePatches")); diff != "" {
		t.Errorf("patches differ (-want +got):\n%s", diff)
	}
}

func TestAStopTakesOutWhatWasPlacedOnceTheJobsAreGone(t *testing.T) {
	kind, examples := trainjob.Kind(), trainjob.Examples()
	tj := examples.Job()
	if err := kind.Place(tj, []job.Placement{{Name: "node", NodeSelector: map[string]string{"gpu": "h100"}}}); err != nil {
		t.Fatal(err)
	}
	kind.SetSuspend(tj, false)
	examples.Started(tj)
	var steps []job.StopStep
	for range 2 {
		steps = append(steps, kind.Stop(tj, nil))
	}
	examples.Suspending(tj)
	for range 2 {
		steps = append(steps, kind.Stop(tj, nil))
	}
	if diff := cmp.Diff([]job.StopStep{job.StopSpec, job.StopWait, job.StopSpec, job.StopDone}, steps); diff != "" {
		t.Errorf("steps differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(text(t, examples.Job(), "spec"), text(t, tj, "spec")); diff != "" {
		t.Errorf("the spec differs (-want +got):\n%s", diff)
	}
}

func TestARemoteCopyHasNeitherEntryNorTimes(t *testing.T) {
	tj := object("TrainJob", `{"runtimePatches": [{"manager": "a.com/a", "time": "2026-01-01T00:00:00Z"}, `+emptyEntry+`]}`)
	trainjob.Kind().Detach(tj)
	if diff := cmp.Diff(`[{"manager":"a.com/a"}]`, text(t, tj, "spec", "runtimePatches")); diff != "" {
		t.Errorf("patches differ (-want +got):\n%s", diff)
	}
	alone := object("TrainJob", `{"runtimePatches": [`+emptyEntry+`]}`)
	trainjob.Kind().Detach(alone)
	if diff := cmp.Diff(`{}`, text(t, alone, "spec")); diff != "" {
		t.Errorf("the spec differs (-want +got):\n%s", diff)
	}
}

// withStatus is the example with a status of jobs.
func withStatus(t *testing.T, jobs string) *unstructured.Unstructured {
	t.Helper()
	tj := trainjob.Examples().Job()
	trainjob.Kind().SetSuspend(tj, false)
	tj.Object["status"] = object("x", `{"jobsStatus": `+jobs+`}`).Object["spec"]
	return tj
}

func TestReadyAndReclaimableAreComparedWithTheRuntime(t *testing.T) {
	runtime := runtimeOf(``, step("node", "trainer", "", ""), step("ps", "", `"replicas": 3,`, `"parallelism": 2,`))
	kind := trainjob.Kind()
	for name, row := range map[string]struct {
		jobs  string
		ready bool
		free  []kueue.ReclaimablePod
	}{
		"all ready":    {`[{"name": "node", "ready": 1}, {"name": "ps", "ready": 3}]`, true, nil},
		"one missing":  {`[{"name": "node", "ready": 1}, {"name": "ps", "ready": 2}]`, false, nil},
		"some ended":   {`[{"name": "node", "ready": 1}, {"name": "ps", "ready": 1, "succeeded": 2}]`, true, []kueue.ReclaimablePod{{Name: "ps", Count: 4}}},
		"too many":     {`[{"name": "node", "succeeded": 2147483647, "ready": 2147483647}]`, true, []kueue.ReclaimablePod{{Name: "node", Count: 4}}},
		"less than no": {`[{"name": "node", "succeeded": -2147483648, "ready": -1}]`, false, nil},
		"of no job":    {`[{"name": "other", "succeeded": 1}]`, false, nil},
		"nothing":      {`[]`, false, nil},
		"something":    {`7`, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := kind.ProgressOf(withStatus(t, row.jobs), []client.Object{runtime})
			if p.Ready != row.ready || cmp.Diff(row.free, p.Reclaimable) != "" {
				t.Errorf("progress is %+v", p)
			}
		})
	}
}

func TestWithoutItsRuntimeATrainJobIsReadyWhenEachOfItsJobsHasOneThatIs(t *testing.T) {
	kind := trainjob.Kind()
	for jobs, want := range map[string]bool{`[{"name": "a", "ready": 1}, {"name": "b"}]`: false, `[{"name": "a", "ready": 1}]`: true} {
		if p := kind.ProgressOf(withStatus(t, jobs), []client.Object{nil}); p.Ready != want {
			t.Errorf("%s: ready %v", jobs, p.Ready)
		}
	}
}

func TestTheJobSetIsReadOnlyOfATrainJobThatIsAboutToStartHere(t *testing.T) {
	kind := trainjob.Kind()
	for name, row := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   int
	}{
		"suspended":    {func(*unstructured.Unstructured) {}, 2},
		"its trainer":  {func(tj *unstructured.Unstructured) { kind.ManagedBy.Set(tj, kind.ManagedBy.Default) }, 2},
		"runs":         {func(tj *unstructured.Unstructured) { kind.SetSuspend(tj, false) }, 1},
		"is elsewhere": {func(tj *unstructured.Unstructured) { kind.ManagedBy.Set(tj, kueue.MultiKueueControllerName) }, 1},
	} {
		tj := trainjob.Examples().Job()
		row.change(tj)
		named, err := kind.Inputs.Of(tj)
		if err != nil || len(named) != row.want {
			t.Errorf("%s: %d inputs, %v", name, len(named), err)
		}
	}
}

func TestANamespacedRuntimeIsOfTheJobsNamespace(t *testing.T) {
	for kind, want := range map[string]string{"TrainingRuntime": "team", "ClusterTrainingRuntime": ""} {
		named, err := trainjob.Kind().Inputs.Of(object("TrainJob", `{"runtimeRef": {"name": "r", "kind": "`+kind+`"}}`))
		if err != nil || named[0].GetNamespace() != want || named[0].GetName() != "r" || named[0].GetObjectKind().GroupVersionKind().Kind != kind {
			t.Errorf("%s: %v, %v", kind, named, err)
		}
	}
}

// made is the JobSet that the trainer makes of the example.
func made(t *testing.T) *jobsetv1.JobSet {
	t.Helper()
	tj := trainjob.Examples().Job()
	kind := trainjob.Kind()
	sets, err := kind.PodSetsOf(tj, trainjob.Examples().Inputs())
	if err != nil {
		t.Fatal(err)
	}
	js := &jobsetv1.JobSet{ObjectMeta: metav1.ObjectMeta{Name: tj.GetName(), Namespace: tj.GetNamespace()}}
	js.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(tj, kind.GVK)}
	for i := range sets {
		r := jobsetv1.ReplicatedJob{Name: string(sets[i].Name), Replicas: 1}
		r.Template.Spec.Parallelism, r.Template.Spec.Completions = &sets[i].Count, &sets[i].Count
		r.Template.Spec.Template = sets[i].Template
		js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, r)
	}
	return js
}

// A JobSet that asks for more than the runtime says is neither the TrainJob's child, nor can the TrainJob be admitted with it.
func TestOnlyTheJobSetThatTheRuntimeSaysIsCovered(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*jobsetv1.JobSet)
		want   bool
	}{
		"as it was made": {func(*jobsetv1.JobSet) {}, true},
		"placed": {func(js *jobsetv1.JobSet) {
			js.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.NodeSelector["gpu"] = "h100"
		}, true},
		"one job fewer": {func(js *jobsetv1.JobSet) { js.Spec.ReplicatedJobs = js.Spec.ReplicatedJobs[1:] }, true},
		"one job more": {func(js *jobsetv1.JobSet) {
			js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, jobsetv1.ReplicatedJob{Name: "more", Replicas: 1})
		}, false},
		"more replicas": {func(js *jobsetv1.JobSet) { js.Spec.ReplicatedJobs[1].Replicas = 2 }, false},
		"more pods": {func(js *jobsetv1.JobSet) {
			js.Spec.ReplicatedJobs[1].Template.Spec.Parallelism, js.Spec.ReplicatedJobs[1].Template.Spec.Completions = ptr.To[int32](5), nil
		}, false},
		"greater pods": {func(js *jobsetv1.JobSet) {
			js.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("3")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			kind := trainjob.Kind()
			js := made(t)
			row.change(js)
			inputs := trainjob.Examples().Inputs()
			if got := kind.Inputs.Covers(trainjob.Examples().Job(), inputs, js); got != row.want {
				t.Errorf("covered: %v, want %v", got, row.want)
			}
			_, err := kind.PodSetsOf(trainjob.Examples().Job(), append(inputs, js))
			if (err == nil) != row.want {
				t.Errorf("pod sets: %v", err)
			}
			js.OwnerReferences = nil // somebody else's of that name
			if _, err := kind.PodSetsOf(trainjob.Examples().Job(), append(inputs, js)); err != nil {
				t.Errorf("pod sets beside another JobSet: %v", err)
			}
		})
	}
}

func TestOtherObjectsAreNotCovered(t *testing.T) {
	kind, examples := trainjob.Kind(), trainjob.Examples()
	other := made(t)
	other.Name = "other"
	for name, child := range map[string]client.Object{"a JobSet of another name": other, "a TrainJob": examples.Job()} {
		if kind.Inputs.Covers(examples.Job(), examples.Inputs(), child) {
			t.Errorf("%s is covered", name)
		}
	}
	if kind.Inputs.Covers(examples.Job(), []client.Object{nil}, made(t)) {
		t.Error("a JobSet without runtime is covered")
	}
}

func TestWhatIsWrongWithATemplateIsSaidWithAdvice(t *testing.T) {
	rules := trainjob.Kind().Webhook
	if got := rules.PodSetPath("node").Child("annotations").String(); got != "job[node].annotations" {
		t.Errorf("the path is %s", got)
	}
	const want = `. Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template" annotations for the corresponding Job`
	if rules.TemplateAdvice != want {
		t.Errorf("the advice is %q", rules.TemplateAdvice)
	}
}

func TestTheTrainerHasSeenAResumedTrainJobOnceItSaysSo(t *testing.T) {
	kind, examples := trainjob.Kind(), trainjob.Examples()
	tj := examples.Job()
	examples.Suspending(tj)
	if !kind.ControllerObserved(tj) {
		t.Error("a suspended TrainJob is not observed")
	}
	kind.SetSuspend(tj, false)
	if kind.ControllerObserved(tj) {
		t.Error("a TrainJob whose status has it suspended is observed as one that runs")
	}
}

// FuzzTrainJobsOfEnemies looks for a TrainJob or a runtime that makes a function panic.
func FuzzTrainJobsOfEnemies(f *testing.F) {
	f.Add([]byte("seed"), `{"runtimeRef": {"name": "r"}, "trainer": {"numNodes": -3}, "runtimePatches": [null, 7, {"manager": "kueue.x-k8s.io/manager"}]}`,
		`{"mlPolicy": {"mpi": {"runLauncherAsNode": true}}}`, `{"jobsStatus": [{"active": 3}]}`)
	f.Add([]byte("grain"), `{"runtimePatches": [{"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": null}]}}}}]}`,
		`{"mlPolicy": {"flux": {}}, "template": {"spec": {"replicatedJobs": [{"name": "node"}, {}]}}}`, `{"conditions": [{}]}`)
	f.Add([]byte("corn"), `[]`, `{"mlPolicy": {"torch": {"envInjection": {"targets": [{}]}}}, "template": null}`, `[]`)
	f.Fuzz(func(t *testing.T, seed []byte, spec, runtimeSpec, status string) {
		kind := trainjob.Kind()
		tj, runtime := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if tj.UnmarshalJSON([]byte(`{"kind": "TrainJob", "spec": `+spec+`, "status": `+status+`}`)) != nil ||
			runtime.UnmarshalJSON([]byte(`{"kind": "TrainingRuntime", "spec": `+runtimeSpec+`}`)) != nil {
			return
		}
		var js jobsetv1.JobSet
		randfill.NewFromGoFuzz(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(14).
			Funcs(func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString("{}") }).Fill(&js)
		_, _ = kind.Inputs.Of(tj)
		sets, _ := kind.PodSetsOf(tj, []client.Object{runtime, &js})
		random, err := json.Marshal(map[string]any{"kind": "TrainingRuntime", "spec": map[string]any{"template": map[string]any{"spec": js.Spec}}})
		if err != nil {
			t.Fatal(err)
		}
		randomRuntime := &unstructured.Unstructured{}
		if err := randomRuntime.UnmarshalJSON(random); err != nil {
			t.Fatal(err)
		}
		_, _ = kind.PodSetsOf(tj, []client.Object{randomRuntime})
		placements := make([]job.Placement, len(sets))
		for i := range sets {
			if sets[i].Count < 0 {
				t.Errorf("%d pods", sets[i].Count)
			}
			placements[i] = job.Placement{Name: sets[i].Name, NodeSelector: map[string]string{"a": "b"}}
		}
		_ = kind.Place(tj, placements)
		kind.ProgressOf(tj, []client.Object{runtime})
		kind.Inputs.Covers(tj, []client.Object{runtime}, &js)
		kind.ControllerObserved(tj)
		kind.LastControllerUpdate(tj)
		other := tj.DeepCopy()
		for range 3 {
			kind.Stop(tj, sets)
		}
		kind.Restore(tj, sets)
		kind.CopyStatus(other, tj)
		kind.Webhook.Default(tj, job.DefaultGates())
		kind.Detach(tj)
		kind.Strip(tj)
	})
}
