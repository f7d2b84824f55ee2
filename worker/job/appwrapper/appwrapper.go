// Package appwrapper declares the AppWrapper of workload.codeflare.dev/v1beta2 (contract: job-kinds.md 8): any objects in one, which are
// made when it runs.
package appwrapper

import (
	"time"

	awv1 "github.com/project-codeflare/appwrapper/api/v1beta2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// +kubebuilder:rbac:groups=workload.codeflare.dev,resources=appwrappers,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=workload.codeflare.dev,resources=appwrappers/status,verbs=patch
// +kubebuilder:rbac:groups=workload.codeflare.dev,resources=appwrappers/finalizers,verbs=update
// +kubebuilder:webhook:path=/mutate-workload-codeflare-dev-v1beta2-appwrapper,mutating=true,failurePolicy=fail,sideEffects=None,groups=workload.codeflare.dev,resources=appwrappers,verbs=create,versions=v1beta2,name=mappwrapper.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-workload-codeflare-dev-v1beta2-appwrapper,mutating=false,failurePolicy=fail,sideEffects=None,groups=workload.codeflare.dev,resources=appwrappers,verbs=create;update,versions=v1beta2,name=vappwrapper.kb.io,admissionReviewVersions=v1

// Kind returns the declaration.
func Kind() job.Kind[*awv1.AppWrapper] {
	return job.Kind[*awv1.AppWrapper]{
		Name:        "workload.codeflare.dev/appwrapper",
		GVK:         awv1.GroupVersion.WithKind("AppWrapper"),
		AddToScheme: awv1.AddToScheme,
		New:         func() *awv1.AppWrapper { return &awv1.AppWrapper{} },
		NewList:     func() client.ObjectList { return &awv1.AppWrapperList{} },

		PodSets:              podSets,
		Suspended:            func(aw *awv1.AppWrapper) bool { return aw.Spec.Suspend },
		SetSuspend:           func(aw *awv1.AppWrapper, suspend bool) { aw.Spec.Suspend = suspend },
		Place:                place,
		Restore:              restore,
		Progress:             progress,
		ControllerObserved:   controllerObserved,
		LastControllerUpdate: lastControllerUpdate,
		Webhook: job.Webhook[*awv1.AppWrapper]{
			TemplatePath:    templatePath,
			NoTopologyRules: true,
		},
		Children: &job.Children[*awv1.AppWrapper]{Covers: covers},

		ManagedBy: job.ManagedByField("spec.managedBy", awv1.AppWrapperControllerName,
			func(aw *awv1.AppWrapper) **string { return &aw.Spec.ManagedBy }),
		CopyStatus: job.StatusCopier(
			func(aw *awv1.AppWrapper) *awv1.AppWrapperStatus { return &aw.Status },
			func(aw *awv1.AppWrapper) bool { return outcome(aw) != nil },
		),
		Detach: func(aw *awv1.AppWrapper) { aw.Status = awv1.AppWrapperStatus{} },
		Strip:  strip,
	}
}

// strip drops what is wrapped, which is most of a cached AppWrapper.
func strip(aw *awv1.AppWrapper) {
	for i := range aw.Spec.Components {
		aw.Spec.Components[i].Template = runtime.RawExtension{}
	}
}

// progress goes by the AppWrapper's own conditions. Its QuotaReserved is true for as long as something that it wraps may exist.
func progress(aw *awv1.AppWrapper) job.Progress {
	return job.Progress{Active: isTrue(aw, awv1.QuotaReserved), Ready: isTrue(aw, awv1.PodsReady), Finished: outcome(aw)}
}

// outcome returns how the AppWrapper ended; nil while it has not. What failed is over when its resources are gone.
func outcome(aw *awv1.AppWrapper) *job.Outcome {
	switch {
	case aw.Status.Phase == awv1.AppWrapperSucceeded:
		return &job.Outcome{Success: true, Message: "AppWrapper finished successfully"}
	case aw.Status.Phase == awv1.AppWrapperFailed && !isTrue(aw, awv1.ResourcesDeployed):
		return &job.Outcome{Message: "AppWrapper failed"}
	}
	return nil
}

func isTrue(aw *awv1.AppWrapper, condition awv1.AppWrapperCondition) bool {
	return meta.IsStatusConditionTrue(aw.Status.Conditions, string(condition))
}

// controllerObserved goes by the phase. One that is empty tells nothing: a component that cannot be read is enough to keep it so.
func controllerObserved(aw *awv1.AppWrapper) bool {
	switch aw.Status.Phase {
	case awv1.AppWrapperSuspended:
		return aw.Spec.Suspend
	case awv1.AppWrapperResuming, awv1.AppWrapperRunning, awv1.AppWrapperResetting:
		return !aw.Spec.Suspend
	case awv1.AppWrapperEmpty, awv1.AppWrapperSuspending, awv1.AppWrapperSucceeded, awv1.AppWrapperFailed, awv1.AppWrapperTerminating:
	}
	return true
}

// lastControllerUpdate is the latest time in the status.
func lastControllerUpdate(aw *awv1.AppWrapper) time.Time {
	latest := latestTransition(time.Time{}, aw.Status.Conditions)
	for i := range aw.Status.ComponentStatus {
		latest = latestTransition(latest, aw.Status.ComponentStatus[i].Conditions)
	}
	return latest
}

func latestTransition(latest time.Time, conditions []metav1.Condition) time.Time {
	for i := range conditions {
		if at := conditions[i].LastTransitionTime; at.After(latest) {
			latest = at.Time
		}
	}
	return latest
}
