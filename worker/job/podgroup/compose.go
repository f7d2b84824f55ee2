package podgroup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/plan"
	"switchyard.dev/worker/job/podgroup/podmeta"
)

// mainPodSet is what a single pod asks for.
func mainPodSet(pod *corev1.Pod) kueue.PodSet {
	return kueue.PodSet{Name: kueue.DefaultPodSetName, Count: 1, Template: templateOf(pod)}
}

// compose makes the Workload that the pods should have, as far as they allow.
func (r *reconciler) compose(ctx context.Context, s *snapshot) error {
	if !s.unit.group {
		if !podmeta.IsGated(s.pods[0]) {
			return nil // it must not run, or has ended
		}
		var err error
		s.desired, err = r.composer.Build(ctx, s.pods[0], []kueue.PodSet{mainPodSet(s.pods[0])})
		return s.cannotCompose(err)
	}
	parts, err := plan.Compose(s.unit.name, &s.facts)
	if err != nil {
		return s.cannotCompose(err)
	}
	s.desired, err = r.composeGroup(ctx, s, parts)
	return s.cannotCompose(err)
}

// errLabels is the contract's (contract: job-kinds.md 10.5).
var errLabels = errors.New("constructing workload: pods have different label values")

// composeGroup makes the Workload of a group. All of its pods own it, and none controls it.
func (r *reconciler) composeGroup(ctx context.Context, s *snapshot, parts []plan.Part) (*kueue.Workload, error) {
	sets, err := podSets(s, parts)
	if err != nil {
		return nil, err
	}
	speaker := s.speaker()
	for _, key := range r.opts.LabelKeysToCopy {
		for _, i := range plan.Present(&s.facts) {
			if s.pods[i].Labels[key] != speaker.Labels[key] {
				return nil, errLabels
			}
		}
	}
	wl, err := r.composer.Build(ctx, speaker, sets)
	if err != nil {
		return nil, err
	}
	wl.Name = s.unit.name
	wl.OwnerReferences = nil
	delete(wl.Labels, kueue.JobUIDLabel)
	metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.IsGroupWorkloadAnnotation, "true")
	addOwners(wl, s)
	return wl, nil
}

// podSets makes the pod sets of a group, each with the template of a pod of its role.
func podSets(s *snapshot, parts []plan.Part) ([]kueue.PodSet, error) {
	sets := make([]kueue.PodSet, 0, len(parts))
	for _, part := range parts {
		if problems := validation.IsDNS1123Label(part.Name); len(problems) > 0 {
			return nil, fmt.Errorf("role %q of pod %s cannot be the name of a pod set: %s", part.Name, s.pods[part.Member].Name, problems[0])
		}
		if !podmeta.IsGated(s.pods[part.Member]) {
			return nil, fmt.Errorf("pod %s runs already", s.pods[part.Member].Name)
		}
		sets = append(sets, kueue.PodSet{
			Name: kueue.PodSetReference(part.Name), Count: int32(part.Count), Template: templateOf(s.pods[part.Member]), //nolint:gosec // bounded by the annotation
		})
	}
	return sets, nil
}

// addOwners makes the pods owners of the Workload, unless they are, and returns how many were not.
func addOwners(wl *kueue.Workload, s *snapshot) (added int) {
	for i, pod := range s.pods {
		if s.facts.Members[i].Owner || s.facts.Members[i].Deleting {
			continue
		}
		wl.OwnerReferences = append(wl.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: podmeta.GVK().Kind, Name: pod.Name, UID: pod.UID,
		})
		added++
	}
	return added
}

// observeChanges finds out in what the Workload does not follow its pods.
func (r *reconciler) observeChanges(ctx context.Context, s *snapshot) error {
	next, changed, err := r.sync(ctx, s)
	if err != nil {
		return s.cannotCompose(err)
	}
	sets, err := r.newPodSets(s)
	if err != nil {
		return s.cannotCompose(err)
	}
	if sets != nil {
		next, changed = next.DeepCopy(), true
		next.Spec.PodSets = sets
	}
	s.desired, s.facts.Outdated = next, changed
	return nil
}

// sync returns the Workload with the settings of the pod that speaks for all. Whoever has made the Workload of a group that serves keeps it
// in step with what the pods are of.
func (r *reconciler) sync(ctx context.Context, s *snapshot) (*kueue.Workload, bool, error) {
	if s.facts.Serving && s.facts.Prebuilt {
		return s.wl, false, nil
	}
	speaker := s.speaker()
	if s.facts.Serving {
		kept := &corev1.Pod{ObjectMeta: *speaker.ObjectMeta.DeepCopy()}
		delete(kept.Labels, kueue.QueueNameLabel)
		speaker = kept
	}
	return r.composer.Sync(ctx, speaker, s.wl)
}

// newPodSets returns what the pods ask for if that is not what a Workload without quota asks for; nil if it is.
func (r *reconciler) newPodSets(s *snapshot) ([]kueue.PodSet, error) {
	if s.facts.Reserved || s.facts.Prebuilt {
		return nil, nil
	}
	if !s.unit.group {
		sets := []kueue.PodSet{mainPodSet(s.pods[0])}
		if !podmeta.IsGated(s.pods[0]) || job.SamePodSets(sets, s.wl.Spec.PodSets) {
			return nil, nil
		}
		return sets, nil
	}
	parts, err := plan.Compose(s.unit.name, &s.facts)
	if err != nil || !plan.Differs(&s.facts, parts) {
		return nil, nil //nolint:nilerr // what cannot be composed now stays as it is
	}
	return podSets(s, parts)
}

// cannotCompose keeps errors that the user has to solve as facts, and returns all others.
func (s *snapshot) cannotCompose(err error) error {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.facts.CannotCompose, s.message = plan.CannotCompose, err.Error()
	if missing, telling, found := job.MissingClass(err); found {
		s.facts.CannotCompose, s.missing, s.telling = plan.PriorityClassNotFound, missing, telling
	}
	return nil
}
