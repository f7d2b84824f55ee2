package job

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// composer returns what the rules have in common with the reconcilers of kinds.
func (r Rules) composer() composer[client.Object] {
	return composer[client.Object]{kind: &r.webhook.kind, opts: &r.webhook.opts, reader: r.webhook.newReader()}
}

// NewWorkload returns a Workload for the object, in its namespace and queue, with its priority and what it says about its admission.
// It belongs to nobody yet. [MissingPriorityClass] tells of an error that a priority class does not exist.
func (r Rules) NewWorkload(ctx context.Context, obj client.Object, name string, podSets []kueue.PodSet) (*kueue.Workload, error) {
	c := r.composer()
	p, err := c.resolvePriority(ctx, obj, podSets)
	if err != nil {
		return nil, err
	}
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: obj.GetNamespace(), Labels: c.labels(obj), Annotations: c.annotations(obj),
			Finalizers: []string{kueue.ResourceInUseFinalizer},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: kueue.LocalQueueName(QueueName(obj)), PodSets: podSets, Priority: &p.value, PriorityClassRef: p.ref,
		},
	}, nil
}

// Sync makes queue, priority and gates of a Workload those of the object, as far as the Workload can still follow. Its argument is the
// caller's own.
func (r Rules) Sync(ctx context.Context, obj client.Object, wl *kueue.Workload) error {
	if queue := kueue.LocalQueueName(QueueName(obj)); wl.Status.Admission == nil && queue != "" {
		wl.Spec.QueueName = queue
	}
	syncGates(obj, wl)
	return r.composer().syncPriority(ctx, obj, wl)
}

// MissingPriorityClass names the priority class, and its kind, that an error says does not exist; both are empty if it says something else.
func MissingPriorityClass(err error) (kind, name string) {
	var missing *missingClassError
	if !errors.As(err, &missing) {
		return "", ""
	}
	return missing.class.kind, missing.class.name
}
