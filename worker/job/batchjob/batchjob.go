// Package batchjob declares the batch/v1 Job (contract: kueue-api.md 3.2, 3.3 row batch/job).
package batchjob

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// podSetName is the name of a Job's only pod set.
const podSetName = kueue.DefaultPodSetName

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs/finalizers,verbs=update
// +kubebuilder:webhook:path=/mutate-batch-v1-job,mutating=true,failurePolicy=fail,sideEffects=None,groups=batch,resources=jobs,verbs=create,versions=v1,name=mjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-batch-v1-job,mutating=false,failurePolicy=fail,sideEffects=None,groups=batch,resources=jobs,verbs=create;update,versions=v1,name=vjob.kb.io,admissionReviewVersions=v1

// Kind returns the declaration.
func Kind() job.Kind[*batchv1.Job] {
	return job.Kind[*batchv1.Job]{
		Name:        "batch/job",
		GVK:         batchv1.SchemeGroupVersion.WithKind("Job"),
		AddToScheme: batchv1.AddToScheme,
		New:         func() *batchv1.Job { return &batchv1.Job{} },
		NewList:     func() client.ObjectList { return &batchv1.JobList{} },

		PodSets:              podSets,
		Suspended:            func(j *batchv1.Job) bool { return ptr.Deref(j.Spec.Suspend, false) },
		SetSuspend:           func(j *batchv1.Job, suspend bool) { j.Spec.Suspend = &suspend },
		Place:                place,
		Restore:              restore,
		Progress:             progress,
		ControllerObserved:   controllerObserved,
		LastControllerUpdate: lastControllerUpdate,
		Elastic:              job.ResizableTemplates(templates, resize),
		Stop:                 stop,
		Webhook: job.Webhook[*batchv1.Job]{
			Default:      gateElastic,
			Validate:     validate,
			TemplatePath: func(*batchv1.Job, int) *field.Path { return field.NewPath("spec", "template", "metadata") },
		},

		ManagedBy: job.ManagedByField("spec.managedBy", batchv1.JobControllerName,
			func(j *batchv1.Job) **string { return &j.Spec.ManagedBy }),
		CopyStatus:        copyStatus,
		Detach:            detach,
		Strip:             func(j *batchv1.Job) { j.Spec.Template, j.Spec.Selector = corev1.PodTemplateSpec{}, nil },
		DeletePropagation: metav1.DeletePropagationBackground,
	}
}

// podSets leaves the identity labels, which the API server generated for this very Job, out of the template, so that two
// equal jobs ask for equal pod sets.
func podSets(j *batchv1.Job) ([]kueue.PodSet, error) {
	template := *j.Spec.Template.DeepCopy()
	dropIdentity(template.Labels)
	if len(template.Labels) == 0 {
		template.Labels = nil
	}
	set := kueue.PodSet{Name: podSetName, Template: template, Count: podCount(j)}
	if floor, err := minParallelism(j); err != nil {
		return nil, err
	} else if floor != nil && *floor < set.Count {
		set.MinCount = floor
	}
	return []kueue.PodSet{set}, nil
}

// templates are the one that the job has.
func templates(j *batchv1.Job) []job.Template {
	path := field.NewPath("spec")
	return []job.Template{{
		Name: string(podSetName), Count: int64(podCount(j)), Pod: &j.Spec.Template, Path: path, Metadata: path.Child("template", "metadata"),
	}}
}

// gateElastic has the pods of an elastic job that is queued wait until what they need has been admitted (contract: job-kinds.md 15).
func gateElastic(j *batchv1.Job, gates job.Gates) {
	if gates.ElasticJobs && isElastic(j) && job.QueueName(j) != "" {
		job.GateElastically(&j.Spec.Template)
	}
}

// podCount is how many pods run at a time: no more than parallelism, no more than there is work for.
func podCount(j *batchv1.Job) int32 {
	parallelism := ptr.Deref(j.Spec.Parallelism, 1)
	return min(parallelism, ptr.Deref(j.Spec.Completions, parallelism))
}

// resize has a Job on another cluster run as many pods at a time as its Workload says. One that counts its completions has as many as the local
// one where that asks for so many pods.
func resize(local, remote *batchv1.Job, sets []kueue.PodSet) bool {
	if len(sets) != 1 {
		return false
	}
	before, count := remote.DeepCopy(), sets[0].Count
	if podCount(remote) != count {
		remote.Spec.Parallelism = &count
	}
	if ptr.Deref(local.Spec.CompletionMode, "") == batchv1.IndexedCompletion && podCount(local) == count && local.Spec.Completions != nil {
		remote.Spec.Completions = ptr.To(*local.Spec.Completions)
	}
	return !ptr.Equal(before.Spec.Parallelism, remote.Spec.Parallelism) || !ptr.Equal(before.Spec.Completions, remote.Spec.Completions)
}

// place puts an admission's placement into the one pod template of the job, and its count into the job's.
func place(j *batchv1.Job, placements []job.Placement) error {
	p := placements[0]
	if err := job.PlaceTemplate(&j.Spec.Template, p); err != nil {
		return err
	}
	setCount(j, p.Count)
	return nil
}

// restore puts the template back to what the user wrote, by the pod sets of the Workload. The Job's own identity labels
// stay.
func restore(j *batchv1.Job, podSets []kueue.PodSet) {
	if len(podSets) == 0 {
		return
	}
	template := &j.Spec.Template
	own := readIdentity(template.Labels)
	job.RestoreTemplate(template, &podSets[0].Template)
	dropIdentity(template.Labels)
	for key, value := range own {
		if template.Labels == nil {
			template.Labels = map[string]string{}
		}
		template.Labels[key] = value
	}
	setCount(j, podSets[0].Count)
}

// setCount scales a Job that allows partial admission, and no other.
func setCount(j *batchv1.Job, count int32) {
	if _, partial := j.Annotations[kueue.JobMinParallelismAnnotation]; !partial || count == podCount(j) {
		return
	}
	j.Spec.Parallelism = &count
	if j.Annotations[kueue.JobCompletionsEqualParallelismAnnotation] == "true" {
		j.Spec.Completions = ptr.To(count)
	}
}

// stop goes from running to suspended and restored in up to three writes, because the API server lets templates change
// only while a Job is suspended, without pods, and has either no start time or (since Kubernetes 1.36) the condition
// Suspended. The start time is taken back as soon as no pods are counted, also where no Job controller is there to set that
// condition; an API server that wants to see the condition first refuses, and is asked again. The stopping annotation says that a restore is still to come. A Job whose template was not placed, like one
// that runs on another cluster, needs one write only.
func stop(j *batchv1.Job, original []kueue.PodSet) job.StopStep {
	if !ptr.Deref(j.Spec.Suspend, false) {
		j.Spec.Suspend = ptr.To(true)
		if readPlacement(j, original) {
			metav1.SetMetaDataAnnotation(&j.ObjectMeta, kueue.StoppingAnnotation, "true")
		}
		return job.StopSpec
	}
	if _, stopping := j.Annotations[kueue.StoppingAnnotation]; !stopping {
		return job.StopDone
	}
	if j.Status.StartTime != nil {
		if j.Status.Active > 0 {
			return job.StopWait
		}
		j.Status.StartTime = nil
		return job.StopStatus
	}
	restore(j, original)
	delete(j.Annotations, kueue.StoppingAnnotation)
	return job.StopSpec
}

// readPlacement reports whether the job still bears something of a placement: it differs from what was admitted.
func readPlacement(j *batchv1.Job, original []kueue.PodSet) bool {
	restored := j.DeepCopy()
	restore(restored, original)
	return !sameSpec(restored, j)
}
