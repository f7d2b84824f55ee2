package main

import (
	"context"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// rules are Tekton's for PipelineRuns, under its default configuration.
type rules struct{}

// serveAdmission serves the rules where webhooks.yaml says.
func serveAdmission(mgr manager.Manager) error {
	return builder.WebhookManagedBy(mgr, &v1.PipelineRun{}).WithDefaulter(rules{}).WithValidator(rules{}).Complete()
}

// Default sets the fields that a user has left open.
func (rules) Default(ctx context.Context, run *v1.PipelineRun) error {
	run.SetDefaults(ctx)
	return nil
}

// ValidateCreate says what is wrong with a new run.
func (rules) ValidateCreate(ctx context.Context, run *v1.PipelineRun) (admission.Warnings, error) {
	return nil, asError(run.Validate(apis.WithinCreate(ctx)))
}

// ValidateUpdate says what is wrong with a change.
func (rules) ValidateUpdate(ctx context.Context, was, run *v1.PipelineRun) (admission.Warnings, error) {
	return nil, asError(run.Validate(apis.WithinUpdate(ctx, was)))
}

// ValidateDelete allows it.
func (rules) ValidateDelete(context.Context, *v1.PipelineRun) (admission.Warnings, error) {
	return nil, nil
}

// asError keeps a nil of another type from being an error.
func asError(err *apis.FieldError) error {
	if err == nil {
		return nil
	}
	return err
}
