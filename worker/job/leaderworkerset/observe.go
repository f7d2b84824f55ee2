package leaderworkerset

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/workload"
)

// snapshot is what one reconcile sees. Objects in it may be the cache's own and must not be changed.
type snapshot struct {
	facts Facts
	set   *lwsv1.LeaderWorkerSet
	// pods are those of sets of the name; podFacts is what decides about them.
	pods     []*corev1.Pod
	podFacts []podFacts
	// workloads are those of facts.Workloads; desired, by the same place, what they should be, nil where that is not known.
	workloads []*kueue.Workload
	desired   []*kueue.Workload
	// podSets are what each group asks for.
	podSets []kueue.PodSet
	// problem is what the user has to know or to change (Unknown).
	problem problem
}

// problem is why nobody can say what groups ask for: a priority class that does not exist, or else what is wrong with the set.
type problem struct {
	classKind, class string
	message          string
}

// observe reads the set, its Workloads and its pods.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName) (*snapshot, error) {
	s := &snapshot{set: &lwsv1.LeaderWorkerSet{}, facts: Facts{Now: r.Options.Clock.Now()}}
	err := r.Client.Get(ctx, key, s.set)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get LeaderWorkerSet: %w", err)
	}
	if err == nil && s.set.DeletionTimestamp.IsZero() && isMarked(s.set) {
		if s.facts.Managed, err = r.Groups.IsManaged(ctx, s.set); err != nil {
			return nil, err
		}
	}
	if s.pods, err = r.ListPods(ctx, key); err != nil {
		return nil, err
	}
	if err := r.observeWorkloads(ctx, key, s); err != nil {
		return nil, err
	}
	s.podFacts, err = r.observePods(ctx, s)
	return s, err
}

// observeWorkloads reads the Workloads of sets of the name, and prepares what those of this one should be.
func (r *reconciler) observeWorkloads(ctx context.Context, key types.NamespacedName, s *snapshot) error {
	workloads, err := r.ListWorkloads(ctx, key)
	if err != nil {
		return err
	}
	f := &s.facts
	if f.Managed {
		f.Copy, f.Groups = serving.IsCopy(s.set), groupCount(s.set)
		if s.podSets, err = podSets(s.set); err != nil {
			f.Unknown, s.problem.message = true, err.Error()
		}
	}
	used := r.usedGroups(s.pods)
	for i := range workloads {
		wl := &workloads[i]
		facts, desired, err := r.observeWorkload(ctx, s, wl)
		if err != nil {
			return err
		}
		facts.Used = used[wl.Name]
		f.Workloads, s.workloads, s.desired = append(f.Workloads, facts), append(s.workloads, wl), append(s.desired, desired)
	}
	return nil
}

// usedGroups are the groups, by name, of which pods use quota.
func (r *reconciler) usedGroups(pods []*corev1.Pod) map[string]bool {
	used := map[string]bool{}
	for _, pod := range pods {
		if serving.Uses(pod, r.Options.Gates.FastQuotaRelease) {
			used[r.Options.Gates.PrebuiltWorkloadName(pod)] = true
		}
	}
	return used
}

// observeWorkload reads one Workload, and what it should be if it is one of the set's and that can be said.
func (r *reconciler) observeWorkload(ctx context.Context, s *snapshot, wl *kueue.Workload) (Workload, *kueue.Workload, error) {
	f := Workload{
		Own: serving.IsOwnedBy(wl, s.set) && metav1.GetControllerOfNoCopy(wl) == nil, Index: -1, CacheBehind: r.Writer.IsBehind(wl),
		Deleting: !wl.DeletionTimestamp.IsZero(), Finished: workload.IsFinished(wl),
	}
	if controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer) {
		f.Guarded = f.Own || r.Groups.IsOurs(wl, func(set string) string { return set + "-" + wl.Annotations[kueue.ComponentWorkloadIndexAnnotation] })
	}
	if !f.Own || !s.facts.Managed || s.facts.Copy {
		return f, nil, nil
	}
	index, err := strconv.Atoi(wl.Annotations[kueue.ComponentWorkloadIndexAnnotation])
	if err == nil && r.Groups.WorkloadName(s.set, groupName(s.set, index)) == wl.Name {
		f.Index = index
	}
	f.Refused = f.Finished && s.podSets != nil && !job.SamePodSets(s.podSets, wl.Spec.PodSets)
	if f.Index < 0 || f.Deleting || f.Finished {
		return f, nil, nil
	}
	desired, outdated, err := r.Groups.Follow(ctx, wl, serving.Group{Owner: s.set, Name: groupName(s.set, index), Index: &index})
	f.Outdated = outdated
	return f, desired, s.lacksClass(err)
}

// lacksClass keeps an error about a missing priority class as a fact, and returns all others.
func (s *snapshot) lacksClass(err error) error {
	if kind, name := job.MissingPriorityClass(err); kind != "" {
		s.facts.Unknown, s.problem.classKind, s.problem.class = true, kind, name
		return nil
	}
	return err
}
