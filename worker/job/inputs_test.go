package job_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobtest"
)

// tenant is what a Job of the kind below runs by: how many pods it has.
func tenant(pods int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}, Data: map[string]string{"pods": strconv.Itoa(pods)},
	}
}

var errNoTenant = errors.New("tenant not found")

// kindWithInputs is the batch Job, were its number of pods in a ConfigMap.
func kindWithInputs() job.Kind[*batchv1.Job] {
	kind := batchjob.Kind()
	fromTemplate := kind.PodSets
	kind.PodSets = nil
	kind.Inputs = &job.Inputs[*batchv1.Job]{
		Kinds: func() []client.Object { return []client.Object{&corev1.ConfigMap{}} },
		Of: func(j *batchv1.Job) ([]client.Object, error) {
			return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: "tenant"}}}, nil
		},
		PodSets: func(j *batchv1.Job, inputs []client.Object) ([]kueue.PodSet, error) {
			found, ok := inputs[0].(*corev1.ConfigMap)
			if !ok {
				return nil, errNoTenant
			}
			pods, err := strconv.ParseInt(found.Data["pods"], 10, 32)
			if err != nil {
				return nil, err
			}
			sets, err := fromTemplate(j)
			if err == nil {
				sets[0].Count, sets[0].MinCount = int32(pods), nil
			}
			return sets, err
		},
	}
	return kind
}

// newClusterOf is a cluster whose Jobs are of another kind.
func newClusterOf(t *testing.T, kind job.Kind[*batchv1.Job], objects ...client.Object) *cluster {
	t.Helper()
	c := newCluster(t, objects...)
	c.reconciler = job.NewReconciler(kind, c.options, c.Client, c.Client, c.recorder)
	return c
}

func TestAKindWithInputsConforms(t *testing.T) {
	examples := batchjob.Examples()
	examples.Inputs = func() []client.Object {
		input := tenant(2)
		input.Namespace = examples.Job().Namespace
		return []client.Object{input}
	}
	jobtest.Verify(t, kindWithInputs(), examples)
}

func TestAJobWaitsForItsInputs(t *testing.T) {
	c := newClusterOf(t, kindWithInputs(), newJob())
	c.reconcileAll()
	if n := len(c.workloads()); n != 0 {
		t.Fatalf("%d workloads without inputs", n)
	}
	if err := c.Create(t.Context(), tenant(7)); err != nil {
		t.Fatal(err)
	}
	c.reconcileAll()
	if got := c.workloads(); len(got) != 1 || got[0].Spec.PodSets[0].Count != 7 {
		t.Errorf("workloads: %v", got)
	}
}

// What decides at the start only does not stop a job when it changes, nor when it is gone.
func TestAJobThatRunsIsComparedWithItsInputsUnlessTheyDecideAtTheStart(t *testing.T) {
	for name, row := range map[string]struct {
		onlyAtStart, gone, runs bool
	}{
		"changed inputs":            {runs: false},
		"inputs that are gone":      {gone: true, runs: false},
		"changed, decides at start": {onlyAtStart: true, runs: true},
		"are gone, decide at start": {onlyAtStart: true, gone: true, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindWithInputs()
			kind.Inputs.OnlyAtStart = row.onlyAtStart
			c := newClusterOf(t, kind, newJob(), tenant(2), newFlavor("h100"))
			c.reconcileAll()
			c.admit("h100")
			c.reconcileAll()
			if ptr.Deref(c.job().Spec.Suspend, false) {
				t.Fatal("the job does not run")
			}
			if row.gone {
				if err := c.Delete(t.Context(), tenant(2)); err != nil {
					t.Fatal(err)
				}
			} else if err := c.Update(t.Context(), tenant(3)); err != nil {
				t.Fatal(err)
			}
			c.reconcileAll()
			if runs := !ptr.Deref(c.job().Spec.Suspend, false); runs != row.runs {
				t.Errorf("runs: %v", runs)
			}
		})
	}
}

// Templates that are in an input are not the job's to compare a placement with.
func TestPlacementsAreComparedWithTemplatesThatTheJobDoesNotShow(t *testing.T) {
	own := corev1.Toleration{Key: "own"}
	for arch, want := range map[string]string{"": "", "amd64": "True FailedToStart"} {
		kind := kindWithInputs()
		kind.Stop, kind.PlacesSuspended = nil, false
		var given []corev1.Toleration
		kind.Place = func(_ *batchv1.Job, placements []job.Placement) error {
			given = placements[0].Tolerations
			return nil
		}
		j, flavor := newJob(), newFlavor("h100")
		j.Spec.Template.Spec.Tolerations = []corev1.Toleration{own}
		if arch != "" {
			flavor.Spec.NodeLabels["arch"] = arch
		}
		c := newClusterOf(t, kind, j, tenant(2), flavor)
		c.reconcileAll()
		c.admit("h100")
		c.reconcileAll()
		c.hasCondition(kueue.WorkloadFinished, want)
		if placed := []corev1.Toleration{own, flavor.Spec.Tolerations[0]}; want == "" && cmp.Diff(placed, given) != "" {
			t.Errorf("tolerations differ (-want +got):\n%s", cmp.Diff(placed, given))
		}
	}
}

func TestInputsAddToTheProgress(t *testing.T) {
	kind := kindWithInputs()
	kind.Inputs.Progress = func(_ *batchv1.Job, inputs []client.Object, known job.Progress) job.Progress {
		known.Ready = inputs[0] != nil
		return known
	}
	for _, given := range []client.Object{nil, tenant(1)} {
		if p := kind.ProgressOf(newJob(), []client.Object{given}); p.Ready != (given != nil) {
			t.Errorf("with %v: ready %v", given, p.Ready)
		}
	}
}

func TestPathsOfTemplatesGoByTheNamesOfPodSets(t *testing.T) {
	kind := kindWithInputs()
	kind.Webhook.PodSetPath = func(name kueue.PodSetReference) *field.Path { return field.NewPath("set").Key(string(name)) }
	c := newCluster(t, tenant(2))
	_, err := job.NewWebhook(kind, c.options, c, true).ValidateCreate(t.Context(), jobWith(withPlacements(required, "a rack")))
	var got []string
	for _, e := range errorsOf(err) {
		got = append(got, e.Field)
	}
	if diff := cmp.Diff([]string{"set[main].annotations[kueue.x-k8s.io/podset-required-topology]"}, got); diff != "" {
		t.Errorf("paths differ (-want +got):\n%s", diff)
	}
}
