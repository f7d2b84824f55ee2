package configured_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/configured"
)

// samples are the declarations that objects of all sorts are read by.
func samples() []string {
	return []string{"jobset.yaml", "pipelinerun.yaml", "workflow.yaml", "trainingrun.yaml"}
}

// randomValue is a value of JSON. Names are those that declarations read, so that objects are like jobs now and then.
func randomValue(c randfill.Continue, depth int) any {
	names := []string{
		"spec", "status", "metadata", "suspend", "template", "templates", "replicatedJobs", "replicatedJobsStatus", "name", "replicas", "workers", "containers",
		"nodeSelector", "tolerations", "schedulingGates", "labels", "annotations", "conditions", "type", "active", "ready", "succeeded", "managedBy", "parallelism",
	}
	switch kind := c.Intn(8); {
	case kind < 3 && depth > 0:
		m := map[string]any{}
		for range c.Intn(6) {
			m[names[c.Intn(len(names))]] = randomValue(c, depth-1)
		}
		return m
	case kind < 5 && depth > 0:
		list := make([]any, c.Intn(4))
		for i := range list {
			list[i] = randomValue(c, depth-1)
		}
		return list
	}
	return []any{nil, true, int64(c.Uint64()), c.Float64(), names[c.Intn(len(names))], c.String(20), int64(c.Intn(5)), ""}[c.Intn(8)]
}

// randomObject has a spec and a status of all sorts.
func randomObject(c randfill.Continue) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "a/v1", "kind": "A"}}
	for _, key := range []string{"spec", "status", "metadata"} {
		if c.Intn(8) > 0 {
			u.Object[key] = randomValue(c, 8)
		}
	}
	return u
}

func FuzzObjectsOfAllSortsAreReadAndChangedWithoutPanic(f *testing.F) {
	var kinds []job.Kind[*unstructured.Unstructured]
	for _, file := range samples() {
		kinds = append(kinds, compileSample(f, file).Kind())
	}
	f.Add([]byte("a few bytes to begin with, from which objects are made, of all sorts"))
	f.Fuzz(func(t *testing.T, data []byte) {
		filler := randfill.NewFromGoFuzz(data).NilChance(0.2).NumElements(0, 3)
		var j, other *unstructured.Unstructured
		filler.Funcs(func(u **unstructured.Unstructured, c randfill.Continue) { *u = randomObject(c) }).Fill(&j)
		filler.Fill(&other)
		var placed job.Placement
		filler.Fill(&placed.NodeSelector)
		filler.Fill(&placed.Labels)
		for _, kind := range kinds {
			exercise(t, kind, j.DeepCopy(), other.DeepCopy(), placed)
		}
	})
}

// exercise calls every function of the kind, and checks what holds for all objects.
func exercise(t *testing.T, kind job.Kind[*unstructured.Unstructured], j, other *unstructured.Unstructured, placed job.Placement) {
	t.Helper()
	sets, err := kind.PodSets(j)
	for i := range sets {
		if sets[i].Count < 0 {
			t.Fatalf("pod set %d has %d pods", i, sets[i].Count)
		}
	}
	placements := make([]job.Placement, len(sets))
	for i := range placements {
		placements[i] = placed
	}
	if kind.Place(j, placements) == nil && err == nil {
		kind.Restore(j, sets)
		if after, err := kind.PodSets(j); err != nil || !job.SamePodSets(sets, after) {
			t.Fatalf("placed and restored, the job asks for other pods: %v", err)
		}
	}
	kind.Restore(j, []kueue.PodSet{{Name: "main", Template: corev1.PodTemplateSpec{}}})
	kind.Suspended(j)
	kind.SetSuspend(j, false)
	kind.SetSuspend(j, true)
	for _, r := range kind.Progress(j).Reclaimable {
		if r.Count <= 0 {
			t.Fatalf("%d pods are reclaimable", r.Count)
		}
	}
	kind.Priority(j)
	if kind.PodLabels != nil && len(kind.PodLabels(j)) == 0 {
		t.Fatal("the pods of everybody are the job's")
	}
	kind.Webhook.TemplatePath(j, 3)
	if kind.Stop != nil {
		kind.Stop(j, sets)
	}
	if kind.ManagedBy != nil {
		kind.ManagedBy.Set(j, kueue.MultiKueueControllerName)
		kind.ManagedBy.Get(j)
		kind.CopyStatus(j, other)
		if changed, _ := kind.CopyStatus(j, other); changed {
			t.Fatal("a status that was copied is copied again")
		}
		kind.Detach(j)
	}
	_ = j.DeepCopy() // panics if something is in it that is no JSON
}

func FuzzDeclarationsOfAllSortsAreCompiledWithoutPanic(f *testing.F) {
	for _, text := range []string{"object.spec", "spec.template", "{'a': 1", `metadata.labels["x"]`, "1 + ", "true", "[1, 'a']", "spec[0][1].a"} {
		f.Add(text, text, text)
	}
	f.Fuzz(func(t *testing.T, expression, path, value string) {
		spec := sound()
		spec.PodSets[0] = switchyard.JobKindPodSet{Name: value, Count: switchyard.Expression(expression), Template: switchyard.FieldPath(path)}
		spec.Suspend = switchyard.JobKindSuspend{Path: switchyard.FieldPath(path), Value: &apiextensionsv1.JSON{Raw: []byte(value)}}
		spec.Progress.Message, spec.PriorityClass = switchyard.Expression(expression), switchyard.Expression(expression)
		spec.Dispatch = &switchyard.JobKindDispatch{StatusPaths: []switchyard.FieldPath{switchyard.FieldPath(path)}}
		program, errs := configured.Compile(spec)
		if (program == nil) != (len(errs) > 0) {
			t.Fatalf("a program %v with errors %v", program, errs)
		}
		if program != nil {
			exercise(t, program.Kind(), read(t, run), read(t, run), job.Placement{})
		}
	})
}
