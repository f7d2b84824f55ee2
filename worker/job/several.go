package job

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// worth is what decides which of several Workloads a job keeps. The first difference counts.
type worth struct {
	// tells that the Workload says where the job may run, or how it has ended: nobody else knows.
	tells bool
	// stays is false for a Workload that is being deleted.
	stays bool
	// fits tells that it asks for what the job asks for.
	fits bool
	// holds tells that it holds quota.
	holds bool
}

// sortByWorth puts first the Workload that a job with several should keep; of equals the oldest (contract: messages.md 5.7).
func (r *reconciler[T]) sortByWorth(ctx context.Context, s *sight[T], list []kueue.Workload) error {
	if len(list) < 2 {
		return nil
	}
	worths := map[string]worth{}
	for i := range list {
		if !s.owns(&list[i]) {
			continue
		}
		w, err := r.worth(ctx, s, &list[i])
		if err != nil {
			return err
		}
		worths[list[i].Name] = w
	}
	slices.SortFunc(list, func(a, b kueue.Workload) int {
		return cmp.Or(worths[b.Name].compare(worths[a.Name]), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

func (w worth) compare(v worth) int {
	yes := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(yes(w.tells)-yes(v.tells), yes(w.stays)-yes(v.stays), yes(w.fits)-yes(v.fits), yes(w.holds)-yes(v.holds))
}

func (r *reconciler[T]) worth(ctx context.Context, s *sight[T], wl *kueue.Workload) (worth, error) {
	probe := &sight[T]{job: s.job, wl: wl, facts: Facts{Now: s.facts.Now}}
	r.observeJob(probe)
	r.observeLife(probe)
	away, err := r.mayBeAway(ctx, wl)
	if err != nil {
		return worth{}, err
	}
	w := worth{
		tells: probe.facts.Finished && probe.facts.FinishedAsJob || away,
		stays: !probe.facts.Deleting, holds: workload.HasQuota(wl),
	}
	w.fits, err = r.fits(ctx, probe)
	return w, err
}

// fits tells whether the Workload asks for what the job asks for: the pods, and the time that they may run.
func (r *reconciler[T]) fits(ctx context.Context, s *sight[T]) (bool, error) {
	sets, err := r.compose.podSets(s.job)
	if err != nil {
		return false, s.cannotCompose(err)
	}
	limit, err := maxExecTime(s.job)
	if err != nil {
		return false, s.cannotCompose(err)
	}
	if r.opts.Gates.PrebuiltWorkloadName(s.job) == "" && !ptr.Equal(limit, s.wl.Spec.MaximumExecutionTimeSeconds) {
		return false, nil
	}
	var placement []Placement
	if s.wl.Status.Admission != nil {
		if placement, err = r.placement(ctx, s); err != nil {
			return false, client.IgnoreNotFound(err)
		}
	}
	return r.matches(s, sets, placement), nil
}

// owns tells whether the Workload is this very job's.
func (s *sight[T]) owns(wl *kueue.Workload) bool {
	return !s.facts.Gone && metav1.GetControllerOfNoCopy(wl).UID == s.job.GetUID()
}

// deleteExtras deletes the Workloads that the job does not need, and lets go of those that are on their way out. One that says that
// another cluster may run the job stays until its dispatcher says otherwise.
func (r *reconciler[T]) deleteExtras(ctx context.Context, s *sight[T]) ([]kube.Event, error) {
	var doomed []*kueue.Workload
	for _, wl := range s.extras {
		if wl.DeletionTimestamp.IsZero() {
			doomed = append(doomed, wl)
			continue
		}
		if away, err := r.mayBeAway(ctx, wl); away || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := r.patch(ctx, wl, withoutFinalizer(wl)); err != nil {
			return nil, err
		}
	}
	return r.delete(ctx, doomed...)
}
