package sparkapplication

import (
	"time"

	spark "github.com/kubeflow/spark-operator/v2/api/v1beta2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Examples returns a SparkApplication and what the Spark operator makes of its status.
func Examples() job.Examples[*spark.SparkApplication] {
	return job.Examples[*spark.SparkApplication]{
		Job: sample, Started: started,
		Suspending: func(app *spark.SparkApplication) {
			app.Status.AppState.State, app.Status.ExecutorState = spark.ApplicationStateSuspended, nil
		},
		Succeeded: ended(spark.ApplicationStateCompleted), Failed: ended(spark.ApplicationStateFailed),
	}
}

// sample is an application of a driver and two executors. Only these have a template of their own.
func sample() *spark.SparkApplication {
	app := &spark.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pi", Namespace: "team", UID: "u-1", ResourceVersion: "5", Generation: 2,
			Labels: map[string]string{kueue.QueueNameLabel: "main"}, Annotations: map[string]string{"note": "mine"},
		},
		Spec: spark.SparkApplicationSpec{
			Suspend: ptr.To(true), Type: spark.SparkApplicationTypeScala, Mode: spark.DeployModeCluster, SparkVersion: "3.5.0",
			Driver:   spark.DriverSpec{SparkPodSpec: podSpec("driver"), CoreRequest: ptr.To("500m")},
			Executor: spark.ExecutorSpec{SparkPodSpec: podSpec("executor"), CoreRequest: ptr.To("1"), Instances: ptr.To[int32](2)},
		},
	}
	app.Spec.Executor.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"app": "executor", "tier": "batch"}, Annotations: map[string]string{"template": "yes"},
	}}
	return app
}

func podSpec(name string) spark.SparkPodSpec {
	return spark.SparkPodSpec{
		Cores: ptr.To[int32](1), Memory: ptr.To("1g"),
		Labels: map[string]string{"app": name}, Annotations: map[string]string{"scrape": "yes"},
		NodeSelector: map[string]string{"arch": "arm64"},
		Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
	}
}

func started(app *spark.SparkApplication) {
	app.Status.AppState.State = spark.ApplicationStateRunning
	app.Status.LastSubmissionAttemptTime = metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	app.Status.ExecutorState = map[string]spark.ExecutorState{"pi-exec-1": spark.ExecutorStateRunning, "pi-exec-2": spark.ExecutorStateRunning}
}

func ended(how spark.ApplicationStateType) func(*spark.SparkApplication) {
	return func(app *spark.SparkApplication) {
		app.Status.AppState = spark.ApplicationState{State: how, ErrorMessage: "it is over"}
		app.Status.TerminationTime = metav1.NewTime(time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC))
	}
}
