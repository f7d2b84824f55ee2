package kind

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// team is the namespace of all jobs, the same on every cluster; main and scarce are its queues.
const (
	team   = "team"
	main   = "main"
	scarce = "scarce"
)

// job is one container that runs "job ARGS...", see job/main.go.
func job(name, queue string, args ...string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name, Labels: map[string]string{kueue.QueueNameLabel: queue}},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](1),
				Containers: []corev1.Container{{
					Name: "main", Image: "switchyard.dev/job:e2e", Args: args,
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m")}},
				}},
			}},
		},
	}
}

// jobSet is two such jobs.
func jobSet(name, queue string, args ...string) *jobset.JobSet {
	return &jobset.JobSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name, Labels: map[string]string{kueue.QueueNameLabel: queue}},
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{
			Name: "part", Replicas: 2, Template: batchv1.JobTemplateSpec{Spec: job("", queue, args...).Spec},
		}}},
	}
}

// workloadOf is the hub's Workload of a job.
func workloadOf(ctx context.Context, of client.Object) (*kueue.Workload, error) {
	var list kueue.WorkloadList
	if err := hub.List(ctx, &list, client.InNamespace(of.GetNamespace())); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], of) {
			return &list.Items[i], nil
		}
	}
	return nil, fmt.Errorf("%s has no Workload", of.GetName())
}

// clusterOf is the name of the cluster that has a job; "" for none.
func clusterOf(ctx context.Context, of client.Object) (string, error) {
	wl, err := workloadOf(ctx, of)
	if err != nil {
		return "", err
	}
	return ptr.Deref(wl.Status.ClusterName, ""), nil
}

// workloadState is a condition of a job's Workload as "<status> <reason>".
func workloadState(ctx context.Context, of client.Object, condition string) (string, error) {
	wl, err := workloadOf(ctx, of)
	if err != nil {
		return "", err
	}
	found := meta.FindStatusCondition(wl.Status.Conditions, condition)
	if found == nil {
		return "", nil
	}
	return string(found.Status) + " " + found.Reason, nil
}

// expectComplete waits until the hub shows a Job as complete.
func expectComplete(ctx context.Context, j *batchv1.Job) {
	GinkgoHelper()
	Eventually(func() ([]batchv1.JobCondition, error) {
		err := hub.Get(ctx, client.ObjectKeyFromObject(j), j)
		return j.Status.Conditions, err
	}).WithContext(ctx).Should(ContainElement(And(
		HaveField("Type", batchv1.JobComplete), HaveField("Status", corev1.ConditionTrue))), "job %s completes", j.Name)
}

// running is the worker where a container of the job runs; "" for none.
func running(ctx context.Context, j *batchv1.Job) (string, error) {
	for _, w := range workers {
		pods, err := podsOf(ctx, w, j)
		if err != nil {
			return "", err
		}
		for i := range pods {
			if runs(&pods[i]) {
				return w.name, nil
			}
		}
	}
	return "", nil
}

// runs tells whether the pod's container runs and shall go on.
func runs(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

// podsOf are the pods of a Job on a cluster.
func podsOf(ctx context.Context, c *kindCluster, j *batchv1.Job) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(j.Namespace), client.MatchingLabels{batchv1.JobNameLabel: j.Name})
	return pods.Items, err
}

// remove deletes jobs from the hub and waits until nothing of the team runs or is queued anywhere.
func remove(ctx context.Context, jobs ...client.Object) {
	GinkgoHelper()
	for _, j := range jobs {
		Expect(client.IgnoreNotFound(hub.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground)))).To(Succeed())
	}
	for _, c := range []*kindCluster{hub, w1, w2} {
		Eventually(c.listTeamObjects).WithContext(ctx).Should(BeEmpty(), "on %s", c.name)
	}
}

// listTeamObjects lists the team's jobs, pods and Workloads on the cluster.
func (c *kindCluster) listTeamObjects(ctx context.Context) ([]string, error) {
	var held []string
	for kind, list := range map[string]client.ObjectList{
		"Job": &batchv1.JobList{}, "JobSet": &jobset.JobSetList{}, "Pod": &corev1.PodList{}, "Workload": &kueue.WorkloadList{},
	} {
		if err := c.List(ctx, list, client.InNamespace(team)); err != nil {
			return nil, err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			held = append(held, kind+" "+item.(client.Object).GetName())
		}
	}
	return held, nil
}
