package jobkind

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=switchyard-mutating-jobkinds,verbs=update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=switchyard-validating-jobkinds,verbs=update

// Names of the webhook configurations that the program fills, and of those that say how its webhooks are reached.
const (
	ownMutating   = "switchyard-mutating-jobkinds"
	ownValidating = "switchyard-validating-jobkinds"

	builtInMutating   = "kueue-mutating-webhook-configuration"
	builtInValidating = "kueue-validating-webhook-configuration"
)

// Paths of the webhooks of all configured kinds.
const (
	DefaultPath  = "/mutate-configured-job"
	ValidatePath = "/validate-configured-job"
)

// The webhooks of a built-in kind, which those of configured kinds are like.
const (
	modelDefault  = "/mutate-batch-v1-job"
	modelValidate = "/validate-batch-v1-job"
)

// webhookRules keeps a webhook for every kind that is served in two configurations of our own. They are made when the program is
// installed, empty, so that the program needs no right but to change these two.
type webhookRules struct{ client client.Client }

// apply makes the webhooks those of the resources. Without the configurations it returns what is missing, in words.
func (w *webhookRules) apply(ctx context.Context, resources []schema.GroupVersionResource) (missing string, err error) {
	for _, change := range []func(context.Context, []schema.GroupVersionResource) error{w.applyMutating, w.applyValidating} {
		err := change(ctx, resources)
		if apierrors.IsNotFound(err) {
			return fmt.Sprintf("jobs are neither suspended nor judged when they are created: %v", err), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

func (w *webhookRules) applyMutating(ctx context.Context, resources []schema.GroupVersionResource) error {
	var own, builtIn admissionregistrationv1.MutatingWebhookConfiguration
	if err := w.get(ctx, ownMutating, &own); err != nil {
		return err
	}
	if err := w.get(ctx, builtInMutating, &builtIn); err != nil {
		return err
	}
	var hooks []admissionregistrationv1.MutatingWebhook
	for i := range builtIn.Webhooks {
		if !isAt(builtIn.Webhooks[i].ClientConfig, modelDefault) {
			continue
		}
		for _, resource := range resources {
			hook := builtIn.Webhooks[i].DeepCopy()
			hook.Name, hook.Rules = hookName("m", resource), rules(resource, admissionregistrationv1.Create)
			moveTo(&hook.ClientConfig, modelDefault, DefaultPath)
			hooks = append(hooks, *hook)
		}
	}
	if equality.Semantic.DeepEqual(own.Webhooks, hooks) {
		return nil
	}
	changed := own.DeepCopy()
	changed.Webhooks = hooks
	return w.update(ctx, changed)
}

func (w *webhookRules) applyValidating(ctx context.Context, resources []schema.GroupVersionResource) error {
	var own, builtIn admissionregistrationv1.ValidatingWebhookConfiguration
	if err := w.get(ctx, ownValidating, &own); err != nil {
		return err
	}
	if err := w.get(ctx, builtInValidating, &builtIn); err != nil {
		return err
	}
	var hooks []admissionregistrationv1.ValidatingWebhook
	for i := range builtIn.Webhooks {
		if !isAt(builtIn.Webhooks[i].ClientConfig, modelValidate) {
			continue
		}
		for _, resource := range resources {
			hook := builtIn.Webhooks[i].DeepCopy()
			hook.Name, hook.Rules = hookName("v", resource), rules(resource, admissionregistrationv1.Create, admissionregistrationv1.Update)
			moveTo(&hook.ClientConfig, modelValidate, ValidatePath)
			hooks = append(hooks, *hook)
		}
	}
	if equality.Semantic.DeepEqual(own.Webhooks, hooks) {
		return nil
	}
	changed := own.DeepCopy()
	changed.Webhooks = hooks
	return w.update(ctx, changed)
}

func (w *webhookRules) get(ctx context.Context, name string, into client.Object) error {
	if err := w.client.Get(ctx, client.ObjectKey{Name: name}, into); err != nil {
		return fmt.Errorf("get the webhooks %s: %w", name, err)
	}
	return nil
}

func (w *webhookRules) update(ctx context.Context, changed client.Object) error {
	if err := w.client.Update(ctx, changed); err != nil {
		return fmt.Errorf("update the webhooks %s: %w", changed.GetName(), err)
	}
	return nil
}

// isAt tells whether a webhook is reached at the path: of a service, or of a URL.
func isAt(c admissionregistrationv1.WebhookClientConfig, path string) bool {
	if c.Service != nil {
		return ptr.Deref(c.Service.Path, "") == path
	}
	return c.URL != nil && len(*c.URL) > len(path) && (*c.URL)[len(*c.URL)-len(path):] == path
}

// moveTo has a webhook that is at one path reached at another.
func moveTo(c *admissionregistrationv1.WebhookClientConfig, from, to string) {
	if c.Service != nil {
		c.Service.Path = &to
		return
	}
	url := (*c.URL)[:len(*c.URL)-len(from)] + to
	c.URL = &url
}

// hookName is unique for each resource.
func hookName(prefix string, r schema.GroupVersionResource) string {
	return prefix + r.Resource + "." + r.Group + ".jobkinds.switchyard.dev"
}

// rules match namespaced objects of the resource.
func rules(r schema.GroupVersionResource, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{r.Group}, APIVersions: []string{r.Version}, Resources: []string{r.Resource},
			Scope: ptr.To(admissionregistrationv1.NamespacedScope),
		},
	}}
}
