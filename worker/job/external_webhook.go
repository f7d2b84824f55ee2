package job

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"switchyard.dev/worker/fence/epoch"
)

// ExternalWebhookPath is where jobs of external kinds are judged that a hub has made here. Which kinds these are, the webhook
// configuration alone has to know (the chart makes it of the Configuration): the handler is the same for all of them.
const ExternalWebhookPath = "/validate-external-job"

// ExternalWebhook refuses a job of an external kind that a hub has sent too late, and an update that lets its epoch fall. It
// reads nothing but metadata, and of what no hub has made it refuses nothing.
func ExternalWebhook(o Options) *admission.Webhook {
	return admission.WithValidator(runtime.NewScheme(), externalWebhook{o.Stale, o.Gates}) // a scheme without kinds takes any for metadata
}

type externalWebhook struct {
	stale func(ctx context.Context, job client.Object, workload string) *field.Error
	gates Gates
}

// ValidateCreate implements admission.Validator.
func (v externalWebhook) ValidateCreate(ctx context.Context, job *metav1.PartialObjectMetadata) (admission.Warnings, error) {
	if v.stale == nil {
		return nil, nil
	}
	return nil, denyMessage(v.stale(ctx, job, v.gates.PrebuiltWorkloadName(job)))
}

// ValidateUpdate implements admission.Validator.
func (externalWebhook) ValidateUpdate(_ context.Context, old, job *metav1.PartialObjectMetadata) (admission.Warnings, error) {
	if !job.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return nil, denyMessage(epoch.ValidateUpdate(old, job))
}

// ValidateDelete implements admission.Validator; it is never called.
func (externalWebhook) ValidateDelete(context.Context, *metav1.PartialObjectMetadata) (admission.Warnings, error) {
	return nil, nil
}

// denyMessage is nil if there is nothing to refuse for, which a nil *field.Error in an error would not be.
func denyMessage(because *field.Error) error {
	if because == nil {
		return nil
	}
	return because
}
