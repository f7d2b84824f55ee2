// Package deployment declares the Deployment of apps/v1: each of its pods is admitted for itself, so there is nothing to reconcile
// (contract: job-kinds.md 11).
package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// Name is the name of the framework.
const Name = "deployment"

// Kind returns the declaration.
func Kind() serving.Kind[*appsv1.Deployment] {
	return serving.Kind[*appsv1.Deployment]{
		Name:          Name,
		GVK:           appsv1.SchemeGroupVersion.WithKind("Deployment"),
		AddToScheme:   appsv1.AddToScheme,
		New:           func() *appsv1.Deployment { return &appsv1.Deployment{} },
		NewList:       func() client.ObjectList { return &appsv1.DeploymentList{} },
		ReadyReplicas: func(d *appsv1.Deployment) int32 { return d.Status.ReadyReplicas },
		Mark:          mark,
	}
}

// Framework is the kind for callers that deal with all kinds.
func Framework() serving.Framework[*appsv1.Deployment] { return serving.NewFramework(Kind()) }

// mark makes each pod of the Deployment a managed pod of its own. Marks are never taken back: that would be another rollout.
func mark(d *appsv1.Deployment, _ job.Gates) {
	t := &d.Spec.Template
	serving.MarkTemplate(t, Name)
	metav1.SetMetaDataLabel(&t.ObjectMeta, kueue.ManagedLabel, kueue.ManagedLabelValue)
	serving.CopyQueue(t, d)
}
