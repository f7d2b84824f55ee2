package appwrapper_test

import (
	"testing"

	awv1 "github.com/project-codeflare/appwrapper/api/v1beta2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job/appwrapper"
)

// trainJob is what the AppWrapper's controller makes of the example's first component.
func trainJob() *batchv1.Job {
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: "the-Job", Namespace: "team", Labels: map[string]string{awv1.AppWrapperLabel: "both"}},
		Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](3), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"arch": "arm64", "zone": "a"},
			Containers: []corev1.Container{{Name: "main", Image: "train:1", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("2")},
			}}},
		}}},
	}
}

func TestOnlyWhatAComponentCouldBeIsCovered(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*batchv1.Job)
		want   bool
	}{
		"the component":                 {func(*batchv1.Job) {}, true},
		"a queue of its own":            {func(j *batchv1.Job) { j.Labels["kueue.x-k8s.io/queue-name"] = "other" }, true},
		"fewer pods":                    {func(j *batchv1.Job) { j.Spec.Completions = ptr.To[int32](1) }, true},
		"another name":                  {func(j *batchv1.Job) { j.Name = "more" }, false},
		"the name of another component": {func(j *batchv1.Job) { j.Name = "the-Service" }, false},
		"another version":               {func(j *batchv1.Job) { j.APIVersion = "batch/v2" }, false},
		"more pods":                     {func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](4) }, false},
		"a negative number of pods":     {func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](-4) }, false},
		"greater pods": {func(j *batchv1.Job) {
			j.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2500m")
		}, false},
		"a device": {func(j *batchv1.Job) {
			j.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := trainJob()
			row.change(j)
			if got := appwrapper.Kind().Children.Covers(appwrapper.Examples().Job(), j); got != row.want {
				t.Errorf("covered: %v, want %v", got, row.want)
			}
		})
	}
}

// leaderWorkerSet is what is made of the example's third component, or something like it.
func leaderWorkerSet(cpu string) client.Object {
	pod := map[string]any{"spec": map[string]any{"containers": []any{
		map[string]any{"name": "main", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}}},
	}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": map[string]any{"name": "the-LeaderWorkerSet"},
		"spec": map[string]any{"leaderWorkerTemplate": map[string]any{"workerTemplate": pod}},
	}}
}

func TestDeclaredPodsAreComparedWhateverTheKind(t *testing.T) {
	for cpu, want := range map[string]bool{"2": true, "3": false} {
		if got := appwrapper.Kind().Children.Covers(appwrapper.Examples().Job(), leaderWorkerSet(cpu)); got != want {
			t.Errorf("pods of %s CPU are covered: %v", cpu, got)
		}
	}
}

func TestAComponentThatPaysForNothingCoversNothing(t *testing.T) {
	aw := appwrapper.Examples().Job()
	aw.Spec.Components[2].DeclaredPodSets = nil
	if appwrapper.Kind().Children.Covers(aw, leaderWorkerSet("2")) {
		t.Error("an undeclared kind is covered")
	}
}

func TestTheNameThatTheServerChoseIsInTheStatus(t *testing.T) {
	aw := wrap(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"generateName":"inner-"},"spec":{"template":` + pod + `}}`)
	j := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{Name: "inner-x7"}}
	if appwrapper.Kind().Children.Covers(aw, j) {
		t.Error("covered before the name is known")
	}
	aw.Status.ComponentStatus = []awv1.AppWrapperComponentStatus{{Name: "inner-x7", PodSets: []awv1.AppWrapperPodSet{{Path: "template.spec.template"}}}}
	if !appwrapper.Kind().Children.Covers(aw, j) {
		t.Error("not covered")
	}
}
