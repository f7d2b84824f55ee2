package job

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// SetupWebhook implements Integration.
func (i integration[T]) SetupWebhook(mgr ctrl.Manager, o Options, enabled bool) error {
	h := &webhook[T]{kind: i.kind, opts: o, reader: mgr.GetClient(), live: mgr.GetAPIReader(), enabled: enabled}
	if _, untyped := any(i.kind.New()).(runtime.Unstructured); untyped {
		h.register(mgr.GetWebhookServer())
		return nil
	}
	err := ctrl.NewWebhookManagedBy(mgr, i.kind.New()).WithDefaulter(h).WithValidator(h).Complete()
	if err != nil {
		return fmt.Errorf("set up webhooks of %s: %w", i.kind.GVK.Kind, err)
	}
	return nil
}

// register serves the webhook of a kind whose objects have no Go type where those of other kinds would be.
func (h *webhook[T]) register(server ctrlwebhook.Server) {
	gvk, handlers := h.kind.GVK, h.handlers()
	suffix := strings.ReplaceAll(gvk.Group, ".", "-") + "-" + gvk.Version + "-" + strings.ToLower(gvk.Kind)
	server.Register("/mutate-"+suffix, &ctrlwebhook.Admission{Handler: handlers.Default})
	server.Register("/validate-"+suffix, &ctrlwebhook.Admission{Handler: handlers.Validate})
}

// webhook defaults and validates jobs of one kind (contract: kueue-api.md 3.1 rows webhook, 8.5).
type webhook[T client.Object] struct {
	kind         Kind[T]
	opts         Options
	reader, live client.Reader
	enabled      bool
}

// Default implements admission.Defaulter: it names the default queue and priority class, suspends the job if it is
// managed, and hands it to the dispatcher if its queue runs jobs on other clusters.
func (h *webhook[T]) Default(ctx context.Context, job T) error {
	if !h.enabled {
		return nil
	}
	if h.kind.Webhook.Default != nil {
		h.kind.Webhook.Default(job, h.opts.Gates)
	}
	selected, err := isNamespaceManaged(ctx, h.newReader(), h.opts.Namespaces, job.GetNamespace())
	if err != nil || !selected {
		return err
	}
	above, err := findAncestors(ctx, h.newReader(), &h.opts, job, h.kind.GVK)
	if err != nil || above.tooDeep || above.free || above.top != nil {
		return err
	}
	if err := h.defaultQueue(ctx, job); err != nil {
		return err
	}
	if !h.isManaged(job) {
		return nil
	}
	if err := h.defaultPriorityClass(ctx, job); err != nil {
		return err
	}
	if h.kind.Ignores != nil && h.kind.Ignores(job) {
		return nil
	}
	h.kind.SetSuspend(job, true)
	return h.defaultManagedBy(ctx, job)
}

func (h *webhook[T]) isManaged(job T) bool {
	return QueueName(job) != "" || h.opts.ManageJobsWithoutQueueName
}

// defaultQueue names the default LocalQueue if the job names none and the namespace has it.
func (h *webhook[T]) defaultQueue(ctx context.Context, job T) error {
	if QueueName(job) != "" {
		return nil
	}
	exists, err := h.hasDefaultQueue(ctx, job.GetNamespace())
	if err == nil && exists {
		setLabel(job, kueue.QueueNameLabel, string(kueue.DefaultLocalQueueName))
	}
	return err
}

// hasDefaultQueue reports whether the namespace has a LocalQueue for jobs that name none.
func (h *webhook[T]) hasDefaultQueue(ctx context.Context, namespace string) (bool, error) {
	key := client.ObjectKey{Namespace: namespace, Name: string(kueue.DefaultLocalQueueName)}
	return checkFound(h.reader.Get(ctx, key, &kueue.LocalQueue{}))
}

// defaultPriorityClass leaves jobs with a prebuilt Workload alone: that has its priority already.
func (h *webhook[T]) defaultPriorityClass(ctx context.Context, job T) error {
	if !h.opts.Gates.WorkloadPriorityClassDefault || job.GetLabels()[kueue.PriorityClassLabel] != "" || h.opts.Gates.PrebuiltWorkloadName(job) != "" {
		return nil
	}
	key := client.ObjectKey{Name: kueue.DefaultWorkloadPriorityClassName}
	found, err := checkFound(h.reader.Get(ctx, key, &kueue.WorkloadPriorityClass{}))
	if err == nil && found {
		setLabel(job, kueue.PriorityClassLabel, kueue.DefaultWorkloadPriorityClassName)
	}
	return err
}

// defaultManagedBy hands the job to the dispatcher if its queue dispatches, unless the user chose another manager.
func (h *webhook[T]) defaultManagedBy(ctx context.Context, job T) error {
	by := h.kind.ManagedBy
	if by == nil || QueueName(job) == "" {
		return nil
	}
	if manager := jobManager(&h.kind, job); manager != "" && manager != by.Default {
		return nil
	}
	dispatched, err := h.isDispatched(ctx, client.ObjectKey{Namespace: job.GetNamespace(), Name: QueueName(job)})
	if err == nil && dispatched {
		by.Set(job, kueue.MultiKueueControllerName)
	}
	return err
}

// isDispatched tells whether the ClusterQueue behind the LocalQueue asks for the multikueue check. Queues that do not
// exist, or not yet, ask for nothing.
func (h *webhook[T]) isDispatched(ctx context.Context, queue client.ObjectKey) (bool, error) {
	lq := &kueue.LocalQueue{}
	if found, err := checkFound(h.newReader().Get(ctx, queue, lq)); err != nil || !found {
		return false, err
	}
	cq := &kueue.ClusterQueue{}
	if found, err := checkFound(h.newReader().Get(ctx, client.ObjectKey{Name: string(lq.Spec.ClusterQueue)}, cq)); err != nil || !found {
		return false, err
	}
	if cq.Spec.AdmissionChecksStrategy == nil {
		return false, nil
	}
	for _, rule := range cq.Spec.AdmissionChecksStrategy.AdmissionChecks {
		check := &kueue.AdmissionCheck{}
		found, err := checkFound(h.newReader().Get(ctx, client.ObjectKey{Name: string(rule.Name)}, check))
		if err != nil || found && check.Spec.ControllerName == kueue.MultiKueueControllerName {
			return found, err
		}
	}
	return false, nil
}

func (h *webhook[T]) newReader() fallbackReader {
	return fallbackReader{Reader: h.reader, live: h.live}
}

// checkFound turns the answer of a Get into whether there is such an object.
func checkFound(err error) (bool, error) {
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("look up a default: %w", err)
	}
	return err == nil, nil
}

func setLabel(obj client.Object, key, value string) {
	labels := cloneMap(obj.GetLabels())
	labels[key] = value
	obj.SetLabels(labels)
}

var _ admission.Defaulter[client.Object] = &webhook[client.Object]{}
