package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// composer makes Workloads out of jobs of one kind.
type composer[T client.Object] struct {
	kind   *Kind[T]
	opts   *Options
	reader client.Reader
}

// buildPodSets returns what the job asks for, as far as the feature gates allow to say it.
func (c composer[T]) buildPodSets(ctx context.Context, job T) ([]kueue.PodSet, error) {
	sets, err := c.kind.readPodSets(ctx, c.reader, job)
	if err != nil {
		return nil, fmt.Errorf("pod sets of %s %s/%s: %w", c.kind.GVK.Kind, job.GetNamespace(), job.GetName(), err)
	}
	if !c.opts.Gates.PartialAdmission {
		for i := range sets {
			sets[i].MinCount = nil
		}
	}
	return sets, nil
}

// buildWorkload returns the Workload that the job should have (contract: kueue-api.md 3.1 step 11).
func (c composer[T]) buildWorkload(ctx context.Context, job T, podSets []kueue.PodSet) (*kueue.Workload, error) {
	p, err := c.resolvePriority(ctx, job, podSets)
	if err != nil {
		return nil, err
	}
	limit, err := parseMaxExecTime(job)
	if err != nil {
		return nil, err
	}
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name:        WorkloadName(c.kind.GVK, job.GetName(), job.GetUID(), c.opts.Gates.ShortWorkloadNames),
			Namespace:   job.GetNamespace(),
			Labels:      c.labels(job),
			Annotations: c.annotations(job),
			Finalizers:  []string{kueue.ResourceInUseFinalizer},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: kueue.LocalQueueName(QueueName(job)), PodSets: podSets,
			Priority: &p.value, PriorityClassRef: p.ref, MaximumExecutionTimeSeconds: limit,
		},
	}
	c.setController(job, wl)
	return wl, nil
}

// setController makes the job the controller of the Workload.
func (c composer[T]) setController(job T, wl *kueue.Workload) {
	wl.OwnerReferences = append(wl.OwnerReferences, *metav1.NewControllerRef(job, c.kind.GVK))
	metav1.SetMetaDataLabel(&wl.ObjectMeta, kueue.JobUIDLabel, string(job.GetUID()))
}

// labels are those of the job's labels that the configuration copies to the Workload.
func (c composer[T]) labels(job T) map[string]string {
	labels := map[string]string{}
	for _, key := range c.opts.LabelKeysToCopy {
		if value, ok := job.GetLabels()[key]; ok {
			labels[key] = value
		}
	}
	return labels
}

// annotations returns the annotations of the job that the Workload takes over.
func (c composer[T]) annotations(job T) map[string]string {
	passed := map[string]string{}
	for key, value := range job.GetAnnotations() {
		if strings.HasPrefix(key, kueue.ProvReqAnnotationPrefix) || slices.Contains(c.opts.AnnotationKeysToCopy, key) {
			passed[key] = value
		}
		if key == kueue.AdmissionGatedByAnnotation && c.opts.Gates.AdmissionGatedBy && value != "" {
			passed[key] = value
		}
	}
	return passed
}

// resolvePriority finds the job's priority (contract: kueue-api.md 3.1, priority): the label's class, the kind's own, that of the
// first pod set that has one, the global default, 0.
func (c composer[T]) resolvePriority(ctx context.Context, job T, podSets []kueue.PodSet) (priority, error) {
	if name := job.GetLabels()[kueue.PriorityClassLabel]; name != "" {
		return workloadPriorityClass(ctx, c.reader, name)
	}
	name := ""
	if c.kind.Priority != nil {
		name = c.kind.Priority(job)
	}
	for i := 0; name == "" && i < len(podSets); i++ {
		name = podSets[i].Template.Spec.PriorityClassName
	}
	return podPriorityClass(ctx, c.reader, name)
}

// syncWorkload returns the job's Workload with the queue, priority, gates and time limit of the job as far as the Workload can still
// follow (contract: kueue-api.md 3.1 step 7), and whether that differs from what it was. If it does, it is a copy.
func (c composer[T]) syncWorkload(ctx context.Context, job T, wl *kueue.Workload) (*kueue.Workload, bool, error) {
	next := *wl // what it points to is replaced, never changed
	reserved := wl.Status.Admission != nil
	if queue := kueue.LocalQueueName(QueueName(job)); !reserved && queue != "" {
		next.Spec.QueueName = queue
	}
	if err := c.syncPriority(ctx, job, &next); err != nil {
		return nil, false, err
	}
	if c.opts.Gates.PrebuiltWorkloadName(job) == "" { // Whoever made the Workload has said these two himself.
		limit, err := parseMaxExecTime(job)
		if err != nil {
			return nil, false, err
		}
		if !reserved {
			next.Spec.MaximumExecutionTimeSeconds = limit
		}
		syncGates(job, &next)
	}
	if sameSettings(wl, &next) {
		return wl, false, nil
	}
	return next.DeepCopy(), true, nil
}

// sameSettings compares what sync may change.
func sameSettings(a, b *kueue.Workload) bool {
	return a.Spec.QueueName == b.Spec.QueueName && ptr.Equal(a.Spec.Priority, b.Spec.Priority) &&
		ptr.Equal(a.Spec.PriorityClassRef, b.Spec.PriorityClassRef) &&
		ptr.Equal(a.Spec.MaximumExecutionTimeSeconds, b.Spec.MaximumExecutionTimeSeconds) && maps.Equal(a.Annotations, b.Annotations)
}

// syncPriority follows a change of the class that the job's label names. A class that changes its value is not the job's
// affair, and a Workload that was given a priority without the class, as on a worker cluster, keeps it.
func (c composer[T]) syncPriority(ctx context.Context, job T, wl *kueue.Workload) error {
	name := job.GetLabels()[kueue.PriorityClassLabel]
	ref := wl.Spec.PriorityClassRef
	if name == "" || ref != nil && ref.Kind == kueue.WorkloadPriorityClassKind && ref.Name == name {
		return nil
	}
	p, err := workloadPriorityClass(ctx, c.reader, name)
	if err != nil {
		return err
	}
	wl.Spec.Priority, wl.Spec.PriorityClassRef = &p.value, p.ref
	return nil
}

// syncGates removes the gates that were removed from the job. Gates cannot be added to a Workload.
func syncGates(job client.Object, wl *kueue.Workload) {
	had := admissionGates(wl)
	if len(had) == 0 && wl.Annotations[kueue.AdmissionGatedByAnnotation] == "" {
		return
	}
	wanted := admissionGates(job)
	kept := slices.DeleteFunc(slices.Clone(had), func(gate string) bool { return !slices.Contains(wanted, gate) })
	if len(kept) > 0 && len(kept) == len(had) {
		return
	}
	wl.Annotations = maps.Clone(wl.Annotations)
	if len(kept) == 0 {
		delete(wl.Annotations, kueue.AdmissionGatedByAnnotation)
		return
	}
	wl.Annotations[kueue.AdmissionGatedByAnnotation] = strings.Join(kept, ",")
}

// errMaxExecTime says that the label is not a positive number of seconds.
var errMaxExecTime = errors.New("should be greater than 0")

// parseMaxExecTime returns the job's time limit in seconds, nil if it has none.
func parseMaxExecTime(job client.Object) (*int32, error) {
	value, ok := job.GetLabels()[kueue.MaxExecTimeSecondsLabel]
	if !ok {
		return nil, nil
	}
	n, err := strconv.Atoi(value)
	switch {
	case err == nil && n <= 0:
		err = errMaxExecTime
	case err == nil && n > math.MaxInt32:
		err = &strconv.NumError{Func: "Atoi", Num: value, Err: strconv.ErrRange}
	}
	if err != nil {
		return nil, fmt.Errorf("label %s %q: %w", kueue.MaxExecTimeSecondsLabel, value, err)
	}
	seconds := int32(n)
	return &seconds, nil
}

// adoptWorkload returns a copy of the Workload with the job as its owner. If the job runs elsewhere it has the finalizer too: the
// record of where must not go before the job has ended there.
func (c composer[T]) adoptWorkload(job T, wl *kueue.Workload) *kueue.Workload {
	owned := wl.DeepCopy()
	c.setController(job, owned)
	if c.opts.Dispatches && c.kind.ManagedBy != nil && jobManager(c.kind, job) == kueue.MultiKueueControllerName {
		controllerutil.AddFinalizer(owned, kueue.ResourceInUseFinalizer)
	}
	return owned
}

// withoutFinalizer is a copy of the Workload that the API server may let go.
func withoutFinalizer(wl *kueue.Workload) *kueue.Workload {
	freed := wl.DeepCopy()
	controllerutil.RemoveFinalizer(freed, kueue.ResourceInUseFinalizer)
	return freed
}

// admissionGates returns the names in the annotation admission-gated-by, blanks around them and empty names left out.
func admissionGates(obj client.Object) []string {
	var gates []string
	for gate := range strings.SplitSeq(obj.GetAnnotations()[kueue.AdmissionGatedByAnnotation], ",") {
		if gate = strings.TrimSpace(gate); gate != "" {
			gates = append(gates, gate)
		}
	}
	return gates
}
