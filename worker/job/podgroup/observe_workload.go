package podgroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence/epoch"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/plan"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/podrequests"
	"switchyard.dev/worker/workload"
)

// observeWorkload finds the Workload of the pods, and how they belong together.
func (r *reconciler) observeWorkload(ctx context.Context, s *snapshot) error {
	if s.unit.group {
		return r.observeGroupWorkload(ctx, s)
	}
	return r.observeSingleWorkload(ctx, s)
}

// observeSingleWorkload looks at the Workloads that a pod of this name controls, or has controlled: what a former pod left goes first.
func (r *reconciler) observeSingleWorkload(ctx context.Context, s *snapshot) error {
	var owned kueue.WorkloadList
	err := r.client.List(ctx, &owned, client.InNamespace(s.unit.namespace), client.MatchingFields{ownerIndex: s.unit.name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list workloads of pod %s/%s: %w", s.unit.namespace, s.unit.name, err)
	}
	needed := r.workloadName(s)
	for i := range owned.Items {
		wl := &owned.Items[i]
		ours := len(s.pods) > 0 && metav1.IsControlledBy(wl, s.pods[0])
		switch {
		case !ours && (controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer) || !workload.IsFinished(wl) && wl.DeletionTimestamp.IsZero()):
			s.pods, s.facts.Members = nil, nil
			s.wl, s.facts.Link = wl, plan.LinkMatching
			return nil
		case ours && (s.wl == nil || wl.Name == needed):
			s.wl, s.facts.Link = wl, plan.LinkMatching
		}
	}
	switch {
	case len(s.pods) == 0:
	case s.wl != nil && podmeta.GroupName(s.pods[0], r.opts.Gates) != "":
		s.facts.Link = plan.LinkStray
	case podmeta.GroupName(s.pods[0], r.opts.Gates) != "":
		s.pods, s.facts.Members = nil, nil // its group answers for it
	case s.wl == nil && s.facts.Prebuilt:
		return r.observePrebuilt(ctx, s, needed)
	}
	return nil
}

// workloadName is the name that the Workload of a single pod has or should have.
func (r *reconciler) workloadName(s *snapshot) string {
	if len(s.pods) == 0 {
		return ""
	}
	pod := s.pods[0]
	if name := r.opts.Gates.PrebuiltWorkloadName(pod); name != "" {
		return name
	}
	return job.WorkloadName(podmeta.GVK(), pod.Name, pod.UID, r.opts.Gates.ShortWorkloadNames)
}

// observePrebuilt finds the Workload that a single pod names.
func (r *reconciler) observePrebuilt(ctx context.Context, s *snapshot, name string) error {
	wl, err := r.getWorkload(ctx, s.unit.namespace, name)
	switch {
	case err != nil:
		return err
	case wl == nil:
		s.facts.Link, s.message = plan.LinkAwaited, fmt.Sprintf("The prebuilt workload %q does not exist", name)
	case isForeign(wl, s.pods[0]) || workload.HasPodOwners(wl) || workload.IsFinished(wl):
		s.facts.Link, s.message = plan.LinkForeign, fmt.Sprintf("The prebuilt workload %q belongs to another owner, or has finished", name)
	case !coversPod(wl, s.pods[0]):
		s.wl, s.facts.Link = wl, plan.LinkOutOfSync
	default:
		s.wl, s.facts.Link = wl, plan.LinkUnowned
	}
	return nil
}

// getWorkload returns a Workload of the cache, nil if there is none.
func (r *reconciler) getWorkload(ctx context.Context, namespace, name string) (*kueue.Workload, error) {
	wl := &kueue.Workload{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, wl, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get workload %s/%s: %w", namespace, name, err)
	}
	return wl, nil
}

// isForeign tells whether a Workload is not for the pod: something else controls it, or a hub has made it in a later epoch than the pod,
// or for another one.
func isForeign(wl *kueue.Workload, pod *corev1.Pod) bool {
	return metav1.GetControllerOfNoCopy(wl) != nil || epoch.IsBefore(pod, wl) || epoch.AreUnrelated(pod, wl)
}

// coversPod tells whether a prebuilt Workload asks for one pod that needs what this one does, or more. What a hub has made belongs
// together: this cluster may have added containers to the pod.
func coversPod(wl *kueue.Workload, pod *corev1.Pod) bool {
	if isCopyWith(wl, pod) {
		return true
	}
	return len(wl.Spec.PodSets) == 1 && wl.Spec.PodSets[0].Count == 1 && job.RequestsAtMost(&pod.Spec, &wl.Spec.PodSets[0].Template.Spec)
}

// isCopyWith tells whether one hub has made the Workload and the pod.
func isCopyWith(wl *kueue.Workload, pod *corev1.Pod) bool {
	return workload.IsRemoteCopy(wl) && pod.Labels[kueue.MultiKueueOriginLabel] == wl.Labels[kueue.MultiKueueOriginLabel]
}

// observeGroupWorkload finds the Workload of the group's name.
func (r *reconciler) observeGroupWorkload(ctx context.Context, s *snapshot) error {
	wl, err := r.getWorkload(ctx, s.unit.namespace, s.unit.name)
	if err != nil {
		return err
	}
	speaker := s.speaker()
	switch {
	case wl == nil && s.facts.Prebuilt:
		s.facts.Link, s.message = plan.LinkAwaited, fmt.Sprintf("The prebuilt workload %q does not exist", s.unit.name)
		return nil
	case wl == nil:
		return nil
	}
	s.wl, s.facts.Link = wl, plan.LinkMatching
	switch {
	case speaker == nil:
	case isForeign(wl, speaker):
		s.facts.Link = plan.LinkForeign
	case !s.facts.Prebuilt && r.opts.Gates.ValidateGroupOwner && !workload.IsGroup(wl):
		s.facts.Link = plan.LinkForeign
	case s.facts.Prebuilt && !fits(wl, &s.facts):
		s.facts.Link = plan.LinkOutOfSync
	}
	if s.facts.Link == plan.LinkForeign {
		s.message = fmt.Sprintf("A Workload named %q already exists but is not a pod group workload; this pod group cannot be admitted", s.unit.name)
	}
	return nil
}

// fits tells whether a prebuilt Workload has room for the pods: a pod set for each role, and no fewer pods in it.
func fits(wl *kueue.Workload, f *plan.Facts) bool {
	room := make(map[string]int, len(wl.Spec.PodSets))
	for i := range wl.Spec.PodSets {
		room[string(wl.Spec.PodSets[i].Name)] = int(wl.Spec.PodSets[i].Count)
	}
	for role, pods := range plan.CountRoles(f) {
		if most, found := room[role]; !found || pods > most {
			return false
		}
	}
	return true
}

// observeNeeds prepares what follows from how the Workload stands to the pods: its creation, its update, or a start.
func (r *reconciler) observeNeeds(ctx context.Context, s *snapshot) error {
	f := &s.facts
	if r.opts.Dispatches && f.Evicted && f.Reserved && !workload.IsDrainedElsewhere(s.wl) {
		var err error
		if f.Dispatched, err = r.runsElsewhere(ctx, s.wl); err != nil {
			return err
		}
	}
	switch {
	case len(s.pods) == 0 || f.Finished || f.Deleting:
		return nil
	case f.Link == plan.LinkNone:
		return r.compose(ctx, s)
	case f.Link != plan.LinkMatching:
		return nil
	case f.Admitted && !f.Evicted:
		if err := r.observePlacements(ctx, s); err != nil {
			return err
		}
	}
	return r.observeChanges(ctx, s)
}

// observePlacements finds out what the pods that wait are to be given, if any do.
func (r *reconciler) observePlacements(ctx context.Context, s *snapshot) error {
	waits := false
	for i := range s.facts.Members {
		waits = waits || s.facts.Members[i].Gated
	}
	if !waits {
		return nil
	}
	var err error
	if s.facts.Elsewhere, err = r.runsElsewhere(ctx, s.wl); err != nil || s.facts.Elsewhere {
		return err
	}
	placements, err := job.Placements(ctx, r.client, s.wl, r.opts.Gates)
	var conflict *job.ConflictError
	if errors.As(err, &conflict) {
		s.facts.CannotPlace, s.message = true, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	s.placements = make(map[string]job.Placement, len(placements))
	for _, p := range placements {
		s.placements[string(p.Name)] = p
	}
	return r.observeMisfits(ctx, s)
}

// observeMisfits finds the pods that cannot be placed: what was admitted contradicts them, or they need more than it was asked for.
func (r *reconciler) observeMisfits(ctx context.Context, s *snapshot) error {
	templates := map[string]*corev1.PodSpec{}
	for i := range s.wl.Spec.PodSets {
		templates[string(s.wl.Spec.PodSets[i].Name)] = &s.wl.Spec.PodSets[i].Template.Spec
	}
	for i, pod := range s.pods {
		m := &s.facts.Members[i]
		if !m.Gated || m.Deleting {
			continue
		}
		placement, found := s.placements[s.roleOf(m)]
		if !found {
			s.message = fmt.Sprintf("the workload has no pod set for pod %s, whose role is %s", pod.Name, m.Role)
			continue
		}
		if _, err := r.place(s, pod, placement); err != nil {
			m.CannotPlace, s.message = true, err.Error()
			continue
		}
		paid, err := r.isPaid(ctx, s, pod, templates[s.roleOf(m)])
		if err != nil {
			return err
		}
		if !paid {
			m.CannotPlace, s.message = true, fmt.Sprintf("pod %s needs more than its role %s does in the workload", pod.Name, m.Role)
		}
	}
	return nil
}

// isPaid tells whether the pod needs no more than the template of its pod set. Of a prebuilt Workload the template is not that of a pod
// that the API server has completed. What a hub has made belongs together: this cluster may have added containers to the pods.
func (r *reconciler) isPaid(ctx context.Context, s *snapshot, pod *corev1.Pod, template *corev1.PodSpec) (bool, error) {
	switch {
	case job.RequestsAtMost(&pod.Spec, template):
		return true, nil
	case !s.facts.Prebuilt:
		return false, nil
	case isCopyWith(s.wl, pod):
		return true, nil
	}
	in, err := r.namespaceContext(ctx, pod)
	return err == nil && job.RequestsAtMostWith(&pod.Spec, template, in), err
}

// namespaceContext is what the pod's namespace adds to pods.
func (r *reconciler) namespaceContext(ctx context.Context, pod *corev1.Pod) (podrequests.Context, error) {
	var in podrequests.Context
	var ranges corev1.LimitRangeList
	if err := r.client.List(ctx, &ranges, client.InNamespace(pod.Namespace)); err != nil {
		return in, fmt.Errorf("list limit ranges of %s: %w", pod.Namespace, err)
	}
	for i := range ranges.Items {
		in.LimitRanges = append(in.LimitRanges, &ranges.Items[i])
	}
	slices.SortFunc(in.LimitRanges, func(a, b *corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	name := pod.Spec.RuntimeClassName
	if name == nil {
		return in, nil
	}
	class := &nodev1.RuntimeClass{}
	err := r.client.Get(ctx, client.ObjectKey{Name: *name}, class)
	if client.IgnoreNotFound(err) != nil {
		return in, fmt.Errorf("get runtime class %s: %w", *name, err)
	}
	if err == nil {
		in.RuntimeClass = class
	}
	return in, nil
}

// roleOf is the name of the pod set of a member.
func (s *snapshot) roleOf(m *plan.Member) string {
	if s.facts.Single && len(s.wl.Spec.PodSets) > 0 {
		return string(s.wl.Spec.PodSets[0].Name)
	}
	return m.Role
}

// runsElsewhere tells whether a check hands the pods to another cluster: those here wait for ever then.
func (r *reconciler) runsElsewhere(ctx context.Context, wl *kueue.Workload) (bool, error) {
	return job.IsDispatched(ctx, r.client, wl)
}
