package sparkapplication_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	spark "github.com/kubeflow/spark-operator/v2/api/v1beta2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/sparkapplication"
)

// selecting is an application with one node selector for all its pods.
func selecting() *spark.SparkApplication {
	app := sample()
	app.Spec.NodeSelector = map[string]string{"pool": "batch"}
	app.Spec.Driver.NodeSelector, app.Spec.Executor.NodeSelector = nil, nil
	return app
}

func podSetsOf(t *testing.T, app *spark.SparkApplication) []kueue.PodSet {
	t.Helper()
	sets, err := sparkapplication.Kind().PodSets(app)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// placements put both roles into one zone.
func placements(gates ...corev1.PodSchedulingGate) []job.Placement {
	p := job.Placement{NodeSelector: map[string]string{"zone": "a"}, Labels: map[string]string{"tier": "batch"}, SchedulingGates: gates}
	return []job.Placement{p, p}
}

func TestTheNodeSelectorForAllPodsGoesToTheRolesAndBack(t *testing.T) {
	app := selecting()
	sets := podSetsOf(t, app)
	for range 2 { // placing once more changes nothing
		if err := sparkapplication.Kind().Place(app, placements()); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"pool": "batch", "zone": "a"}
		if diff := cmp.Diff([]map[string]string{nil, want, want}, []map[string]string{app.Spec.NodeSelector, app.Spec.Driver.NodeSelector, app.Spec.Executor.NodeSelector}); diff != "" {
			t.Errorf("node selectors differ (-want +got):\n%s", diff)
		}
	}
	sparkapplication.Kind().Restore(app, sets)
	if diff := cmp.Diff(selecting(), app); diff != "" {
		t.Errorf("the restored application differs (-want +got):\n%s", diff)
	}
}

func TestARoleWhoseSelectorContradictsThatForAllPodsCannotBePlaced(t *testing.T) {
	app := selecting()
	app.Spec.Executor.NodeSelector = map[string]string{"pool": "other"}
	before := app.DeepCopy()
	var conflict *job.ConflictError
	if err := sparkapplication.Kind().Place(app, placements()); !errors.As(err, &conflict) || conflict.Key != "pool" {
		t.Errorf("it says %v", err)
	}
	if diff := cmp.Diff(before, app); diff != "" {
		t.Errorf("a part was placed (-want +got):\n%s", diff)
	}
	var sets *job.PodSetsError
	if err := sparkapplication.Kind().Place(app, nil); !errors.As(err, &sets) {
		t.Errorf("no placements: %v", err)
	}
}

// An application that was stopped without its Workload keeps what was placed. The operator takes no node selector for all pods beside that.
func TestWhatWasPlacedStaysWithoutAWorkload(t *testing.T) {
	app := selecting()
	if err := sparkapplication.Kind().Place(app, placements()); err != nil {
		t.Fatal(err)
	}
	placed := app.DeepCopy()
	sparkapplication.Kind().Restore(app, nil)
	if diff := cmp.Diff(placed, app); diff != "" {
		t.Errorf("it was changed (-want +got):\n%s", diff)
	}
	sparkapplication.Kind().Restore(app, podSetsOf(t, app))
	if app.Spec.NodeSelector != nil || app.Spec.Driver.NodeSelector["zone"] != "a" {
		t.Errorf("for all pods %v, for the driver %v", app.Spec.NodeSelector, app.Spec.Driver.NodeSelector)
	}
}

func TestATemplateThatOnlyHoldsGatesGoesWithThem(t *testing.T) {
	app := sample()
	sets := podSetsOf(t, app)
	gate := corev1.PodSchedulingGate{Name: "kueue.x-k8s.io/topology"}
	if err := sparkapplication.Kind().Place(app, placements(gate)); err != nil {
		t.Fatal(err)
	}
	made := &corev1.PodTemplateSpec{}
	made.Spec.Containers = []corev1.Container{{Name: "spark-kubernetes-driver"}}
	made.Spec.SchedulingGates = []corev1.PodSchedulingGate{gate}
	if diff := cmp.Diff(made, app.Spec.Driver.Template); diff != "" {
		t.Errorf("the driver's template differs (-want +got):\n%s", diff)
	}
	sparkapplication.Kind().Restore(app, sets)
	if diff := cmp.Diff(sample(), app); diff != "" {
		t.Errorf("the restored application differs (-want +got):\n%s", diff)
	}
}

func TestWhatTheUsersOwnTemplateSaysIsNotSaidAgain(t *testing.T) {
	app := sample()
	if err := sparkapplication.Kind().Place(app, placements()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"app": "executor"} // tier=batch is what the template says
	if diff := cmp.Diff(want, app.Spec.Executor.Labels); diff != "" {
		t.Errorf("labels of executors differ (-want +got):\n%s", diff)
	}
	if got := podSetsOf(t, app)[1].Template.Labels["tier"]; got != "batch" {
		t.Errorf("the template's label is %q", got)
	}
}

func TestARecordThatCannotBeReadIsNone(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"nodeSelector": 3}`, `{"templatesOf": ["nobody"]}`} {
		app := sample()
		sets := podSetsOf(t, app)
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, "switchyard.dev/spark-original", text)
		sparkapplication.Kind().Restore(app, sets)
		if diff := cmp.Diff(sample(), app); diff != "" {
			t.Errorf("%q: the restored application differs (-want +got):\n%s", text, diff)
		}
	}
}
