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
	if !awaited || !f.Suspended || !f.Drained || f.Ended != nil || r.kind.Children == nil || r.opts.Gates.FastQuotaRelease || r.runsElsewhere(s.job) {
		return nil
	}
	list := r.kind.Children.NewList()
	labels := client.MatchingLabels(r.kind.Children.Labels(s.job))
	if err := r.live.List(ctx, list, client.InNamespace(s.job.GetNamespace()), labels); err != nil {
		return fmt.Errorf("list what the controller of %s %s made: %w", r.kind.GVK.Kind, s.job.GetName(), err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if child, ok := item.(client.Object); ok && metav1.IsControlledBy(child, s.job) && r.kind.Children.HoldsPods(child) {
			f.ChildrenHavePods = true
		}
		return nil
	})
}
