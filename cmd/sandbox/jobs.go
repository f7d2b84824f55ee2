package main

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config/samples"
	"switchyard.dev/e2e/clusters"
)

// request is a job as a user thinks of it.
type request struct {
	Namespace, Name string
	// JobSet has a driver pod without GPUs beside its Pods; otherwise it is a Job.
	JobSet   bool
	Priority string
	// Class is the kind of GPU it needs; "" takes any.
	Class  string
	Pods   int
	GPUs   int // of each pod
	RunFor time.Duration
}

// allPods counts the driver too.
func (r request) allPods() int {
	if r.JobSet {
		return r.Pods + 1
	}
	return r.Pods
}

func (r request) key() client.ObjectKey {
	return client.ObjectKey{Namespace: r.Namespace, Name: r.Name}
}

func (r request) kind() string {
	if r.JobSet {
		return "JobSet"
	}
	return "Job"
}

// describeRequest is the request in short: "2x4 H100", "1x4 any".
func (r request) describeRequest() string {
	class := r.Class
	if class == "" {
		class = "any"
	}
	return fmt.Sprintf("%dx%d %s", r.Pods, r.GPUs, class)
}

// requests are what is submitted, in this order: each recipe three times, the two teams by turns. They need about three
// times the GPUs that the workers have together, so some must wait.
func requests() []request {
	recipes := []request{
		{Name: "segment", Priority: "normal", Class: "H100", Pods: 2, GPUs: 2, RunFor: 3 * time.Second},
		{Name: "pretrain", Priority: "urgent", Class: "A100", Pods: 2, GPUs: 4, RunFor: 4 * time.Second, JobSet: true},
		{Name: "caption", Priority: "background", Class: "L4", Pods: 2, GPUs: 1, RunFor: 2 * time.Second},
		{Name: "finetune", Priority: "normal", Pods: 1, GPUs: 4, RunFor: 3 * time.Second},
		{Name: "evaluate", Priority: "urgent", Pods: 4, GPUs: 1, RunFor: 2 * time.Second},
		{Name: "distill", Priority: "normal", Class: "H100", Pods: 2, GPUs: 4, RunFor: 3 * time.Second, JobSet: true},
		{Name: "embed", Priority: "background", Class: "A100", Pods: 4, GPUs: 2, RunFor: 3 * time.Second},
		{Name: "detect", Priority: "normal", Class: "L4", Pods: 4, GPUs: 1, RunFor: 3 * time.Second},
		{Name: "align", Priority: "urgent", Class: "H100", Pods: 1, GPUs: 8, RunFor: 4 * time.Second},
		{Name: "sweep", Priority: "background", Pods: 3, GPUs: 2, RunFor: 3 * time.Second, JobSet: true},
	}
	teams := []string{"vision", "language"}
	var all []request
	for round := range 3 {
		for i, r := range recipes {
			r.Namespace = teams[(round+i)%len(teams)]
			r.Name = fmt.Sprintf("%s-%d", r.Name, round+1)
			all = append(all, r)
		}
	}
	return all
}

// buildObject is the shipped sample of the request's kind, with the request's own numbers.
func (r request) buildObject() (client.Object, error) {
	if r.JobSet {
		return r.buildJobSet()
	}
	job := &batchv1.Job{}
	if err := sample("jobs/job.yaml", job); err != nil {
		return nil, err
	}
	r.setLabels(job)
	r.setPodTemplate(&job.Spec, r.Pods, r.GPUs)
	return job, nil
}

func (r request) buildJobSet() (client.Object, error) {
	set := &jobset.JobSet{}
	if err := sample("jobs/jobset.yaml", set); err != nil {
		return nil, err
	}
	r.setLabels(set)
	for i := range set.Spec.ReplicatedJobs {
		part := &set.Spec.ReplicatedJobs[i]
		if part.Name == "driver" {
			r.setPodTemplate(&part.Template.Spec, 1, 0)
		} else {
			r.setPodTemplate(&part.Template.Spec, r.Pods, r.GPUs)
		}
	}
	return set, nil
}

func (r request) setLabels(object client.Object) {
	object.SetNamespace(r.Namespace)
	object.SetName(r.Name)
	labels := object.GetLabels()
	labels[kueue.PriorityClassLabel] = r.Priority
	object.SetLabels(labels)
}

func (r request) setPodTemplate(spec *batchv1.JobSpec, pods, gpus int) {
	spec.Parallelism, spec.Completions = ptr.To(int32(pods)), ptr.To(int32(pods))
	template := &spec.Template
	template.Annotations[clusters.RunForAnnotation] = r.RunFor.String()
	template.Spec.NodeSelector = nil
	if r.Class != "" {
		template.Spec.NodeSelector = map[string]string{clusters.GPUClassLabel: r.Class}
	}
	if gpus > 0 {
		template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
			clusters.GPUResource: *resource.NewQuantity(int64(gpus), resource.DecimalSI),
		}
	}
}

func sample(file string, into client.Object) error {
	objects, err := samples.Objects(file)
	if err != nil {
		return err
	}
	if len(objects) != 1 {
		return fmt.Errorf("sample %s has %d objects; want one", file, len(objects))
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, into); err != nil {
		return fmt.Errorf("sample %s: %w", file, err)
	}
	return nil
}

// title is the request's name as shown: "vision/segment-1".
func (r request) title() string { return strings.Join([]string{r.Namespace, r.Name}, "/") }
