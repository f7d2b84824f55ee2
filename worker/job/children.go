package job

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
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
	if !awaited || !f.Suspended || f.Ended != nil || r.runsElsewhere(s.job) {
		return nil
	}
	decide := r.kind.Children != nil && r.kind.Children.Decide
	if f.Drained && r.opts.Gates.FastQuotaRelease || !f.Drained && !decide {
		return nil
	}
	all, holding, err := r.countChildren(ctx, s.job)
	if err != nil {
		return err
	}
	f.ChildrenHavePods = holding > 0
	f.Drained = f.Drained || all > 0 && holding == 0
	if r.kind.PodLabels == nil {
		return nil
	}
	return r.listMade(ctx, s.job, &corev1.PodList{}, r.kind.PodLabels(s.job), func(pod client.Object) {
		f.ChildrenHavePods = f.ChildrenHavePods || isMadeFor(pod, s.job) && isUnendedPod(pod)
	})
}

// countChildren returns how many jobs the job's own controller has made, and how many of those may have pods.
func (r *reconciler[T]) countChildren(ctx context.Context, job T) (all, holding int, err error) {
	children := r.kind.Children
	if children == nil || children.HoldsPods == nil {
		return 0, 0, nil
	}
	count := func(child client.Object) {
		if !metav1.IsControlledBy(child, job) {
			return
		}
		all++
		if children.HoldsPods(child) {
			holding++
		}
	}
	for _, list := range children.NewLists() {
		if err := r.listMade(ctx, job, list, children.Labels(job), count); err != nil {
			return 0, 0, err
		}
	}
	return all, holding, nil
}

// listMade visits the objects of one kind that carry the labels, as the API server has them. A kind that the cluster does not serve has none,
// and nothing carries labels that are not valid.
func (r *reconciler[T]) listMade(ctx context.Context, job T, list client.ObjectList, labels map[string]string, visit func(client.Object)) error {
	for _, value := range labels {
		if len(validation.IsValidLabelValue(value)) > 0 {
			return nil
		}
	}
	err := r.live.List(ctx, list, client.InNamespace(job.GetNamespace()), client.MatchingLabels(labels))
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list what the controller of %s %s made: %w", r.kind.GVK.Kind, job.GetName(), err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if child, ok := item.(client.Object); ok {
			visit(child)
		}
		return nil
	})
}

// isMadeFor tells whether a pod with the job's labels was made by its controller, which may not say so, or by a pod or a batch Job of the
// job.
func isMadeFor(pod, job client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref == nil || ref.UID == job.GetUID() || isPod(ref) || ref.APIVersion == batchv1.SchemeGroupVersion.String() && ref.Kind == "Job"
}

// isUnendedPod tells whether the pod needs what it asks for: it may be pending or terminating as well.
func isUnendedPod(child client.Object) bool {
	pod, ok := child.(*corev1.Pod)
	return ok && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
