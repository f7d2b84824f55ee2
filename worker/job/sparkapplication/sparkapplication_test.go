package sparkapplication_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	spark "github.com/kubeflow/spark-operator/v2/api/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/sparkapplication"
)

// The examples, by the names that stories call them by.
var (
	sample  = sparkapplication.Examples().Job
	started = sparkapplication.Examples().Started
)

func TestSparkApplicationIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, sparkapplication.Kind(), sparkapplication.Examples())
}

func FuzzNoSparkApplicationMakesItsKindPanic(f *testing.F) {
	for seed := range int64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		jobtest.Survive(t, sparkapplication.Kind(), seed, func(text **string, c randfill.Continue) {
			known := []string{"", "1", "500m", "1g", "2Gi", "-1", "1e99", "x"}
			*text = ptr.To(known[c.Intn(len(known))])
		})
	})
}

func TestAnApplicationCannotBeMirrored(t *testing.T) {
	if job.NewIntegration(sparkapplication.Kind()).Mirrorable() {
		t.Error("it can be mirrored")
	}
}

func TestWhatIsRefusedOfAManagedApplication(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*spark.SparkApplication)
		want   string
	}{
		"as it should be":  {func(*spark.SparkApplication) {}, ""},
		"in client mode":   {func(app *spark.SparkApplication) { app.Spec.Mode = spark.DeployModeClient }, `spec.mode: Invalid value: "client": only Cluster mode is supported for a kueue managed job`},
		"without dynamics": {func(app *spark.SparkApplication) { app.Spec.DynamicAllocation = &spark.DynamicAllocation{} }, ""},
		"of changing executors": {func(app *spark.SparkApplication) {
			app.Spec.DynamicAllocation = &spark.DynamicAllocation{Enabled: true}
		}, "spec.dynamicAllocation.enabled: Invalid value: true: a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is on and the job is an elastic job"},
	} {
		t.Run(name, func(t *testing.T) {
			app := sample()
			row.change(app)
			var got string
			if err := sparkapplication.Kind().Webhook.Validate(nil, app).ToAggregate(); err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("it says %q, want %q", got, row.want)
			}
		})
	}
	rules := sparkapplication.Kind().Webhook
	if !rules.ManagedOnly || !rules.NoPrebuilt || sparkapplication.Kind().Elastic != nil {
		t.Error("rules are missing")
	}
	if driver, executor := rules.TemplatePath(sample(), 0).String(), rules.TemplatePath(sample(), 1).String(); driver != "spec.driver" || executor != "spec.executor" {
		t.Errorf("metadata are at %s and %s", driver, executor)
	}
}

func TestAnApplicationHasPodsInEveryStateThatDoesNotSayOtherwise(t *testing.T) {
	inactive := map[spark.ApplicationStateType]bool{
		spark.ApplicationStateNew: true, spark.ApplicationStateSuspended: true, spark.ApplicationStateCompleted: true,
		spark.ApplicationStateFailed: true, spark.ApplicationStateFailedSubmission: true,
	}
	for _, state := range []spark.ApplicationStateType{
		spark.ApplicationStateNew, spark.ApplicationStateSubmitted, spark.ApplicationStateRunning, spark.ApplicationStateCompleted,
		spark.ApplicationStateFailed, spark.ApplicationStateFailedSubmission, spark.ApplicationStatePendingRerun, spark.ApplicationStateInvalidating,
		spark.ApplicationStateSucceeding, spark.ApplicationStateFailing, spark.ApplicationStateSuspending, spark.ApplicationStateSuspended,
		spark.ApplicationStateResuming, spark.ApplicationStateUnknown, "OF_A_LATER_VERSION",
	} {
		app := sample()
		app.Status.AppState.State = state
		if got := sparkapplication.Kind().Progress(app).Active; got == inactive[state] {
			t.Errorf("in state %q it may have pods: %v", state, got)
		}
	}
}

func TestAnApplicationIsReadyWhenItsExecutorsRun(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*spark.SparkApplication)
		want   bool
	}{
		"all executors run": {func(*spark.SparkApplication) {}, true},
		"one has done its work": {func(app *spark.SparkApplication) {
			app.Status.ExecutorState["pi-exec-1"] = spark.ExecutorStateCompleted
		}, true},
		"one waits":                  {func(app *spark.SparkApplication) { app.Status.ExecutorState["pi-exec-1"] = spark.ExecutorStatePending }, false},
		"nothing is known of one":    {func(app *spark.SparkApplication) { delete(app.Status.ExecutorState, "pi-exec-1") }, false},
		"the driver is all there is": {func(app *spark.SparkApplication) { app.Spec.Executor.Instances, app.Status.ExecutorState = nil, nil }, true},
		"the driver is submitted":    {func(app *spark.SparkApplication) { app.Status.AppState.State = spark.ApplicationStateSubmitted }, false},
		"it is being stopped":        {func(app *spark.SparkApplication) { app.Spec.Suspend = ptr.To(true) }, false},
	} {
		app := sample()
		app.Spec.Suspend = nil
		started(app)
		row.change(app)
		if got := sparkapplication.Kind().Progress(app).Ready; got != row.want {
			t.Errorf("%s: ready is %v", name, got)
		}
	}
}

func TestASubmissionThatFailedIsTheEndUnlessItIsTriedAgain(t *testing.T) {
	onFailure := func(retries *int32) spark.RestartPolicy {
		return spark.RestartPolicy{Type: spark.RestartPolicyOnFailure, OnSubmissionFailureRetries: retries}
	}
	for name, row := range map[string]struct {
		policy spark.RestartPolicy
		ended  bool
	}{
		"nothing is said":        {spark.RestartPolicy{}, true},
		"never again":            {spark.RestartPolicy{Type: spark.RestartPolicyNever}, true},
		"always again":           {spark.RestartPolicy{Type: spark.RestartPolicyAlways}, false},
		"a try is left":          {onFailure(ptr.To[int32](2)), false},
		"no try is left":         {onFailure(ptr.To[int32](1)), true},
		"no number is the end":   {onFailure(nil), true},
		"less than none is, too": {onFailure(ptr.To[int32](-5)), true},
	} {
		app := sample()
		app.Spec.RestartPolicy = row.policy
		app.Status.AppState = spark.ApplicationState{State: spark.ApplicationStateFailedSubmission, ErrorMessage: "no image"}
		app.Status.SubmissionAttempts = 2
		got := sparkapplication.Kind().Progress(app)
		if (got.Finished != nil) != row.ended || got.Active == row.ended {
			t.Errorf("%s: %+v", name, got)
		}
		if row.ended {
			if diff := cmp.Diff(&job.Outcome{Message: "no image"}, got.Finished); diff != "" {
				t.Errorf("%s: the end differs (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestWhenTheSparkOperatorHasActed(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	kind := job.NewIntegration(sparkapplication.Kind())
	app := sample()
	if got := kind.LastControllerUpdate(app); !got.IsZero() {
		t.Errorf("an application that nobody has seen: %v", got)
	}
	app.Status.LastSubmissionAttemptTime = metav1.NewTime(noon)
	if got := kind.LastControllerUpdate(app); !got.Equal(noon) {
		t.Errorf("submitted at noon: %v", got)
	}
	app.Status.TerminationTime = metav1.NewTime(noon.Add(time.Hour))
	if got := kind.LastControllerUpdate(app); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("ended an hour later: %v", got)
	}
}

func TestExecutorsAreCountedAsTheApplicationSays(t *testing.T) {
	for name, row := range map[string]struct {
		instances *int32
		want      int32
		refuse    string
	}{
		"nothing said is none": {nil, 0, ""},
		"some":                 {ptr.To[int32](7), 7, ""},
		"a negative number":    {ptr.To[int32](-7), 0, "spec.executor.instances: Invalid value: -7"},
	} {
		app := sample()
		app.Spec.Executor.Instances = row.instances
		sets, err := sparkapplication.Kind().PodSets(app)
		if row.refuse != "" {
			if err == nil || !strings.HasPrefix(err.Error(), row.refuse) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(sets) != 2 || sets[0].Name != "driver" || sets[0].Count != 1 || sets[1].Name != "executor" || sets[1].Count != row.want {
			t.Errorf("%s: %+v, %v", name, sets, err)
		}
		before := app.DeepCopy()
		sparkapplication.Kind().Restore(app, sets)
		if diff := cmp.Diff(before, app); diff != "" {
			t.Errorf("%s: restoring differs (-want +got):\n%s", name, diff)
		}
	}
}

func TestAStopTakesTheNumberOfExecutorsBack(t *testing.T) {
	app := sample()
	sets, err := sparkapplication.Kind().PodSets(app)
	if err != nil {
		t.Fatal(err)
	}
	app.Spec.Executor.Instances = ptr.To[int32](9)
	sparkapplication.Kind().Restore(app, []kueue.PodSet{sets[1]})
	if *app.Spec.Executor.Instances != 2 {
		t.Errorf("%d executors", *app.Spec.Executor.Instances)
	}
}
