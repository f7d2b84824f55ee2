// Package jobset declares the JobSet of jobset.x-k8s.io/v1alpha2 (contract: kueue-api.md 3.2, 3.3 row jobset).
package jobset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets/finalizers,verbs=update
// +kubebuilder:webhook:path=/mutate-jobset-x-k8s-io-v1alpha2-jobset,mutating=true,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create,versions=v1alpha2,name=mjobset.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-jobset-x-k8s-io-v1alpha2-jobset,mutating=false,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create;update,versions=v1alpha2,name=vjobset.kb.io,admissionReviewVersions=v1

// Kind returns the declaration.
func Kind() job.Kind[*jobsetv1.JobSet] {
	return job.Kind[*jobsetv1.JobSet]{
		Name:        "jobset.x-k8s.io/jobset",
		GVK:         jobsetv1.SchemeGroupVersion.WithKind("JobSet"),
		AddToScheme: jobsetv1.AddToScheme,
		New:         func() *jobsetv1.JobSet { return &jobsetv1.JobSet{} },
		NewList:     func() client.ObjectList { return &jobsetv1.JobSetList{} },

		PodSets:              podSets,
		Suspended:            func(js *jobsetv1.JobSet) bool { return ptr.Deref(js.Spec.Suspend, false) },
		SetSuspend:           func(js *jobsetv1.JobSet, suspend bool) { js.Spec.Suspend = &suspend },
		Place:                place,
		Restore:              restore,
		Progress:             progress,
		ControllerObserved:   controllerObserved,
		LastControllerUpdate: lastControllerUpdate,
		Validate:             validate,
		Children:             children(),

		TemplatePath: func(i int) *field.Path {
			return field.NewPath("spec", "replicatedJobs").Index(i).Child("template", "spec", "template", "metadata")
		},
		ValidateChangesFirst: true,

		ManagedBy: &job.ManagedBy[*jobsetv1.JobSet]{
			Path:    "spec.managedBy",
			Default: jobsetv1.JobSetControllerName,
			Field:   func(js *jobsetv1.JobSet) **string { return &js.Spec.ManagedBy },
		},
		CopyStatus: copyStatus,
		Detach:     detach,
		Strip:      strip,
	}
}

// podSets returns a pod set for each replicated job.
func podSets(js *jobsetv1.JobSet) ([]kueue.PodSet, error) {
	sets := make([]kueue.PodSet, len(js.Spec.ReplicatedJobs))
	for i := range js.Spec.ReplicatedJobs {
		r := &js.Spec.ReplicatedJobs[i]
		count, err := podCount(js, i)
		if err != nil {
			return nil, err
		}
		sets[i] = kueue.PodSet{
			Name:     podSetName(r.Name),
			Template: *r.Template.Spec.Template.DeepCopy(),
			Count:    count,
		}
	}
	return sets, nil
}

// podSetName is the replicated job's name as far as a pod set's name can hold it.
func podSetName(replicatedJob string) kueue.PodSetReference {
	return kueue.PodSetReference(strings.ToLower(replicatedJob))
}

// podCount is how many pods all replicas of a replicated job run at a time. A pod set cannot count more than an int32 holds.
func podCount(js *jobsetv1.JobSet, i int) (int32, error) {
	r := &js.Spec.ReplicatedJobs[i]
	count := int64(r.Replicas) * int64(podsPerJob(r))
	if count > math.MaxInt32 {
		path := field.NewPath("spec", "replicatedJobs").Index(i)
		return 0, field.Invalid(path, count, fmt.Sprintf("must run at most %d pods: lower replicas, or parallelism in its template", math.MaxInt32))
	}
	return int32(count), nil
}

// validate refuses a JobSet that cannot be counted.
func validate(_, js *jobsetv1.JobSet) field.ErrorList {
	var errs field.ErrorList
	for i := range js.Spec.ReplicatedJobs {
		var invalid *field.Error
		if _, err := podCount(js, i); errors.As(err, &invalid) {
			errs = append(errs, invalid)
		}
	}
	return errs
}

// podsPerJob is how many pods one replica runs at a time.
func podsPerJob(r *jobsetv1.ReplicatedJob) int32 { return jobPodCount(&r.Template.Spec) }

// jobPodCount is how many pods a Job of the spec runs at a time.
func jobPodCount(spec *batchv1.JobSpec) int32 {
	parallelism := ptr.Deref(spec.Parallelism, 1)
	return max(min(parallelism, ptr.Deref(spec.Completions, parallelism)), 0)
}

// place puts each placement into the pod template of its replicated job. The placements are in the order of the replicated
// jobs.
func place(js *jobsetv1.JobSet, placements []job.Placement) error {
	for i := range js.Spec.ReplicatedJobs {
		if err := job.PlaceTemplate(template(js, i), placements[i]); err != nil {
			return err
		}
	}
	return nil
}

// restore goes by name: the Workload may be one that the JobSet does not match.
func restore(js *jobsetv1.JobSet, podSets []kueue.PodSet) {
	for i := range js.Spec.ReplicatedJobs {
		name := podSetName(js.Spec.ReplicatedJobs[i].Name)
		at := slices.IndexFunc(podSets, func(ps kueue.PodSet) bool { return ps.Name == name })
		if at >= 0 {
			job.RestoreTemplate(template(js, i), &podSets[at].Template)
		}
	}
}

func template(js *jobsetv1.JobSet, i int) *corev1.PodTemplateSpec {
	return &js.Spec.ReplicatedJobs[i].Template.Spec.Template
}

// detach leaves what the user wrote. A finished copy must not vanish before its result is known; its maker deletes it.
func detach(js *jobsetv1.JobSet) {
	js.Spec.TTLSecondsAfterFinished = nil
	js.Status = jobsetv1.JobSetStatus{}
}

// strip drops the pod templates of a cached JobSet, which no decision reads.
func strip(js *jobsetv1.JobSet) {
	for i := range js.Spec.ReplicatedJobs {
		*template(js, i) = corev1.PodTemplateSpec{}
	}
}

// progress returns how far the JobSet is, by the statuses of its replicated jobs.
func progress(js *jobsetv1.JobSet) job.Progress {
	p := job.Progress{Ready: !ptr.Deref(js.Spec.Suspend, false), Finished: outcome(js)}
	for i := range js.Spec.ReplicatedJobs {
		r := &js.Spec.ReplicatedJobs[i]
		s := findStatus(js, r.Name)
		p.Active = p.Active || s.Active > 0
		p.Ready = p.Ready && s.Ready+s.Succeeded >= r.Replicas
		if free := int64(min(s.Succeeded, r.Replicas)) * int64(podsPerJob(r)); free > 0 {
			p.Reclaimable = append(p.Reclaimable, kueue.ReclaimablePod{Name: podSetName(r.Name), Count: int32(min(free, math.MaxInt32))})
		}
	}
	slices.SortFunc(p.Reclaimable, func(a, b kueue.ReclaimablePod) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return p
}

// findStatus is the status of a replicated job; the zero value before the JobSet controller has written one.
func findStatus(js *jobsetv1.JobSet, replicatedJob string) jobsetv1.ReplicatedJobStatus {
	i := slices.IndexFunc(js.Status.ReplicatedJobsStatus, func(s jobsetv1.ReplicatedJobStatus) bool { return s.Name == replicatedJob })
	if i < 0 {
		return jobsetv1.ReplicatedJobStatus{}
	}
	return js.Status.ReplicatedJobsStatus[i]
}

// outcome returns how the JobSet ended; nil while it has not.
func outcome(js *jobsetv1.JobSet) *job.Outcome {
	for _, end := range []struct {
		condition jobsetv1.JobSetConditionType
		success   bool
	}{{jobsetv1.JobSetCompleted, true}, {jobsetv1.JobSetFailed, false}} {
		c := meta.FindStatusCondition(js.Status.Conditions, string(end.condition))
		if c != nil && c.Status == "True" {
			return &job.Outcome{Success: end.success, Message: c.Message}
		}
	}
	return nil
}

// copyStatus never takes back how a JobSet ended.
func copyStatus(local, remote *jobsetv1.JobSet) (changed, deferred bool) {
	if outcome(local) != nil || equality.Semantic.DeepEqual(local.Status, remote.Status) {
		return false, false
	}
	remote.Status.DeepCopyInto(&local.Status)
	return true, false
}
