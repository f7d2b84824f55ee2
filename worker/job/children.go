package job

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observeChildren finds out, when that is all that keeps quota from being given back, whether jobs that the job's own controller
// made still have pods. It asks the API server: what a cache does not show yet may hold a device. An ancestor's quota is not
// released here, nor is that of a job whose children are on another cluster.
func (r *reconciler[T]) observeChildren(ctx context.Context, s *snapshot[T]) error {
	f := &s.facts
	awaited := f.Deleting || f.Evicted && f.Reserved || f.Finished && !f.FinishedAsJob || f.Link == LinkOutOfSync
	children := r.kind.Children
	if !awaited || !f.Suspended || !f.Drained || f.Ended != nil || children == nil || children.HoldsPods == nil || r.opts.Gates.FastQuotaRelease || r.runsElsewhere(s.job) {
		return nil
	}
	for _, list := range children.NewLists() {
		if err := r.observeChildList(ctx, s, list); err != nil {
			return err
		}
	}
	return nil
}

// observeChildList looks for pods of the job's children of one kind. A kind that the cluster does not serve has none.
func (r *reconciler[T]) observeChildList(ctx context.Context, s *snapshot[T], list client.ObjectList) error {
	f := &s.facts
	labels := client.MatchingLabels(r.kind.Children.Labels(s.job))
	err := r.live.List(ctx, list, client.InNamespace(s.job.GetNamespace()), labels)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list what the controller of %s %s made: %w", r.kind.GVK.Kind, s.job.GetName(), err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if child, ok := item.(client.Object); ok && metav1.IsControlledBy(child, s.job) && r.kind.Children.HoldsPods(child) {
			f.ChildrenHavePods = true
		}
		return nil
	})
}
