package podgroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/plan"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/job/podgroup/rolehash"
	"switchyard.dev/worker/workload"
)

// snapshot is what one look sees. Objects in it are the cache's own and must not be changed.
type snapshot struct {
	unit  unit
	facts plan.Facts
	// pods are those of facts.Members, in the same order.
	pods []*corev1.Pod
	// wl is the Workload, nil if there is none.
	wl *kueue.Workload
	// desired is what to create (DoCreate) or what the Workload should be (DoUpdate).
	desired *kueue.Workload
	// placements are what was admitted, by pod set.
	placements map[string]job.Placement
	// readyThere tells that somebody else reports whether the pods are ready.
	readyThere bool
	// ready and reclaimable are what to report; ready is nil if there is nothing to say.
	ready            *metav1.Condition
	reclaimable      []kueue.ReclaimablePod
	reclaimableStale bool
	// missing is the class that the pods wait for; telling says whether their user is to hear of it.
	missing job.Class
	telling bool
	// message explains the decision to the user where the reason does not suffice.
	message string
}

// speaker returns the pod that speaks for all, nil if there are none.
func (s *snapshot) speaker() *corev1.Pod {
	if i := plan.Representative(&s.facts); i >= 0 {
		return s.pods[i]
	}
	return nil
}

// observe reads the pods, their Workload, and what else Step decides by. What the first facts make unnecessary is not read.
func (r *reconciler) observe(ctx context.Context, u unit) (*snapshot, error) {
	s := &snapshot{unit: u, facts: plan.Facts{Now: r.opts.Clock.Now(), Single: !u.group, FastRelease: r.opts.Gates.FastQuotaRelease}}
	err := r.observePods(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := r.observeWorkload(ctx, s); err != nil {
		return nil, err
	}
	if s.facts.CacheBehind = r.isCacheBehind(s); s.facts.CacheBehind {
		return s, nil
	}
	if s.readyThere, err = r.isReadyThere(ctx, s); err != nil {
		return nil, err
	}
	s.readWorkload(&r.opts)
	return s, r.observeNeeds(ctx, s)
}

// isReadyThere tells of pods that run on another cluster and whose set is the dispatcher's, not they themselves, that these here do not show
// whether they are ready: the dispatcher says so.
func (r *reconciler) isReadyThere(ctx context.Context, s *snapshot) (bool, error) {
	if !r.opts.Dispatches || !r.opts.WaitForPodsReady || s.wl == nil || s.wl.Annotations[kueue.JobOwnerGVKAnnotation] == "" {
		return false, nil
	}
	return r.runsElsewhere(ctx, s.wl)
}

// observePods finds the pods of the unit: those that are managed, the oldest first.
func (r *reconciler) observePods(ctx context.Context, s *snapshot) error {
	var found []corev1.Pod
	if s.unit.group {
		list := &corev1.PodList{}
		err := r.pods.List(ctx, list, client.InNamespace(s.unit.namespace), client.MatchingFields{workloadIndex: groupValue + s.unit.name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("list the pods of group %s/%s: %w", s.unit.namespace, s.unit.name, err)
		}
		found = list.Items
	} else {
		pod := &corev1.Pod{}
		err := r.pods.Get(ctx, client.ObjectKey{Namespace: s.unit.namespace, Name: s.unit.name}, pod)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get pod %s/%s: %w", s.unit.namespace, s.unit.name, err)
		}
		if err == nil {
			found = []corev1.Pod{*pod}
		}
	}
	for i := range found {
		if pod := &found[i]; podmeta.IsManaged(pod) && podmeta.IsServed(pod, &r.opts) {
			s.pods = append(s.pods, pod)
		}
	}
	slices.SortFunc(s.pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range s.pods {
		s.facts.Members = append(s.facts.Members, memberOf(pod))
	}
	s.readGroup(r.opts.Gates)
	return nil
}

// readGroup reads what the pods say of their group.
func (s *snapshot) readGroup(gates job.Gates) {
	speaker := s.speaker()
	if speaker == nil {
		return
	}
	s.facts.Prebuilt = gates.PrebuiltWorkloadName(speaker) != ""
	if !s.unit.group {
		s.facts.Message = speaker.Status.Message
		return
	}
	s.facts.TotalCount, _ = podmeta.TotalCount(speaker)
	s.facts.Fast = podmeta.IsTrue(speaker, kueue.PodGroupFastAdmissionAnnotation)
	s.facts.Serving = podmeta.IsTrue(speaker, kueue.PodGroupServingAnnotation)
}

// memberOf reads a pod.
func memberOf(pod *corev1.Pod) plan.Member {
	total, _ := podmeta.TotalCount(pod)
	m := plan.Member{
		Name: pod.Name, Role: roleOf(pod), Created: pod.CreationTimestamp.Time, Phase: phaseOf(pod), Gated: podmeta.IsGated(pod),
		Finalizer: controllerutil.ContainsFinalizer(pod, kueue.ManagedFinalizer),
		OnNode:    pod.Spec.NodeName != "", Unretriable: podmeta.IsUnretriable(pod),
		Queue: job.QueueName(pod), TotalCount: total, Index: podmeta.Index(pod),
	}
	if pod.DeletionTimestamp != nil {
		m.Deleting, m.DeleteBy = true, pod.DeletionTimestamp.Time
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PodReady:
			m.Ready = true
		case c.Type == kueue.PodTerminationTarget:
			m.Told = true
		}
	}
	return m
}

// roleOf is the pod's role, which the webhook has written on it.
func roleOf(pod *corev1.Pod) string {
	if role := pod.Annotations[kueue.RoleHashAnnotation]; role != "" || !podmeta.IsGated(pod) {
		return role
	}
	role, err := rolehash.Compute(&pod.Spec)
	if err != nil {
		return ""
	}
	return role
}

func phaseOf(pod *corev1.Pod) plan.Phase {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return plan.Running
	case corev1.PodSucceeded:
		return plan.Succeeded
	case corev1.PodFailed:
		return plan.Failed
	case corev1.PodPending, corev1.PodUnknown:
	}
	return plan.Pending
}

// isCacheBehind tells whether we have written a pod or the Workload since the cache saw them.
func (r *reconciler) isCacheBehind(s *snapshot) bool {
	now := s.facts.Now
	behind := r.pending.isCreating(s.unit, s.wl != nil, now) && len(s.pods) > 0
	if s.wl != nil && r.writer.IsNewerThan(s.wl) {
		behind = true
	}
	for _, pod := range s.pods {
		if r.writer.IsNewerThan(pod) || r.pending.isDeleting(pod, now) {
			behind = true // all are asked, so that what the cache shows is forgotten
		}
	}
	return behind
}

// readWorkload reads how far the Workload has come, and which pods own it.
func (s *snapshot) readWorkload(o *job.Options) {
	wl := s.wl
	if wl == nil {
		return
	}
	s.facts.Copy = workload.IsRemoteCopy(wl)
	w := &s.facts.Workload
	w.HasPodOwners = workload.HasPodOwners(wl) && (s.facts.Single || metav1.GetControllerOfNoCopy(wl) == nil)
	w.HasOtherOwners = slices.ContainsFunc(wl.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return ref.APIVersion != "v1" || ref.Kind != podmeta.GVK().Kind
	})
	w.Deleting, w.Finalizer = !wl.DeletionTimestamp.IsZero(), controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer)
	w.Reserved, w.Admitted, w.Evicted = workload.HasQuota(wl), workload.IsAdmitted(wl), workload.IsEvicted(wl)
	w.Waiting = workload.WaitsForPods(wl)
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); c != nil && c.Status == metav1.ConditionTrue {
		w.Finished = true
		w.FinishedAsJob = c.Reason == string(kueue.ReasonSucceeded) || c.Reason == string(kueue.ReasonFailed)
	}
	w.RetireAt = job.RetireAt(o, wl)
	for i := range wl.Spec.PodSets {
		w.Roles = append(w.Roles, plan.Role{Name: string(wl.Spec.PodSets[i].Name), Count: int(wl.Spec.PodSets[i].Count)})
	}
	owners := make(map[types.UID]bool, len(wl.OwnerReferences))
	for i := range wl.OwnerReferences {
		owners[wl.OwnerReferences[i].UID] = true
	}
	for i, pod := range s.pods {
		s.facts.Members[i].Owner = owners[pod.UID]
	}
	s.readStatus(o)
}

// readStatus finds out whether the Workload's PodsReady condition and reclaimable pods are what the pods say.
func (s *snapshot) readStatus(o *job.Options) {
	f := &s.facts
	if f.Finished || f.Deleting || len(s.pods) == 0 {
		return
	}
	if o.WaitForPodsReady && !s.readyThere {
		s.ready = job.PodsReadyCondition(s.wl, f.Admitted && plan.Ready(f), f.Now)
	}
	if o.Gates.ReclaimablePods && !f.Single {
		var free []kueue.ReclaimablePod
		for _, role := range plan.Reclaimable(f) {
			free = append(free, kueue.ReclaimablePod{Name: kueue.PodSetReference(role.Name), Count: int32(role.Count)}) //nolint:gosec // a count of pods in memory
		}
		s.reclaimable, s.reclaimableStale = job.ReclaimablePods(s.wl, free)
	}
	f.StatusOutdated = s.ready != nil || s.reclaimableStale
}
