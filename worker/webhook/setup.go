package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"switchyard.dev/apis/config/features"
	kueuev1beta1 "switchyard.dev/apis/kueue/v1beta1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Setup registers, at the paths of contract: kueue-api.md 8.5, the webhooks of
// the queue kinds and of Workloads, and the conversion of every kind that has one.
// It adds v1beta1, which only conversion needs, to the scheme of the manager.
func Setup(mgr ctrl.Manager, set features.Set, epochs Epochs) error {
	if err := kueuev1beta1.AddToScheme(mgr.GetScheme()); err != nil {
		return fmt.Errorf("registering kueue.x-k8s.io/v1beta1: %w", err)
	}
	mgr.GetWebhookServer().Register(ConversionPath, converter{general: conversion.NewWebhookHandler(mgr.GetScheme(), mgr.GetConverterRegistry())})
	gates := NewGates(set)
	for _, register := range []func() error{
		ctrl.NewWebhookManagedBy(mgr, &kueue.ClusterQueue{}).
			WithDefaulter(defaulter[*kueue.ClusterQueue](func(q *kueue.ClusterQueue) { addFinalizer(q) })).
			WithValidator(validator[*kueue.ClusterQueue]{create: gates.ValidateClusterQueue, update: gates.ValidateClusterQueueUpdate}).Complete,
		ctrl.NewWebhookManagedBy(mgr, &kueue.Cohort{}).
			WithValidator(validator[*kueue.Cohort]{create: ValidateCohort, update: func(_, c *kueue.Cohort) field.ErrorList { return ValidateCohort(c) }}).Complete,
		ctrl.NewWebhookManagedBy(mgr, &kueue.ResourceFlavor{}).
			WithDefaulter(defaulter[*kueue.ResourceFlavor](func(f *kueue.ResourceFlavor) { addFinalizer(f) })).
			WithValidator(validator[*kueue.ResourceFlavor]{create: ValidateResourceFlavor, update: func(_, f *kueue.ResourceFlavor) field.ErrorList { return ValidateResourceFlavor(f) }}).Complete,
		ctrl.NewWebhookManagedBy(mgr, &kueue.Workload{}).
			WithDefaulter(defaulter[*kueue.Workload](gates.DefaultWorkload)).
			WithValidator(workloadWebhook{validator[*kueue.Workload]{create: gates.ValidateWorkload, update: gates.ValidateWorkloadUpdate}, epochs}).Complete,
		ctrl.NewWebhookManagedBy(mgr, &kueue.LocalQueue{}).Complete,
		ctrl.NewWebhookManagedBy(mgr, &kueue.MultiKueueCluster{}).Complete,
	} {
		if err := register(); err != nil {
			return fmt.Errorf("registering a webhook: %w", err)
		}
	}
	return nil
}

// addFinalizer adds the finalizer that its controller removes once nothing uses the
// object any more. An object can only get a finalizer before it is being deleted,
// which on creation is always.
func addFinalizer(object client.Object) {
	controllerutil.AddFinalizer(object, kueue.ResourceInUseFinalizer)
}

// defaulter makes a webhook of a function that completes an object.
type defaulter[T runtime.Object] func(T)

// Default completes the object.
func (d defaulter[T]) Default(_ context.Context, object T) error {
	d(object)
	return nil
}

// validator makes a webhook of pure functions that say what is wrong.
type validator[T client.Object] struct {
	create func(object T) field.ErrorList
	update func(old, object T) field.ErrorList
}

// ValidateCreate refuses an object that must not be created.
func (v validator[T]) ValidateCreate(_ context.Context, object T) (admission.Warnings, error) {
	return nil, v.create(object).ToAggregate()
}

// ValidateUpdate refuses an update that must not be. Updates of an object that is
// being deleted are allowed: its finalizers have to go, whatever else is wrong.
func (v validator[T]) ValidateUpdate(_ context.Context, old, object T) (admission.Warnings, error) {
	if !object.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	return nil, v.update(old, object).ToAggregate()
}

// ValidateDelete allows every deletion.
func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

// Epochs refuses what a hub made in an epoch that is over (see package epoch).
type Epochs interface {
	ValidateCreate(ctx context.Context, object client.Object, workload string) *field.Error
}

// workloadWebhook is the validator of Workloads, which for new ones looks at what was seen before.
type workloadWebhook struct {
	validator[*kueue.Workload]
	epochs Epochs
}

// ValidateCreate refuses a Workload that must not be created.
func (v workloadWebhook) ValidateCreate(ctx context.Context, w *kueue.Workload) (admission.Warnings, error) {
	all := v.create(w)
	if err := v.epochs.ValidateCreate(ctx, w, w.Name); err != nil {
		all = append(all, err)
	}
	return nil, all.ToAggregate()
}
