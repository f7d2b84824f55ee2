package raycluster

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Examples returns a RayCluster and what KubeRay makes of its status.
func Examples() job.Examples[*rayv1.RayCluster] {
	return job.Examples[*rayv1.RayCluster]{
		Job:        sample,
		Started:    func(rc *rayv1.RayCluster) { rc.Status = ReadyStatus() },
		Suspending: func(rc *rayv1.RayCluster) { rc.Status = suspendedStatus() },
	}
}

// sample is a suspended RayCluster.
func sample() *rayv1.RayCluster {
	return &rayv1.RayCluster{ObjectMeta: SampleMeta("cluster"), Spec: SampleSpec()}
}

// SampleMeta is the metadata of a job of that name as the API server stores it.
func SampleMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: "team", UID: "u-1", ResourceVersion: "5", Generation: 2,
		Labels: map[string]string{kueue.QueueNameLabel: "main"}, Annotations: map[string]string{"note": "mine"},
	}
}

// SampleSpec is a suspended cluster of a head, three small workers and two groups of four hosts.
func SampleSpec() rayv1.RayClusterSpec {
	return rayv1.RayClusterSpec{
		Suspend:       ptr.To(true),
		HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: sampleTemplate(headGroup)},
		WorkerGroupSpecs: []rayv1.WorkerGroupSpec{
			{GroupName: "Small", Replicas: ptr.To[int32](3), MinReplicas: ptr.To[int32](0), NumOfHosts: 1, RayStartParams: map[string]string{}, Template: sampleTemplate("small")},
			{GroupName: "tpu", Replicas: ptr.To[int32](2), MinReplicas: ptr.To[int32](0), NumOfHosts: 4, RayStartParams: map[string]string{}, Template: sampleTemplate("tpu")},
		},
	}
}

func sampleTemplate(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: map[string]string{"scrape": "yes"}},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "ray", Image: "ray:2"}},
			NodeSelector: map[string]string{"arch": "arm64"},
			Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
		},
	}
}

// ReadyStatus is that of a RayCluster all of whose pods are ready.
func ReadyStatus() rayv1.RayClusterStatus {
	return rayv1.RayClusterStatus{
		State:                 rayv1.Ready,
		DesiredWorkerReplicas: 11, AvailableWorkerReplicas: 11, ReadyWorkerReplicas: 11,
		Conditions: conditions(map[rayv1.RayClusterConditionType]bool{
			rayv1.HeadPodReady: true, rayv1.RayClusterProvisioned: true, rayv1.RayClusterSuspending: false, rayv1.RayClusterSuspended: false,
		}),
	}
}

func suspendedStatus() rayv1.RayClusterStatus {
	return rayv1.RayClusterStatus{
		State:                 rayv1.Suspended,
		DesiredWorkerReplicas: 11,
		Conditions: conditions(map[rayv1.RayClusterConditionType]bool{
			rayv1.HeadPodReady: false, rayv1.RayClusterProvisioned: false, rayv1.RayClusterSuspending: false, rayv1.RayClusterSuspended: true,
		}),
	}
}

// conditions are in the order in which KubeRay adds them.
func conditions(status map[rayv1.RayClusterConditionType]bool) []metav1.Condition {
	var list []metav1.Condition
	for _, kind := range []rayv1.RayClusterConditionType{
		rayv1.HeadPodReady, rayv1.RayClusterProvisioned, rayv1.RayClusterSuspended, rayv1.RayClusterSuspending,
	} {
		c := metav1.Condition{Type: string(kind), Status: metav1.ConditionFalse, Reason: string(kind), LastTransitionTime: metav1.Unix(1, 0)}
		if status[kind] {
			c.Status = metav1.ConditionTrue
		}
		list = append(list, c)
	}
	return list
}
