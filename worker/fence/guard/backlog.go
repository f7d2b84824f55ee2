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

// byRelease is the index of the Workloads whose jobs have been told to stop and have not; all of them are under anyWait.
const byRelease = "fence.release"

// releases are the values of that index for a Workload.
func releases(object client.Object) []string {
	if wl, ok := object.(*kueue.Workload); ok && !toldAt(wl).IsZero() {
		return []string{anyWait}
	}
	return nil
}

// toldAt is when the Workload's job was told to stop, if it has not yet; else zero.
func toldAt(wl *kueue.Workload) time.Time {
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

// survey reads from the cache what the jobs of the cluster wait for.
type survey struct {
	reader client.Reader
	kinds  []job.Integration
	now    time.Time
	failed *multierror.Error
}

// waits are all waits, of jobs and of Workloads.
func (s *survey) waits(ctx context.Context) []fence.Wait {
	var all []fence.Wait
	for _, kind := range s.kinds {
		s.each(ctx, kind, func(obj client.Object) {
			reaction, grace := kind.ExpectedReaction(obj)
			if reaction == "" {
				return
			}
			w := fence.Wait{WaitID: identify(kind, obj, reaction), Grace: grace}
			if at := obj.GetDeletionTimestamp(); at != nil {
				w.Age = max(s.now.Sub(at.Time), 0)
			}
			all = append(all, w)
		}, client.MatchingFields{byWait: anyWait})
	}
	var told kueue.WorkloadList
	if err := s.reader.List(ctx, &told, client.MatchingFields{byRelease: anyWait}, client.UnsafeDisableDeepCopy); err != nil {
		s.fail("list the workloads that have been told to stop", err)
	}
	for i := range told.Items {
		if id, ok := s.releasing(ctx, &told.Items[i]); ok {
			all = append(all, fence.Wait{WaitID: id, Grace: job.TerminationGracePeriod(told.Items[i].Spec.PodSets), Age: max(s.now.Sub(toldAt(&told.Items[i])), 0)})
		}
	}
	return all
}

// releasing finds the Workload's job, if that is of a kind that is followed, and run here.
func (s *survey) releasing(ctx context.Context, wl *kueue.Workload) (fence.WaitID, bool) {
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
			s.fail("get the job of a workload that was told to stop", err)
		}
		return identify(kind, obj, fence.Released), err == nil && obj.GetUID() == owner.UID && kind.IsLocal(obj)
	}
	return fence.WaitID{}, false
}

func identify(kind job.Integration, obj client.Object, reaction fence.Reaction) fence.WaitID {
	return fence.WaitID{
		Kind: kindOf(kind), Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: string(obj.GetUID()), For: reaction,
	}
}

func kindOf(kind job.Integration) string { return kind.GVK().GroupKind().String() }

// exists tells whether the job of a wait is still there.
func (s *survey) exists(ctx context.Context) func(fence.WaitID) bool {
	return func(id fence.WaitID) bool {
		for _, kind := range s.kinds {
			if kindOf(kind) != id.Kind {
				continue
			}
			obj := kind.New()
			err := s.reader.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, obj)
			if client.IgnoreNotFound(err) != nil {
				s.fail("look for a job that was overdue", err)
			}
			return err == nil && string(obj.GetUID()) == id.UID
		}
		return false
	}
}

// acted is when controllers of a kind have last done anything. It walks through all jobs of the kind, once.
func (s *survey) acted(ctx context.Context) func(string) time.Time {
	known := map[string]time.Time{}
	return func(name string) time.Time {
		for _, kind := range s.kinds {
			if _, done := known[name]; done || kindOf(kind) != name {
				continue
			}
			var latest time.Time
			s.each(ctx, kind, func(obj client.Object) {
				if at := kind.LastControllerUpdate(obj); at.After(latest) {
					latest = at
				}
			})
			known[name] = latest
		}
		return known[name]
	}
}

// each visits the jobs of a kind as the cache has them; they must not be changed.
func (s *survey) each(ctx context.Context, kind job.Integration, visit func(client.Object), options ...client.ListOption) {
	list := kind.NewList()
	if err := s.reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		s.fail("list jobs of kind "+kind.Name(), err)
		return
	}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if obj, ok := item.(client.Object); ok {
			visit(obj)
		}
		return nil
	})
	if err != nil {
		s.fail("read jobs of kind "+kind.Name(), err)
	}
}

func (s *survey) fail(doing string, err error) {
	s.failed = multierror.Append(s.failed, fmt.Errorf("%s: %w", doing, err))
}
