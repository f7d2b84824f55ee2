package podwebhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/job/podgroup/rolehash"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Webhook defaults and validates pods. Make one with [New].
type Webhook struct {
	opts     job.Options
	enabled  bool
	rules    *job.WebhookRules[*corev1.Pod]
	owners   job.PodOwners
	creators *creators
}

// New returns the handlers. What the client does not have in its cache is looked for with the live reader. With enabled false they
// accept everything unchanged.
func New(o job.Options, c client.Client, live client.Reader, enabled bool) *Webhook {
	h := &Webhook{opts: o, enabled: enabled, creators: newCreators(c)}
	kind := job.Kind[*corev1.Pod]{GVK: podmeta.GVK(), Suspended: podmeta.IsSuspended, Webhook: job.Webhook[*corev1.Pod]{Validate: h.validate}}
	h.rules = job.NewWebhookRules(kind, o, c, live)
	h.owners = job.PodOwners{Options: &h.opts, Cached: c, Live: live, Controls: h.creators.controls}
	return h
}

var (
	_ admission.Defaulter[*corev1.Pod] = &Webhook{}
	_ admission.Validator[*corev1.Pod] = &Webhook{}
)

// Default implements admission.Defaulter. Doing it again changes nothing.
func (h *Webhook) Default(ctx context.Context, pod *corev1.Pod) error {
	if !h.enabled || !podmeta.IsServed(pod, &h.opts) {
		return nil
	}
	if !podmeta.HasSuspendingParent(pod) { // the parent's integration marks the pod, and needs no finalizer on it
		managed, err := h.defaultQueue(ctx, pod)
		if err != nil || !managed {
			return err
		}
		metav1.SetMetaDataLabel(&pod.ObjectMeta, kueue.ManagedLabel, kueue.ManagedLabelValue)
		controllerutil.AddFinalizer(pod, kueue.ManagedFinalizer)
	}
	podmeta.AddGate(pod, kueue.AdmissionSchedulingGate)
	if h.opts.Gates.Topology {
		podmeta.AddGate(pod, kueue.TopologySchedulingGate)
		setIndex(pod)
	}
	return setRole(pod)
}

// defaultQueue names the default queue and priority class for a managed pod that names none, and reports whether the pod is managed: its
// namespace is, it has a queue or needs none, and no managed job pays for it.
func (h *Webhook) defaultQueue(ctx context.Context, pod *corev1.Pod) (bool, error) {
	selected, err := h.rules.IsNamespaceManaged(ctx, pod.Namespace)
	if err != nil || !selected {
		return false, err
	}
	trial := &corev1.Pod{ObjectMeta: *pod.ObjectMeta.DeepCopy()}
	if err := h.rules.DefaultQueue(ctx, trial); err != nil || !h.rules.IsManaged(trial) {
		return false, err
	}
	covered, err := h.owners.Cover(ctx, pod)
	if err != nil || covered {
		return false, err
	}
	pod.Labels = trial.Labels
	return true, h.rules.DefaultPriorityClass(ctx, pod)
}

// setIndex copies the rank of the pod from the label that it names.
func setIndex(pod *corev1.Pod) {
	if rank, found := pod.Labels[pod.Annotations[kueue.PodGroupPodIndexLabelAnnotation]]; found {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, kueue.PodGroupPodIndexLabel, rank)
	}
}

// setRole says which role the pod has, unless that is said already.
func setRole(pod *corev1.Pod) error {
	if pod.Annotations[kueue.RoleHashAnnotation] != "" {
		return nil
	}
	role, err := rolehash.Compute(&pod.Spec)
	if err != nil {
		return fmt.Errorf("compute the role of the pod: %w", err)
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueue.RoleHashAnnotation, role)
	return nil
}
