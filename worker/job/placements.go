package job

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// assignedFlavors reads the ResourceFlavors that were assigned to the Workload.
func assignedFlavors(ctx context.Context, r client.Reader, wl *kueue.Workload) (map[kueue.ResourceFlavorReference]*kueue.ResourceFlavor, error) {
	flavors := map[kueue.ResourceFlavorReference]*kueue.ResourceFlavor{}
	for _, a := range wl.Status.Admission.PodSetAssignments {
		for _, name := range a.Flavors {
			if flavors[name] != nil {
				continue
			}
			flavor := &kueue.ResourceFlavor{}
			if err := r.Get(ctx, client.ObjectKey{Name: string(name)}, flavor); err != nil {
				return nil, fmt.Errorf("get flavor %s of workload %s/%s: %w", name, wl.Namespace, wl.Name, err)
			}
			flavors[name] = flavor
		}
	}
	return flavors, nil
}

// buildPlacements turns the Workload's admission into what has to be merged into the job, one entry per pod set, in order. The
// only error is a [ConflictError].
func buildPlacements(
	wl *kueue.Workload, flavors map[kueue.ResourceFlavorReference]*kueue.ResourceFlavor, queueLabels bool,
) ([]Placement, error) {
	result := make([]Placement, len(wl.Spec.PodSets))
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		p := Placement{Name: ps.Name, Count: admittedCount(wl, ps), Labels: podLabels(wl, ps.Name, queueLabels)}
		if a := assignment(wl, ps.Name); a != nil {
			if err := p.mergeFlavors(a, flavors); err != nil {
				return nil, err
			}
		}
		if err := p.mergeChecks(wl); err != nil {
			return nil, err
		}
		result[i] = p
	}
	return result, nil
}

// assignment is what an admitted Workload has got for a pod set; nil if the admission does not name it.
func assignment(wl *kueue.Workload, podSet kueue.PodSetReference) *kueue.PodSetAssignment {
	i := slices.IndexFunc(wl.Status.Admission.PodSetAssignments, func(a kueue.PodSetAssignment) bool { return a.Name == podSet })
	if i < 0 {
		return nil
	}
	return &wl.Status.Admission.PodSetAssignments[i]
}

// podLabels are the labels that every pod of an admitted pod set carries (contract: kueue-api.md 2.1).
func podLabels(wl *kueue.Workload, podSet kueue.PodSetReference, queueLabels bool) map[string]string {
	labels := map[string]string{kueue.PodSetLabel: string(podSet)}
	if queueLabels {
		addValid(labels, kueue.ClusterQueueNameLabel, string(wl.Status.Admission.ClusterQueue))
		addValid(labels, kueue.LocalQueueNameLabel, string(wl.Spec.QueueName))
	}
	if wl.Labels[kueue.MultiKueueOriginLabel] != "" {
		labels[kueue.MultiKueueWorkerWorkloadPodLabel] = "true"
	}
	return labels
}

// addValid sets a label unless its value would make the pod invalid: an injected label must not keep a job from running.
func addValid(labels map[string]string, key, value string) {
	if value != "" && len(validation.IsValidLabelValue(value)) == 0 {
		labels[key] = value
	}
}

// mergeFlavors adds what the nodes of the assigned flavors are found and tolerated by.
func (p *Placement) mergeFlavors(a *kueue.PodSetAssignment, flavors map[kueue.ResourceFlavorReference]*kueue.ResourceFlavor) error {
	names := slices.Compact(slices.Sorted(maps.Values(a.Flavors)))
	for _, name := range names {
		flavor := flavors[name]
		if err := p.Merge(Placement{NodeSelector: flavor.Spec.NodeLabels, Tolerations: flavor.Spec.Tolerations}); err != nil {
			return err
		}
	}
	return nil
}

// mergeChecks adds what the admission checks want in the pods (contract: kueue-api.md 4.13, podSetUpdates). Of several updates of a
// check for one pod set the first counts (contract: messages.md 4.5).
func (p *Placement) mergeChecks(wl *kueue.Workload) error {
	for _, check := range wl.Status.AdmissionChecks {
		i := slices.IndexFunc(check.PodSetUpdates, func(u kueue.PodSetUpdate) bool { return u.Name == p.Name })
		if i < 0 || check.State != kueue.CheckStateReady {
			continue
		}
		u := check.PodSetUpdates[i]
		err := p.Merge(Placement{NodeSelector: u.NodeSelector, Tolerations: u.Tolerations, Labels: u.Labels, Annotations: u.Annotations})
		if err != nil {
			return fmt.Errorf("in admission check %q: %w", check.Name, err)
		}
	}
	return nil
}

// stopOneStep is the stop of kinds that need one write only.
func stopOneStep[T client.Object](k *Kind[T], job T, original []kueue.PodSet) StopStep {
	if k.Suspended(job) {
		return StopDone
	}
	k.SetSuspend(job, true)
	k.Restore(job, original)
	return StopSpec
}

// stopFully takes a job one write further on its way to suspended and restored, by the kind's own stop if it has one.
func (k *Kind[T]) stopFully(job T, original []kueue.PodSet) StopStep {
	if k.Stop != nil {
		return k.Stop(job, original)
	}
	return stopOneStep(k, job, original)
}
