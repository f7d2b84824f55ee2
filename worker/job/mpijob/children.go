package mpijob

import (
	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// children are the batch Job that the operator makes for the launcher. It makes the pods of workers itself.
func children() *job.Children[*mpi.MPIJob] {
	return &job.Children[*mpi.MPIJob]{
		NewLists:  func() []client.ObjectList { return []client.ObjectList{&batchv1.JobList{}} },
		Labels:    func(j *mpi.MPIJob) map[string]string { return map[string]string{"app": j.Name} },
		Covers:    covers,
		HoldsPods: job.BatchJobHoldsPods,
	}
}

// podLabels are those of the pods of workers, and of those of the launcher, which are its Job's.
func podLabels(j *mpi.MPIJob) map[string]string {
	return map[string]string{mpi.OperatorNameLabel: mpi.OperatorName, mpi.JobNameLabel: j.Name}
}

// covers holds for a Job that has the launcher's name, which is unique, and asks for no more than the launcher.
func covers(j *mpi.MPIJob, child client.Object) bool {
	launcher, ok := child.(*batchv1.Job)
	spec := j.Spec.MPIReplicaSpecs[mpi.MPIReplicaTypeLauncher]
	return ok && spec != nil && launcher.Name == j.Name+"-launcher" &&
		job.BatchJobPods(&launcher.Spec) <= replicaCount(spec) && job.RequestsAtMost(&launcher.Spec.Template.Spec, &spec.Template.Spec)
}
