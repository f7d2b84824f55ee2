// Package jobset declares the JobSet of jobset.x-k8s.io/v1alpha2 (contract: kueue-api.md 3.2, 3.3 row jobset).
package jobset

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	return job.FromTemplates(job.Kind[*jobsetv1.JobSet]{
		Name:        "jobset.x-k8s.io/jobset",
		GVK:         jobsetv1.SchemeGroupVersion.WithKind("JobSet"),
		AddToScheme: jobsetv1.AddToScheme,
		New:         func() *jobsetv1.JobSet { return &jobsetv1.JobSet{} },
		NewList:     func() client.ObjectList { return &jobsetv1.JobSetList{} },

		Suspended:            func(js *jobsetv1.JobSet) bool { return ptr.Deref(js.Spec.Suspend, false) },
		SetSuspend:           func(js *jobsetv1.JobSet, suspend bool) { js.Spec.Suspend = &suspend },
		Progress:             progress,
		ControllerObserved:   controllerObserved,
		LastControllerUpdate: lastControllerUpdate,
		Children:             children(),
		Webhook:              job.Webhook[*jobsetv1.JobSet]{ChangesFirst: true},

		ManagedBy: job.ManagedByField("spec.managedBy", jobsetv1.JobSetControllerName,
			func(js *jobsetv1.JobSet) **string { return &js.Spec.ManagedBy }),
		CopyStatus: job.StatusCopier(
			func(js *jobsetv1.JobSet) *jobsetv1.JobSetStatus { return &js.Status },
			func(js *jobsetv1.JobSet) bool { return outcome(js) != nil },
		),
		Detach: detach,
		Strip:  strip,
	}, templates)
}

// templates are those of the replicated jobs.
func templates(js *jobsetv1.JobSet) []job.Template {
	list := make([]job.Template, len(js.Spec.ReplicatedJobs))
	for i := range js.Spec.ReplicatedJobs {
		r := &js.Spec.ReplicatedJobs[i]
		path := field.NewPath("spec", "replicatedJobs").Index(i)
		list[i] = job.Template{
			Name: r.Name, Count: podCount(r), Pod: &r.Template.Spec.Template,
			Path: path, Metadata: path.Child("template", "spec", "template", "metadata"),
		}
	}
	return list
}

// podCount is how many pods all replicas of a replicated job run at a time.
func podCount(r *jobsetv1.ReplicatedJob) int64 { return int64(r.Replicas) * int64(podsPerJob(r)) }

// podsPerJob is how many pods one replica runs at a time.
func podsPerJob(r *jobsetv1.ReplicatedJob) int32 { return job.BatchJobPods(&r.Template.Spec) }

// detach leaves what the user wrote. A finished copy must not vanish before its result is known; its maker deletes it.
func detach(js *jobsetv1.JobSet) {
	js.Spec.TTLSecondsAfterFinished = nil
	js.Status = jobsetv1.JobSetStatus{}
}

// strip drops the pod templates of a cached JobSet, which no decision reads.
func strip(js *jobsetv1.JobSet) {
	for i := range js.Spec.ReplicatedJobs {
		js.Spec.ReplicatedJobs[i].Template.Spec.Template = corev1.PodTemplateSpec{}
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
			p.Reclaimable = append(p.Reclaimable, kueue.ReclaimablePod{Name: job.PodSetName(r.Name), Count: int32(min(free, math.MaxInt32))})
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
