package job

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observeChildren finds out, when that is all that keeps quota from being given back, whether what the job's own controller made,
// jobs or pods, still holds pods. It asks the API server: what a cache does not show yet may hold a device. An ancestor's quota is not
// released here, nor is that of a job whose children are on another cluster.
func (r *reconciler[T]) observeChildren(ctx context.Context, s *snapshot[T]) error {
	f := &s.facts
	awaited := f.Deleting || f.Evicted && f.Reserved || f.Finished && !f.FinishedAsJob || f.Link == LinkOutOfSync
	if !awaited || !f.Suspended || !f.Drained || f.Ended != nil || r.opts.Gates.FastQuotaRelease || r.runsElsewhere(s.job) {
		return nil
	}
	if children := r.kind.Children; children != nil && children.HoldsPods != nil {
		for _, list := range children.NewLists() {
			holds := func(child client.Object) bool {
				return metav1.IsControlledBy(child, s.job) && children.HoldsPods(child)
			}
			if err := r.observeChildList(ctx, s, list, children.Labels(s.job), holds); err != nil {
				return err
			}
		}
	}
	if r.kind.PodLabels == nil {
		return nil
	}
	holds := func(pod client.Object) bool { return isMadeFor(pod, s.job) && isUnendedPod(pod) }
	return r.observeChildList(ctx, s, &corev1.PodList{}, r.kind.PodLabels(s.job), holds)
}

// observeChildList looks among objects of one kind that carry the labels for children that hold pods. A kind that the cluster does not
// serve has none, and nothing carries labels that are not valid.
func (r *reconciler[T]) observeChildList(
	ctx context.Context, s *snapshot[T], list client.ObjectList, labels map[string]string, holdsPods func(client.Object) bool,
) error {
	for _, value := range labels {
		if len(validation.IsValidLabelValue(value)) > 0 {
			return nil
		}
	}
	err := r.live.List(ctx, list, client.InNamespace(s.job.GetNamespace()), client.MatchingLabels(labels))
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list what the controller of %s %s made: %w", r.kind.GVK.Kind, s.job.GetName(), err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if child, ok := item.(client.Object); ok && holdsPods(child) {
			s.facts.ChildrenHavePods = true
		}
		return nil
	})
}

// isMadeFor tells whether a pod with the job's labels was made by its controller, which may not say so, or by another pod of the job.
func isMadeFor(pod, job client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref == nil || ref.UID == job.GetUID() || ref.APIVersion == "v1" && ref.Kind == "Pod"
}

// isUnendedPod tells whether the pod needs what it asks for: it may be pending or terminating as well.
func isUnendedPod(child client.Object) bool {
	pod, ok := child.(*corev1.Pod)
	return ok && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
