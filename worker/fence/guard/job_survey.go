package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// releaseIndex is the index of the Workloads whose jobs have been told to stop and have not; all of them are under anyWait.
const releaseIndex = "fence.release"

// releaseIndexValues are the values of that index for a Workload.
func releaseIndexValues(object client.Object) []string {
	if wl, ok := object.(*kueue.Workload); ok && !evictedAt(wl).IsZero() {
		return []string{anyWait}
	}
	return nil
}

// evictedAt is when the Workload's job was told to stop, if it has not yet; else zero.
func evictedAt(wl *kueue.Workload) time.Time {
	if !wl.DeletionTimestamp.IsZero() {
		if controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer) && workload.HasQuota(wl) {
			return wl.DeletionTimestamp.Time
		}
		return time.Time{}
	}
	evicted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted == nil || evicted.Status != metav1.ConditionTrue || !workload.HasQuota(wl) || workload.IsFinished(wl) {
		return time.Time{}
	}
	return evicted.LastTransitionTime.Time
}

// jobSurvey reads from the cache what the jobs of the cluster wait for.
type jobSurvey struct {
	reader client.Reader
	kinds  []job.Integration
	now    time.Time
	failed *multierror.Error
}

// listWaits are all waits, of jobs and of Workloads.
func (s *jobSurvey) listWaits(ctx context.Context) []fence.Wait {
	var all []fence.Wait
	for _, kind := range s.kinds {
		s.forEach(ctx, kind, func(obj client.Object) {
			reaction, grace := kind.ExpectedReaction(obj)
			if reaction == "" {
				return
			}
			w := fence.Wait{WaitID: identify(kind, obj, reaction), Grace: grace}
			if at := obj.GetDeletionTimestamp(); at != nil {
				w.Age = max(s.now.Sub(at.Time), 0)
			}
			all = append(all, w)
		}, client.MatchingFields{waitIndex: anyWait})
	}
	var told kueue.WorkloadList
	if err := s.reader.List(ctx, &told, client.MatchingFields{releaseIndex: anyWait}, client.UnsafeDisableDeepCopy); err != nil {
		s.recordError("list the workloads that have been told to stop", err)
	}
	for i := range told.Items {
		if id, ok := s.releaseWait(ctx, &told.Items[i]); ok {
			all = append(all, fence.Wait{WaitID: id, Grace: job.TerminationGracePeriod(told.Items[i].Spec.PodSets), Age: max(s.now.Sub(evictedAt(&told.Items[i])), 0)})
		}
	}
	return all
}

// releaseWait finds the Workload's job, if that is of a kind that is followed, and run here.
func (s *jobSurvey) releaseWait(ctx context.Context, wl *kueue.Workload) (fence.WaitID, bool) {
	owner := metav1.GetControllerOfNoCopy(wl)
	if owner == nil {
		return fence.WaitID{}, false
	}
	group := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	for _, kind := range s.kinds {
		if kind.GVK().GroupKind() != group {
			continue
		}
		obj := kind.New()
		err := s.reader.Get(ctx, client.ObjectKey{Namespace: wl.Namespace, Name: owner.Name}, obj)
		if client.IgnoreNotFound(err) != nil {
			s.recordError("get the job of a workload that was told to stop", err)
		}
		return identify(kind, obj, fence.QuotaReleased), err == nil && obj.GetUID() == owner.UID && kind.IsLocal(obj)
	}
	return fence.WaitID{}, false
}

func identify(kind job.Integration, obj client.Object, reaction fence.Reaction) fence.WaitID {
	return fence.WaitID{
		Kind: kindName(kind), Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: string(obj.GetUID()), For: reaction,
	}
}

func kindName(kind job.Integration) string { return kind.GVK().GroupKind().String() }

// exists tells whether the job of a wait is still there.
func (s *jobSurvey) exists(ctx context.Context) func(fence.WaitID) bool {
	return func(id fence.WaitID) bool {
		for _, kind := range s.kinds {
			if kindName(kind) != id.Kind {
				continue
			}
			obj := kind.New()
			err := s.reader.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, obj)
			if client.IgnoreNotFound(err) != nil {
				s.recordError("look for a job that was overdue", err)
			}
			return err == nil && string(obj.GetUID()) == id.UID
		}
		return false
	}
}

// lastUpdates is when controllers of a kind have last done anything. It walks through all jobs of the kind, once.
func (s *jobSurvey) lastUpdates(ctx context.Context) func(string) time.Time {
	known := map[string]time.Time{}
	return func(name string) time.Time {
		for _, kind := range s.kinds {
			if _, done := known[name]; done || kindName(kind) != name {
				continue
			}
			var latest time.Time
			s.forEach(ctx, kind, func(obj client.Object) {
				if at := kind.LastControllerUpdate(obj); at.After(latest) {
					latest = at
				}
			})
			known[name] = latest
		}
		return known[name]
	}
}

// forEach visits the jobs of a kind as the cache has them; they must not be changed.
func (s *jobSurvey) forEach(ctx context.Context, kind job.Integration, visit func(client.Object), options ...client.ListOption) {
	list := kind.NewList()
	if err := s.reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		s.recordError("list jobs of kind "+kind.Name(), err)
		return
	}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if obj, ok := item.(client.Object); ok {
			visit(obj)
		}
		return nil
	})
	if err != nil {
		s.recordError("read jobs of kind "+kind.Name(), err)
	}
}

func (s *jobSurvey) recordError(doing string, err error) {
	s.failed = multierror.Append(s.failed, fmt.Errorf("%s: %w", doing, err))
}
