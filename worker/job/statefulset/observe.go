package statefulset

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/workload"
)

// snapshot is what one reconcile sees. Objects in it may be the cache's own and must not be changed.
type snapshot struct {
	facts Facts
	set   *appsv1.StatefulSet
	// pods are those of the set.
	pods []*corev1.Pod
	// wl is the set's Workload, nil if there is none; leftovers are Workloads that only our finalizer keeps.
	wl        *kueue.Workload
	leftovers []*kueue.Workload
	// desired is the Workload to create (DoCreate), or as it should be (DoUpdate).
	desired *kueue.Workload
	// replacing is the set as it is stored if a rollout of it replaces pods that wait, else nil.
	replacing *appsv1.StatefulSet
	// missing names the class that does not exist (ClassMissing).
	missing missingClass
}

type missingClass struct{ kind, name string }

// observe reads the set, its Workload and its pods.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName) (*snapshot, error) {
	s := &snapshot{set: &appsv1.StatefulSet{}, facts: Facts{Now: r.Options.Clock.Now()}}
	err := r.Client.Get(ctx, key, s.set)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get StatefulSet: %w", err)
	}
	exists := err == nil && s.set.DeletionTimestamp.IsZero()
	if s.pods, err = r.ListPods(ctx, key); err != nil {
		return nil, err
	}
	s.countPods(s.pods, r.Options.Gates.FastQuotaRelease)
	if err := r.observeLeftovers(ctx, key, s); err != nil || !exists || !isMarked(s.set) {
		return s, err
	}
	if s.facts.Managed, err = r.Groups.IsManaged(ctx, s.set); err != nil || !s.facts.Managed {
		return s, err
	}
	s.facts.Copy, s.facts.Replicas = serving.IsCopy(s.set), replicas(s.set)
	if !s.facts.Copy {
		if err := r.observeWorkload(ctx, s); err != nil {
			return s, err
		}
	}
	return s, r.observeRollout(ctx, s)
}

// countPods tells whether pods of the set use quota.
func (s *snapshot) countPods(pods []*corev1.Pod, fast bool) {
	own := func(uses func(*corev1.Pod, bool) bool) bool {
		return slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, s.set) && uses(p, fast) })
	}
	s.facts.PodsUse, s.facts.PodsExist = own(serving.Uses), own(serving.MayUse)
}

// observeLeftovers finds Workloads that are being deleted and whose group uses no quota any more.
func (r *reconciler) observeLeftovers(ctx context.Context, key types.NamespacedName, s *snapshot) error {
	workloads, err := r.ListWorkloads(ctx, key)
	if err != nil {
		return err
	}
	for i := range workloads {
		wl := &workloads[i]
		used := slices.ContainsFunc(s.pods, func(p *corev1.Pod) bool {
			return r.Options.Gates.PrebuiltWorkloadName(p) == wl.Name && serving.Uses(p, r.Options.Gates.FastQuotaRelease)
		})
		guarded := !wl.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer)
		if guarded && !used && r.Groups.IsOurs(wl, func(set string) string { return set }) {
			s.leftovers = append(s.leftovers, wl)
		}
	}
	s.facts.Leftovers = len(s.leftovers) > 0
	return nil
}

// observeRollout finds out, when a rollout seems to replace pods that wait, whether it does: by then it may be another one. Pods of a set that
// runs on another cluster wait for ever.
func (r *reconciler) observeRollout(ctx context.Context, s *snapshot) error {
	if !slices.ContainsFunc(s.ownPods(), func(p *corev1.Pod) bool { return serving.IsWaiting(p) && isReplaced(s.set, p) }) {
		return nil
	}
	if s.wl != nil {
		if away, err := job.IsDispatched(ctx, r.Client, s.wl); err != nil || away {
			return err
		}
	}
	stored := &appsv1.StatefulSet{}
	err := r.Writer.Live.Get(ctx, client.ObjectKeyFromObject(s.set), stored)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get StatefulSet %s/%s: %w", s.set.Namespace, s.set.Name, err)
	}
	if err == nil && stored.UID == s.set.UID {
		s.replacing = stored
	}
	return nil
}

// ownPods are the pods of this very set.
func (s *snapshot) ownPods() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.pods), func(p *corev1.Pod) bool { return !metav1.IsControlledBy(p, s.set) })
}

// group is what the set's pods ask for. Labels and annotations of the template are no part of it.
func (s *snapshot) group() serving.Group {
	g := serving.Group{Owner: s.set, Name: s.set.Name}
	if s.facts.Replicas > 0 {
		g.PodSets = []kueue.PodSet{{
			Name: podSetName, Count: s.facts.Replicas, Template: corev1.PodTemplateSpec{Spec: *s.set.Spec.Template.Spec.DeepCopy()},
		}}
	}
	return g
}

// observeWorkload reads the set's Workload, and prepares what follows.
func (r *reconciler) observeWorkload(ctx context.Context, s *snapshot) error {
	if err := r.findWorkload(ctx, s); err != nil {
		return err
	}
	group := s.group()
	if s.wl == nil {
		if s.facts.Replicas == 0 {
			return nil
		}
		desired, err := r.Groups.NewWorkload(ctx, group)
		s.desired = desired
		return s.lacksClass(err)
	}
	f, wl := &s.facts, s.wl
	f.Exists, f.CacheBehind = true, r.Writer.IsBehind(wl)
	f.Deleting, f.Finished, f.Active = !wl.DeletionTimestamp.IsZero(), workload.IsFinished(wl), workload.IsActive(wl)
	f.Reserved, f.OnHold = wl.Status.Admission != nil, workload.IsOnHold(wl)
	if f.Finished {
		f.Refused = group.PodSets != nil && !job.SamePodSets(group.PodSets, wl.Spec.PodSets)
		return nil
	}
	desired, outdated, err := r.Groups.Follow(ctx, wl, group)
	s.desired, f.Outdated = desired, outdated
	if err := s.lacksClass(err); err != nil || !f.Reserved || f.Replicas > 0 || f.PodsExist {
		return err
	}
	return r.observeStoredPods(ctx, s)
}

// observeStoredPods asks the API server whether a set has pods: what a cache does not show yet may hold a device.
func (r *reconciler) observeStoredPods(ctx context.Context, s *snapshot) error {
	selector, err := metav1.LabelSelectorAsSelector(s.set.Spec.Selector)
	if err != nil {
		return fmt.Errorf("selector of StatefulSet %s/%s: %w", s.set.Namespace, s.set.Name, err)
	}
	var list corev1.PodList
	if err := r.Writer.Live.List(ctx, &list, client.InNamespace(s.set.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return fmt.Errorf("list pods of StatefulSet %s/%s: %w", s.set.Namespace, s.set.Name, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	s.countPods(pods, r.Options.Gates.FastQuotaRelease)
	return nil
}

// findWorkload finds the set's Workload by its names. One under the old name is the set's if it says so, or if nobody has and it gives
// the set no quota that it did not ask for.
func (r *reconciler) findWorkload(ctx context.Context, s *snapshot) error {
	for i, name := range workloadNames(s.set, r.Options.Gates) {
		wl := &kueue.Workload{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.set.Namespace, Name: name}, wl)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get workload %s/%s: %w", s.set.Namespace, name, err)
		}
		if err != nil || r.Groups.IsForeign(wl, s.set) {
			continue
		}
		mine := i == 0 || serving.IsOwnedBy(wl, s.set)
		if mine || wl.DeletionTimestamp.IsZero() && (wl.Status.Admission == nil || job.SamePodSets(s.group().PodSets, wl.Spec.PodSets)) {
			s.wl = wl
			return nil
		}
	}
	return nil
}

// lacksClass keeps an error about a missing priority class as a fact, and returns all others.
func (s *snapshot) lacksClass(err error) error {
	if kind, name := job.MissingPriorityClass(err); kind != "" {
		s.facts.ClassMissing, s.missing = true, missingClass{kind: kind, name: name}
		return nil
	}
	return err
}
