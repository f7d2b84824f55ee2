package serving

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"switchyard.dev/worker/job"
)

// Webhook defaults and validates objects of one kind, when they are created and when they are changed.
type Webhook[T client.Object] struct {
	kind    Kind[T]
	rules   job.Rules
	world   World
	enabled bool
}

// NewWebhook returns the handlers of a kind. With enabled false they accept everything unchanged.
func NewWebhook[T client.Object](kind Kind[T], o job.Options, cached, live client.Reader, enabled bool) *Webhook[T] {
	return &Webhook[T]{
		kind: kind, rules: job.NewRules(kind.GVK, o, cached, live), world: World{Live: live, Gates: o.Gates}, enabled: enabled,
	}
}

// Default implements admission.Defaulter: it names the default queue and priority class, and makes the pods of a managed object wait.
func (h *Webhook[T]) Default(ctx context.Context, obj T) error {
	if h.ignores(obj) {
		return nil
	}
	old := h.kind.New()
	changed, err := decodeOld(ctx, old)
	if err != nil {
		return err
	}
	managed, err := h.rules.Default(ctx, obj, changed && h.kind.ReadyReplicas(old) > 0)
	if err == nil && managed {
		h.kind.Mark(obj, h.world.Gates)
	}
	return err
}

// ValidateCreate implements admission.Validator. As in the public API the rules hold for unmanaged objects, too.
func (h *Webhook[T]) ValidateCreate(ctx context.Context, obj T) (admission.Warnings, error) {
	if h.ignores(obj) {
		return nil, nil
	}
	errs := h.rules.ValidateCreate(obj)
	if h.kind.Validate != nil {
		var none T
		own, err := h.kind.Validate(ctx, h.world, none, obj)
		if err != nil {
			return nil, err
		}
		errs = append(errs, own...)
	}
	return nil, errs.ToAggregate()
}

// ValidateUpdate implements admission.Validator.
func (h *Webhook[T]) ValidateUpdate(ctx context.Context, old, obj T) (admission.Warnings, error) {
	if h.ignores(obj) || !obj.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	errs := h.rules.ValidateUpdate(old, obj, h.kind.ReadyReplicas(old) > 0, h.kind.ReadyReplicas(obj) > 0)
	if h.kind.Validate != nil {
		own, err := h.kind.Validate(ctx, h.world, old, obj)
		if err != nil {
			return nil, err
		}
		errs = append(errs, own...)
	}
	return nil, errs.ToAggregate()
}

// ValidateDelete implements admission.Validator; it is never called (contract: kueue-api.md 8.5).
func (h *Webhook[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (h *Webhook[T]) ignores(obj T) bool {
	return !h.enabled || h.kind.Ignores != nil && h.kind.Ignores(obj)
}

// decodeOld reads the object as it is stored, if the request changes one. The status of the new one is what its writer sent.
func decodeOld(ctx context.Context, into client.Object) (found bool, err error) {
	req, err := admission.RequestFromContext(ctx)
	changes := err == nil && req.Operation == admissionv1.Update // without a request it is called with an object alone
	if !changes {
		return false, nil
	}
	if err := json.Unmarshal(req.OldObject.Raw, into); err != nil {
		return false, fmt.Errorf("decode the object before the change: %w", err)
	}
	return true, nil
}
