package kubeflow

import (
	"strings"
	"time"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// examples returns a job of the kind with one replica of the first type, two of the second and so on.
func (v variety[T]) examples() job.Examples[T] {
	return job.Examples[T]{
		Job: v.sample,
		Started: func(j T) {
			v.parts(j).count(func(s *kubeflow.ReplicaStatus) { s.Active = 1 })
			v.parts(j).say(kubeflow.JobRunning, corev1.ConditionTrue)
			v.parts(j).say(kubeflow.JobSuspended, corev1.ConditionFalse)
		},
		Suspending: func(j T) {
			v.parts(j).count(func(*kubeflow.ReplicaStatus) {})
			v.parts(j).say(kubeflow.JobRunning, corev1.ConditionFalse)
			v.parts(j).say(kubeflow.JobSuspended, corev1.ConditionTrue)
		},
		Succeeded: func(j T) { v.parts(j).end(kubeflow.JobSucceeded) },
		Failed:    func(j T) { v.parts(j).end(kubeflow.JobFailed) },
	}
}

func (v variety[T]) sample() T {
	j := v.newJob()
	j.SetName("train")
	j.SetNamespace("team")
	j.SetUID("u-1")
	j.SetResourceVersion("5")
	j.SetGeneration(2)
	j.SetLabels(map[string]string{kueue.QueueNameLabel: "main"})
	j.SetAnnotations(map[string]string{"note": "mine"})
	p := v.parts(j)
	p.policy.Suspend, p.policy.TTLSecondsAfterFinished = ptr.To(true), ptr.To[int32](60)
	*p.replicas = map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{}
	for i, name := range v.types {
		(*p.replicas)[name] = replicas(strings.ToLower(string(name)), int32(i+1))
	}
	return j
}

func replicas(name string, count int32) *kubeflow.ReplicaSpec {
	return &kubeflow.ReplicaSpec{Replicas: &count, RestartPolicy: kubeflow.RestartPolicyOnFailure, Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: map[string]string{"scrape": "yes"}},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "main", Image: name + ":1"}},
			NodeSelector: map[string]string{"arch": "arm64"},
			Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
		},
	}}
}

// count gives the replicas of each type a new status.
func (p parts) count(set func(*kubeflow.ReplicaStatus)) {
	p.status.ReplicaStatuses = map[kubeflow.ReplicaType]*kubeflow.ReplicaStatus{}
	for name := range *p.replicas {
		p.status.ReplicaStatuses[name] = &kubeflow.ReplicaStatus{}
		set(p.status.ReplicaStatuses[name])
	}
}

// say sets a condition.
func (p parts) say(kind kubeflow.JobConditionType, status corev1.ConditionStatus) {
	noon := metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	said := kubeflow.JobCondition{Type: kind, Status: status, Message: "because " + string(kind), LastUpdateTime: noon, LastTransitionTime: noon}
	for i := range p.status.Conditions {
		if p.status.Conditions[i].Type == kind {
			p.status.Conditions[i] = said
			return
		}
	}
	p.status.Conditions = append(p.status.Conditions, said)
}

func (p parts) end(kind kubeflow.JobConditionType) {
	p.count(func(s *kubeflow.ReplicaStatus) { s.Succeeded = 1 })
	p.say(kubeflow.JobRunning, corev1.ConditionFalse)
	p.say(kind, corev1.ConditionTrue)
}
