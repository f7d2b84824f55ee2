package job

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-multierror"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// deleteJob deletes the job as it was seen, and its pods and its Workload in the background (contract: kueue-api.md 4.16,
// retention afterDeactivatedByKueue).
func (r *reconciler[T]) deleteJob(ctx context.Context, s *snapshot[T]) ([]kube.Event, error) {
	uid, version := s.job.GetUID(), s.job.GetResourceVersion()
	err := r.client.Delete(ctx, deepCopy(s.job), client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("delete %s %s/%s: %w", r.kind.GVK.Kind, s.job.GetNamespace(), s.job.GetName(), err)
	}
	events := newEvents(kueue.EventDeleted, "Deleted job: deactivation retention period expired")
	kube.RecordEvents(r.recorder, s.wl, events...)
	return events, nil
}

// orphanFinisher lets go of Workloads whose job is gone.
type orphanFinisher[T client.Object] struct {
	kind   *Kind[T]
	opts   *Options
	live   client.Reader
	writer *writer
}

// forgetOrphans lets go of Workloads that no job needs any more. One that has neither been deleted nor finished is first told
// that its job is gone, which also frees its quota (contract: kueue-api.md 4.16, orphan WL).
func (o *orphanFinisher[T]) forgetOrphans(ctx context.Context, list []*kueue.Workload) error {
	var failed *multierror.Error
	for _, wl := range list {
		if err := o.forgetOrphan(ctx, wl); err != nil {
			failed = multierror.Append(failed, err)
		}
	}
	return failed.ErrorOrNil()
}

// forgetOrphan finishes a Workload whose job is gone, if that is asked for, and takes the finalizer off.
func (o *orphanFinisher[T]) forgetOrphan(ctx context.Context, wl *kueue.Workload) error {
	orphaned, err := o.isOrphan(ctx, wl)
	if err != nil {
		return err
	}
	if orphaned {
		wl = wl.DeepCopy()
		workload.Finish(wl, kueue.ReasonOwnerNotFound, "The workload's owner no longer exists", o.opts.Clock.Now())
		err := o.writer.applyAdmission(ctx, wl)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return o.writer.patchObject(ctx, wl, withoutFinalizer(wl))
}

// mayBeOrphan tells whether the Workload is one to be finished if its job is gone. A copy from a hub must not report an end
// that its job did not have.
func (o *orphanFinisher[T]) mayBeOrphan(wl *kueue.Workload) bool {
	return o.opts.Gates.FinishOrphanedWorkloads && !workload.IsFinished(wl) && wl.DeletionTimestamp.IsZero() && !workload.IsRemoteCopy(wl)
}

// isOrphan tells whether the Workload is to be finished because its job is gone, which a live read has to confirm. A job
// that is on its way out takes its Workload along.
func (o *orphanFinisher[T]) isOrphan(ctx context.Context, wl *kueue.Workload) (bool, error) {
	if !o.mayBeOrphan(wl) {
		return false, nil
	}
	ref := metav1.GetControllerOfNoCopy(wl)
	owner := o.kind.New()
	err := o.live.Get(ctx, client.ObjectKey{Namespace: wl.Namespace, Name: ref.Name}, owner)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get %s %s/%s: %w", o.kind.GVK.Kind, wl.Namespace, ref.Name, err)
	}
	return apierrors.IsNotFound(err) || owner.GetUID() != ref.UID, nil
}
