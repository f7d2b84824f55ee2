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

// rank is what decides which of several Workloads a job keeps. The first difference counts.
type rank struct {
	// hasRecord reports whether the Workload says where the job may run, or how it has ended: nothing else does.
	hasRecord bool
	// isRetained is false for a Workload that is being deleted.
	isRetained bool
	// matchesJob tells that it asks for what the job asks for.
	matchesJob bool
	// hasQuota tells that it holds quota.
	hasQuota bool
}

// sortWorkloads puts first the Workload that a job with several should keep; of equals the oldest (contract: messages.md 5.7).
func (r *reconciler[T]) sortWorkloads(ctx context.Context, s *snapshot[T], list []kueue.Workload) error {
	if len(list) < 2 {
		return nil
	}
	worths := map[string]rank{}
	for i := range list {
		if !s.isOwnerOf(&list[i]) {
			continue
		}
		w, err := r.rankWorkload(ctx, s, &list[i])
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

// compare orders the Workloads of one job by what would be lost with them: a record of runs first, then being kept, fitting
// the job, and holding quota.
func (w rank) compare(v rank) int {
	yes := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(yes(w.hasRecord)-yes(v.hasRecord), yes(w.isRetained)-yes(v.isRetained), yes(w.matchesJob)-yes(v.matchesJob), yes(w.hasQuota)-yes(v.hasQuota))
}

// rankWorkload returns how much speaks for keeping one of several Workloads of a job.
func (r *reconciler[T]) rankWorkload(ctx context.Context, s *snapshot[T], wl *kueue.Workload) (rank, error) {
	probe := &snapshot[T]{job: s.job, wl: wl, facts: Facts{Now: s.facts.Now}}
	r.observeJob(probe)
	if err := r.observeWorkloadStatus(ctx, probe); err != nil {
		return rank{}, err
	}
	away, err := r.mayRunElsewhere(ctx, wl)
	if err != nil {
		return rank{}, err
	}
	w := rank{
		hasRecord:  probe.facts.Finished && probe.facts.FinishedAsJob || away,
		isRetained: !probe.facts.Deleting, hasQuota: workload.HasQuota(wl),
	}
	w.matchesJob, err = r.matchesJob(ctx, probe)
	return w, err
}

// matchesJob tells whether the Workload asks for what the job asks for: the pods, and the time that they may run.
func (r *reconciler[T]) matchesJob(ctx context.Context, s *snapshot[T]) (bool, error) {
	sets, err := r.composer.buildPodSets(ctx, s.job)
	if err != nil {
		return false, s.cannotCompose(err)
	}
	limit, err := parseMaxExecTime(s.job)
	if err != nil {
		return false, s.cannotCompose(err)
	}
	if r.opts.Gates.PrebuiltWorkloadName(s.job) == "" && !ptr.Equal(limit, s.wl.Spec.MaximumExecutionTimeSeconds) {
		return false, nil
	}
	var placement []Placement
	if s.wl.Status.Admission != nil {
		if placement, err = r.buildPlacements(ctx, s); err != nil {
			return false, client.IgnoreNotFound(err)
		}
	}
	return r.matchesWorkload(s, sets, placement), nil
}

// isOwnerOf tells whether the Workload is this very job's.
func (s *snapshot[T]) isOwnerOf(wl *kueue.Workload) bool {
	return !s.facts.JobDeleted && metav1.GetControllerOfNoCopy(wl).UID == s.job.GetUID()
}

// deleteExtras deletes the Workloads that the job does not need, and lets go of those that are on their way out. One that says that
// another cluster may run the job stays until its dispatcher says otherwise.
func (r *reconciler[T]) deleteExtras(ctx context.Context, s *snapshot[T]) ([]kube.Event, error) {
	var doomed []*kueue.Workload
	for _, wl := range s.extras {
		if wl.DeletionTimestamp.IsZero() {
			doomed = append(doomed, wl)
			continue
		}
		if away, err := r.mayRunElsewhere(ctx, wl); away || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := r.writer.patchObject(ctx, wl, withoutFinalizer(wl)); err != nil {
			return nil, err
		}
	}
	return r.deleteWorkload(ctx, doomed...)
}
