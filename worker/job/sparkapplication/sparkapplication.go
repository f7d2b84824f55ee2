// Package sparkapplication declares the SparkApplication of sparkoperator.k8s.io/v1beta2 (contract: job-kinds.md 9).
package sparkapplication

import (
	"time"

	spark "github.com/kubeflow/spark-operator/v2/api/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:webhook:path=/mutate-sparkoperator-k8s-io-v1beta2-sparkapplication,mutating=true,failurePolicy=fail,sideEffects=None,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create,versions=v1beta2,name=msparkapplication.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-sparkoperator-k8s-io-v1beta2-sparkapplication,mutating=false,failurePolicy=fail,sideEffects=None,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create;update,versions=v1beta2,name=vsparkapplication.kb.io,admissionReviewVersions=v1

// Kind returns the declaration.
func Kind() job.Kind[*spark.SparkApplication] {
	return job.Kind[*spark.SparkApplication]{
		Name:        "sparkoperator.k8s.io/sparkapplication",
		GVK:         spark.SchemeGroupVersion.WithKind("SparkApplication"),
		AddToScheme: addToScheme,
		New:         func() *spark.SparkApplication { return &spark.SparkApplication{} },
		NewList:     func() client.ObjectList { return &spark.SparkApplicationList{} },

		PodSets:              podSets,
		Suspended:            suspended,
		SetSuspend:           func(app *spark.SparkApplication, suspend bool) { app.Spec.Suspend = &suspend },
		Place:                place,
		Restore:              restore,
		Progress:             progress,
		LastControllerUpdate: lastControllerUpdate,
		PodLabels: func(app *spark.SparkApplication) map[string]string {
			return map[string]string{"sparkoperator.k8s.io/app-name": app.Name}
		},
		Webhook: job.Webhook[*spark.SparkApplication]{
			Validate:     validate,
			TemplatePath: func(app *spark.SparkApplication, i int) *field.Path { return roles(app)[i].path },
			ChangesFirst: true, ManagedOnly: true, NoPrebuilt: true,
		},
	}
}

// addToScheme registers the types without the operator's functions for defaults, which nothing here asks for.
func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(spark.SchemeGroupVersion, &spark.SparkApplication{}, &spark.SparkApplicationList{})
	metav1.AddToGroupVersion(s, spark.SchemeGroupVersion)
	return nil
}

func suspended(app *spark.SparkApplication) bool { return ptr.Deref(app.Spec.Suspend, false) }

// validate judges an application that is managed.
func validate(_, app *spark.SparkApplication) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if app.Spec.Mode != spark.DeployModeCluster {
		errs = append(errs, field.Invalid(spec.Child("mode"), app.Spec.Mode, "only Cluster mode is supported for a kueue managed job"))
	}
	if app.Spec.DynamicAllocation != nil && app.Spec.DynamicAllocation.Enabled {
		errs = append(errs, field.Invalid(spec.Child("dynamicAllocation", "enabled"), true,
			"a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is on and the job is an elastic job"))
	}
	return errs
}

// progress returns how far the application is. Whatever is not known to be without pods has some: the operator is about to make them, or
// has not deleted the driver yet.
func progress(app *spark.SparkApplication) job.Progress {
	p := job.Progress{Active: true, Finished: outcome(app)}
	switch state := app.Status.AppState.State; {
	case p.Finished != nil, state == spark.ApplicationStateNew, state == spark.ApplicationStateSuspended:
		p.Active = false
	case state == spark.ApplicationStateRunning:
		p.Ready = !suspended(app) && readyExecutors(app) >= int(ptr.Deref(app.Spec.Executor.Instances, 0))
	}
	return p
}

// readyExecutors is how many executors run or have done their work.
func readyExecutors(app *spark.SparkApplication) int {
	ready := 0
	for _, state := range app.Status.ExecutorState {
		if state == spark.ExecutorStateRunning || state == spark.ExecutorStateCompleted {
			ready++
		}
	}
	return ready
}

// outcome returns how the application ended; nil while it has not, or the operator is going to submit it again.
func outcome(app *spark.SparkApplication) *job.Outcome {
	switch app.Status.AppState.State {
	case spark.ApplicationStateCompleted:
		return &job.Outcome{Success: true, Message: app.Status.AppState.ErrorMessage}
	case spark.ApplicationStateFailed:
		return &job.Outcome{Message: app.Status.AppState.ErrorMessage}
	case spark.ApplicationStateFailedSubmission:
		if !isSubmittedAgain(app) {
			return &job.Outcome{Message: app.Status.AppState.ErrorMessage}
		}
	default: // it goes on, in whatever state
	}
	return nil
}

// isSubmittedAgain tells whether the operator tries once more after a submission that failed.
func isSubmittedAgain(app *spark.SparkApplication) bool {
	policy := app.Spec.RestartPolicy
	return policy.Type == spark.RestartPolicyAlways ||
		policy.Type == spark.RestartPolicyOnFailure && app.Status.SubmissionAttempts <= ptr.Deref(policy.OnSubmissionFailureRetries, -1)
}

// lastControllerUpdate is the latest time in the status: the operator gives few.
func lastControllerUpdate(app *spark.SparkApplication) time.Time {
	submitted, ended := app.Status.LastSubmissionAttemptTime.Time, app.Status.TerminationTime.Time
	if ended.After(submitted) {
		return ended
	}
	return submitted
}
