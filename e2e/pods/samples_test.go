package pods

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config/samples"
	"switchyard.dev/e2e/clusters"
)

// Kubernetes' own controllers make pods of the samples. What KServe, the notebook controller, Tekton, Argo and Spark make of theirs is made
// here, with the labels that they pass on (contract: job-kinds.md 16); Tekton itself runs in TestPipelineRunsHaveTheirPodsQueue.
func TestTheSamplesOfPodsRunByQuota(t *testing.T) {
	s := start(t, clusters.Options{Name: "samples", Nodes: []clusters.NodePool{{Name: "cpu", Count: 2}}}, "batch/job", "pod", "deployment", "statefulset")
	for _, c := range []struct {
		file, states, usage string
		make                func(t team, sample *unstructured.Unstructured)
	}{
		{"pod", "1 Running", "0 wait, 1 run, 1 CPUs", nil},
		{"podgroup", "3 Running", "0 wait, 1 run, 4 CPUs", nil},
		{"deployment", "2 Running", "0 wait, 2 run, 2 CPUs", nil},
		{"statefulset", "2 Running", "0 wait, 1 run, 2 CPUs", nil},
		{"cronjob", "1 Running", "0 wait, 1 run, 1 CPUs", team.runCronJobNow},
		{"inferenceservice", "1 Running", "0 wait, 1 run, 1 CPUs", team.playKServe},
		{"notebook", "1 Running", "0 wait, 1 run, 1 CPUs", team.playNotebooks},
		{"pipelinerun", "1 Running", "0 wait, 1 run, 1 CPUs", team.playTekton},
		{"workflow", "1 Running", "0 wait, 1 run, 1 CPUs", team.playArgo},
		{"spark-executor", "3 Running", "0 wait, 3 run, 3 CPUs", team.playSpark},
	} {
		t.Run(c.file, func(t *testing.T) {
			tm := s.newTeam(t, c.file, 4)
			tm.create(&kueue.LocalQueue{
				ObjectMeta: metav1.ObjectMeta{Namespace: tm.name, Name: "train"},
				Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(tm.name)},
			})
			objects, err := samples.Objects("pods/" + c.file + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				object.SetNamespace(tm.name)
				if c.make == nil {
					tm.create(object)
				} else {
					c.make(tm, object)
				}
			}
			tm.expectStates(c.states)
			tm.expectUsage(c.usage)
		})
	}
}

// runCronJobNow makes of a CronJob the Job that its time, or "kubectl create job --from", would.
func (t team) runCronJobNow(sample *unstructured.Unstructured) {
	t.create(sample)
	cron := &batchv1.CronJob{}
	t.read(sample, cron)
	t.create(&batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.name, Name: cron.Name + "-1", Labels: cron.Spec.JobTemplate.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: cron.Spec.JobTemplate.Spec,
	})
}

// playKServe makes the Deployment of a predictor: the labels are on both, the Deployment and its pods.
func (t team) playKServe(sample *unstructured.Unstructured) {
	deployment := t.deployment(sample.GetName()+"-predictor", 1)
	deployment.Labels = sample.GetLabels()
	for key, value := range sample.GetLabels() {
		deployment.Spec.Template.Labels[key] = value
	}
	deployment.Spec.Template.Labels["serving.kserve.io/inferenceservice"] = sample.GetName()
	t.create(deployment)
}

// playNotebooks makes the StatefulSet of a Notebook: the labels are on its pods alone.
func (t team) playNotebooks(sample *unstructured.Unstructured) {
	set := t.statefulSet(sample.GetName(), 1)
	set.Labels = nil
	for key, value := range sample.GetLabels() {
		set.Spec.Template.Labels[key] = value
	}
	t.create(set)
}

// playTekton makes the pod of a PipelineRun's only task.
func (t team) playTekton(sample *unstructured.Unstructured) {
	t.createOwned(sample.GetName()+"-compile-pod", sample.GetLabels(), schema.GroupVersionKind{Group: "tekton.dev", Version: "v1", Kind: "TaskRun"})
}

// playArgo makes the pod of a Workflow's only step.
func (t team) playArgo(sample *unstructured.Unstructured) {
	labels, _, err := unstructured.NestedStringMap(sample.Object, "spec", "podMetadata", "labels")
	if err != nil {
		t.Fatal(err)
	}
	t.createOwned(sample.GetName(), labels, sample.GroupVersionKind())
}

// createOwned makes a pod that an object of another kind owns, which is not served here.
func (t team) createOwned(name string, labels map[string]string, owner schema.GroupVersionKind) {
	t.Helper()
	pod := t.pod(name, "1")
	pod.Labels = labels
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: name, UID: "0d3a4e6c-1111-4222-8333-944445555666"}, owner)}
	t.create(pod)
}

// playSpark makes a driver that queues, and two executors of the template.
func (t team) playSpark(sample *unstructured.Unstructured) {
	driver := t.pod("driver", "1")
	driver.Labels[kueue.QueueNameLabel] = "train"
	t.create(driver)
	t.expectStates("1 Running")
	for _, name := range []string{"exec-1", "exec-2"} {
		executor := t.pod(name, "1")
		executor.Labels, executor.Annotations = sample.GetLabels(), sample.GetAnnotations()
		executor.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(driver, corev1.SchemeGroupVersion.WithKind("Pod"))}
		t.create(executor)
	}
}

// read reads an object into its own type.
func (t team) read(object *unstructured.Unstructured, into client.Object) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		t.Fatal(err)
	}
}
