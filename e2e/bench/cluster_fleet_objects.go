package bench

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

const (
	// unlimitedQueue is a queue in which everything fits, tight one whose quota on each worker is tightCores.
	unlimitedQueue, limitedQueue = "wide", "tight"
	unlimitedCores               = 1_000_000
	limitedCores                 = 40
)

func programsNamespace() client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installation.Namespace}}
}

// hubObjects are the namespace, flavor and queues of a cluster; of the hub for so many workers, of a worker for none.
func hubObjects(workers []string) []client.Object {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: team}},
	}
	if len(workers) > 0 {
		objects = append(objects, installation.MultiKueueCheck("multikueue", workers...)...)
	}
	for name, cores := range map[string]int64{unlimitedQueue: unlimitedCores, limitedQueue: limitedCores * int64(max(len(workers), 1))} {
		queue := clusterQueue(name, cores)
		if len(workers) > 0 {
			queue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{
				AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "multikueue"}},
			}
		}
		objects = append(objects, queue, localQueue(name))
	}
	return objects
}

// workerObjects are the namespace, flavor and queue of a worker in memory.
func workerObjects(queue string) []client.Object {
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: team}},
		clusterQueue(queue, workerCores), localQueue(queue),
	}
}

func clusterQueue(name string, cores int64) *kueue.ClusterQueue {
	return &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{corev1.ResourceCPU},
				Flavors: []kueue.FlavorQuotas{{Name: team, Resources: []kueue.ResourceQuota{
					{Name: corev1.ResourceCPU, NominalQuota: *resource.NewQuantity(cores, resource.DecimalSI)},
				}}},
			}},
		},
	}
}

// localQueue leads to the ClusterQueue of its name.
func localQueue(name string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(name)},
	}
}

// queuedJob is a Job as it is after a hub's webhooks, so that others may be measured without theirs: suspended, and for the
// dispatcher to run.
func queuedJob(name, queue string, cores int) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name, Labels: map[string]string{kueue.QueueNameLabel: queue}},
		Spec: batchv1.JobSpec{
			Suspend: ptr.To(true), ManagedBy: ptr.To(kueue.MultiKueueControllerName),
			Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{
					Name: "main", Image: "example.local/train:1",
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(cores), resource.DecimalSI)},
					},
				}},
			}},
		},
	}
}
