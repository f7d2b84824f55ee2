// Package mpijob declares the MPIJob of kubeflow.org/v2beta1 (contract: job-kinds.md 3).
package mpijob

import (
	"time"

	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/kubeflow/status"
)

// +kubebuilder:rbac:groups=kubeflow.org,resources=mpijobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=kubeflow.org,resources=mpijobs/status,verbs=patch
// +kubebuilder:rbac:groups=kubeflow.org,resources=mpijobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:webhook:path=/mutate-kubeflow-org-v2beta1-mpijob,mutating=true,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=mpijobs,verbs=create,versions=v2beta1,name=mmpijob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-kubeflow-org-v2beta1-mpijob,mutating=false,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=mpijobs,verbs=create;update,versions=v2beta1,name=vmpijob.kb.io,admissionReviewVersions=v1

// Kind returns the declaration.
func Kind() job.Kind[*mpi.MPIJob] {
	return job.FromTemplates(job.Kind[*mpi.MPIJob]{
		Name:        "kubeflow.org/mpijob",
		GVK:         mpi.SchemeGroupVersionKind,
		AddToScheme: addToScheme,
		New:         func() *mpi.MPIJob { return &mpi.MPIJob{} },
		NewList:     func() client.ObjectList { return &mpi.MPIJobList{} },

		Suspended:            suspended,
		SetSuspend:           func(j *mpi.MPIJob, suspend bool) { j.Spec.RunPolicy.Suspend = &suspend },
		Progress:             func(j *mpi.MPIJob) job.Progress { return said(j).Progress() },
		ControllerObserved:   func(j *mpi.MPIJob) bool { return said(j).ControllerObserved() },
		LastControllerUpdate: func(j *mpi.MPIJob) time.Time { return said(j).LastUpdate() },
		Priority:             priorityClass,
		Children:             children(),
		PodLabels:            podLabels,
		Webhook:              job.Webhook[*mpi.MPIJob]{Default: offsetWorkers, ChangesFirst: true, SortByField: true},

		ManagedBy: job.ManagedByField("spec.runPolicy.managedBy", mpi.KubeflowJobController,
			func(j *mpi.MPIJob) **string { return &j.Spec.RunPolicy.ManagedBy }),
		CopyStatus: job.StatusCopier(
			func(j *mpi.MPIJob) *mpi.JobStatus { return &j.Status },
			func(j *mpi.MPIJob) bool { return said(j).Outcome() != nil },
		),
		Detach: detach,
		Strip:  strip,
	}, templates)
}

// addToScheme registers the types without the operator's functions for defaults, which nothing here asks for.
func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(mpi.SchemeGroupVersion, &mpi.MPIJob{}, &mpi.MPIJobList{})
	metav1.AddToGroupVersion(s, mpi.SchemeGroupVersion)
	return nil
}

func suspended(j *mpi.MPIJob) bool { return ptr.Deref(j.Spec.RunPolicy.Suspend, false) }

// templates are those of the launcher and of the workers, as far as the job has them.
func templates(j *mpi.MPIJob) []job.Template {
	var list []job.Template
	for _, name := range []mpi.MPIReplicaType{mpi.MPIReplicaTypeLauncher, mpi.MPIReplicaTypeWorker} {
		spec := j.Spec.MPIReplicaSpecs[name]
		if spec == nil {
			continue
		}
		path := field.NewPath("spec", "mpiReplicaSpecs").Key(string(name))
		list = append(list, job.Template{
			Name: string(name), Count: int64(replicaCount(spec)), Pod: &spec.Template,
			Path: path, Metadata: path.Child("template", "metadata"),
		})
	}
	return list
}

// replicaCount is how many pods are asked for: one if nothing says.
func replicaCount(spec *mpi.ReplicaSpec) int32 { return ptr.Deref(spec.Replicas, 1) }

// offsetWorkers lets the ranks of workers start at one where the launcher is a worker too, and has rank zero. In a group the launcher and
// the workers are ranked together.
func offsetWorkers(j *mpi.MPIJob, gates job.Gates) {
	launcher, worker := j.Spec.MPIReplicaSpecs[mpi.MPIReplicaTypeLauncher], j.Spec.MPIReplicaSpecs[mpi.MPIReplicaTypeWorker]
	if !gates.Topology || !ptr.Deref(j.Spec.RunLauncherAsWorker, false) || launcher == nil || worker == nil {
		return
	}
	if _, grouped := launcher.Template.Annotations[kueue.PodSetGroupNameAnnotation]; !grouped {
		metav1.SetMetaDataAnnotation(&worker.Template.ObjectMeta, kueue.PodIndexOffsetAnnotation, "1")
	}
}

// priorityClass names the class of the whole job; empty if only its pods have one.
func priorityClass(j *mpi.MPIJob) string {
	if j.Spec.RunPolicy.SchedulingPolicy == nil {
		return ""
	}
	return j.Spec.RunPolicy.SchedulingPolicy.PriorityClass
}

// said is what the operator has said of the job.
func said(j *mpi.MPIJob) status.Status {
	s := status.Status{
		Suspended: suspended(j),
		Times:     []*metav1.Time{j.Status.StartTime, j.Status.CompletionTime, j.Status.LastReconcileTime},
	}
	for _, replicas := range j.Status.ReplicaStatuses {
		s.Active = s.Active || replicas != nil && replicas.Active != 0
	}
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		s.Conditions = append(s.Conditions, status.Condition{
			Type: string(c.Type), Status: c.Status, Message: c.Message, Updated: c.LastUpdateTime, Transitioned: c.LastTransitionTime,
		})
	}
	return s
}

// detach leaves what the user wrote. A finished copy must not vanish before its result is known; its maker deletes it.
func detach(j *mpi.MPIJob) {
	j.Spec.RunPolicy.TTLSecondsAfterFinished = nil
	j.Status = mpi.JobStatus{}
}

// strip drops the pod templates of a cached job, which no decision reads.
func strip(j *mpi.MPIJob) {
	for _, spec := range j.Spec.MPIReplicaSpecs {
		if spec != nil {
			spec.Template = corev1.PodTemplateSpec{}
		}
	}
}
