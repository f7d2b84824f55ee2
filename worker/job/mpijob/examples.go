package mpijob

import (
	"time"

	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Examples returns an MPIJob and what the MPI operator makes of its status.
func Examples() job.Examples[*mpi.MPIJob] {
	return job.Examples[*mpi.MPIJob]{
		Job: sample, Started: started, Suspending: suspending, Succeeded: ended(mpi.JobSucceeded), Failed: ended(mpi.JobFailed),
	}
}

// sample is an MPIJob of a launcher and three workers.
func sample() *mpi.MPIJob {
	return &mpi.MPIJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: "train", Namespace: "team", UID: "u-1", ResourceVersion: "5", Generation: 2,
			Labels: map[string]string{kueue.QueueNameLabel: "main"}, Annotations: map[string]string{"note": "mine"},
		},
		Spec: mpi.MPIJobSpec{
			SlotsPerWorker: ptr.To[int32](1),
			RunPolicy:      mpi.RunPolicy{Suspend: ptr.To(true), TTLSecondsAfterFinished: ptr.To[int32](60)},
			MPIReplicaSpecs: map[mpi.MPIReplicaType]*mpi.ReplicaSpec{
				mpi.MPIReplicaTypeLauncher: replicas("launcher", 1), mpi.MPIReplicaTypeWorker: replicas("worker", 3),
			},
		},
	}
}

func replicas(name string, count int32) *mpi.ReplicaSpec {
	return &mpi.ReplicaSpec{Replicas: &count, RestartPolicy: mpi.RestartPolicyNever, Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"role": name}, Annotations: map[string]string{"scrape": "yes"}},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "main", Image: name + ":1"}},
			NodeSelector: map[string]string{"arch": "arm64"},
			Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
		},
	}}
}

func started(j *mpi.MPIJob) {
	j.Status.ReplicaStatuses = map[mpi.MPIReplicaType]*mpi.ReplicaStatus{
		mpi.MPIReplicaTypeLauncher: {Active: 1}, mpi.MPIReplicaTypeWorker: {Active: 3},
	}
	j.Status.Conditions = []mpi.JobCondition{condition(mpi.JobSuspended, corev1.ConditionFalse), condition(mpi.JobRunning, corev1.ConditionTrue)}
}

func suspending(j *mpi.MPIJob) {
	j.Status.ReplicaStatuses = map[mpi.MPIReplicaType]*mpi.ReplicaStatus{mpi.MPIReplicaTypeLauncher: {}, mpi.MPIReplicaTypeWorker: {}}
	j.Status.Conditions = []mpi.JobCondition{condition(mpi.JobSuspended, corev1.ConditionTrue), condition(mpi.JobRunning, corev1.ConditionFalse)}
}

func ended(how mpi.JobConditionType) func(*mpi.MPIJob) {
	return func(j *mpi.MPIJob) {
		j.Status.ReplicaStatuses = map[mpi.MPIReplicaType]*mpi.ReplicaStatus{mpi.MPIReplicaTypeLauncher: {Succeeded: 1}}
		j.Status.Conditions = []mpi.JobCondition{condition(mpi.JobRunning, corev1.ConditionFalse), condition(how, corev1.ConditionTrue)}
	}
}

func condition(kind mpi.JobConditionType, is corev1.ConditionStatus) mpi.JobCondition {
	noon := metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	return mpi.JobCondition{Type: kind, Status: is, Message: "because " + string(kind), LastUpdateTime: noon, LastTransitionTime: noon}
}
