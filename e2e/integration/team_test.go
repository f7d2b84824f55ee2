package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// queueName is the LocalQueue of every team.
const queueName = "main"

// team is a namespace of the same name on the hub and the workers, with a LocalQueue and a ClusterQueue of its own.
type team struct{ name string }

var teams int

func nextTeam() team {
	teams++
	return team{name: fmt.Sprintf("team-%d", teams)}
}

// newTeam makes a team with that many GPUs at the hub and at each worker.
func newTeam(ctx context.Context, gpus int) team {
	GinkgoHelper()
	return newTeamOf(ctx, gpus, gpus, gpus)
}

// newTeamOf makes a team with as many GPUs at the hub, and at each worker, as given.
func newTeamOf(ctx context.Context, atHub int, atWorkers ...int) team {
	GinkgoHelper()
	return newTeamBy(ctx, func(name string) *kueue.ClusterQueue { return clusterQueue(name, atHub, "multikueue") }, atWorkers...)
}

// newTeamBy makes a team with a ClusterQueue of its own kind at the hub, and as many GPUs as given at each worker.
func newTeamBy(ctx context.Context, atHub func(name string) *kueue.ClusterQueue, atWorkers ...int) team {
	GinkgoHelper()
	t := nextTeam()
	for i, w := range workers {
		t.setUp(ctx, w, clusterQueue(t.name, atWorkers[i]))
	}
	t.setUp(ctx, hub, atHub(t.name))
	return t
}

// newTeamAt makes a team with that many GPUs at one site, and nowhere else.
func newTeamAt(ctx context.Context, s *installation.Site, gpus int) team {
	GinkgoHelper()
	t := nextTeam()
	t.setUp(ctx, s, clusterQueue(t.name, gpus))
	return t
}

// setUp makes the team's objects at a site. After the spec the team's jobs go, in the opposite order of the sites, so that
// the nodes are free for the next spec.
func (t team) setUp(ctx context.Context, s *installation.Site, queue *kueue.ClusterQueue) {
	GinkgoHelper()
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.name}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: t.name}},
		queue,
		t.localQueue(queueName),
	} {
		Expect(s.Create(ctx, object)).To(Succeed())
	}
	DeferCleanup(func(ctx SpecContext) {
		for _, object := range []client.Object{&batchv1.Job{}, &jobset.JobSet{}} {
			Eventually(func() error {
				return s.DeleteAllOf(ctx, object, client.InNamespace(t.name), client.PropagationPolicy(metav1.DeletePropagationForeground))
			}).WithContext(ctx).Should(Succeed())
		}
		Eventually(t.pods).WithContext(ctx).WithArguments(s).Should(BeEmpty(), "no pod of %s is left at %s", t.name, s.Name)
	})
}

// pods are the names of the team's pods at a site.
func (t team) pods(ctx context.Context, s *installation.Site) ([]string, error) {
	var list corev1.PodList
	err := s.List(ctx, &list, client.InNamespace(t.name))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, err
}

func (t team) localQueue(name string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(t.name)},
	}
}

// clusterQueue has a flavor of its own name with that many GPUs and any amount of CPU.
func clusterQueue(name string, gpus int, checks ...string) *kueue.ClusterQueue {
	queue := &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{clusters.GPUResource, corev1.ResourceCPU},
				Flavors: []kueue.FlavorQuotas{{
					Name: kueue.ResourceFlavorReference(name),
					Resources: []kueue.ResourceQuota{
						{Name: clusters.GPUResource, NominalQuota: *resource.NewQuantity(int64(gpus), resource.DecimalSI)},
						{Name: corev1.ResourceCPU, NominalQuota: resource.MustParse("1000")},
					},
				}},
			}},
		},
	}
	if len(checks) > 0 {
		queue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{}
		for _, check := range checks {
			queue.Spec.AdmissionChecksStrategy.AdmissionChecks = append(queue.Spec.AdmissionChecksStrategy.AdmissionChecks,
				kueue.AdmissionCheckStrategyRule{Name: kueue.AdmissionCheckReference(check)})
		}
	}
	return queue
}

// pods is the template of pods that ask for one CPU and the GPUs, and run for the duration.
func pods(gpus int, runFor string) corev1.PodTemplateSpec {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	if gpus > 0 {
		requests[clusters.GPUResource] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusters.RunForAnnotation: runFor}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "main", Image: "example.local/train:1",
				Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests},
			}},
		},
	}
}

// job asks for one pod with the GPUs.
func (t team) job(name string, gpus int, runFor string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.name, Name: name, Labels: map[string]string{kueue.QueueNameLabel: queueName},
		},
		Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1), BackoffLimit: ptr.To[int32](0),
			Template: pods(gpus, runFor),
		},
	}
}

// jobSet asks for two jobs of one pod each.
func (t team) jobSet(name string, gpus int, runFor string) *jobset.JobSet {
	return &jobset.JobSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.name, Name: name, Labels: map[string]string{kueue.QueueNameLabel: queueName},
		},
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{
			Name: "workers", Replicas: 2, Template: batchv1.JobTemplateSpec{Spec: t.job("", gpus, runFor).Spec},
		}}},
	}
}
