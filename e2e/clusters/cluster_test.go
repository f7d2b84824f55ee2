package clusters_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"switchyard.dev/e2e/clusters"
)

// shared is one cluster with everything, for the tests that leave no trace on it.
var shared *clusters.Cluster

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv(childVariable) != "" {
		return runAsParent()
	}
	log.SetLogger(logr.Discard())
	began := time.Now()
	c, err := clusters.Start(context.Background(), clusters.Options{
		Name:      "shared",
		Nodes:     []clusters.NodePool{{Name: "h100", Count: 2, GPUClass: "H100", GPUs: 8}},
		Operators: []clusters.Operator{clusters.JobSet},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "cluster ready after %.1f s\n", time.Since(began).Seconds())
	shared = c
	code := m.Run()
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestAJobsPodsRunOnGPUNodesForAsLongAsTheAnnotationSays(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(shared.Config)
	job := newJob("runs", 2, map[string]string{clusters.RunForAnnotation: "1500ms"})
	if _, err := client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job is complete", func() error {
		got, err := client.BatchV1().Jobs("default").Get(t.Context(), job.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got.Status.Succeeded != 2 || got.Status.CompletionTime == nil {
			return fmt.Errorf("status %+v", got.Status)
		}
		return nil
	})
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=" + job.Name})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		ended := pod.Status.ContainerStatuses[0].State.Terminated
		if ran := ended.FinishedAt.Sub(ended.StartedAt.Time); ran < time.Second || pod.Spec.NodeName == "" {
			t.Errorf("pod %s ran on node %q for %s; want a node and about 1.5 s", pod.Name, pod.Spec.NodeName, ran)
		}
	}
}

func TestAPodWithAnExitCodeFails(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(shared.Config)
	job := newJob("fails", 1, map[string]string{clusters.RunForAnnotation: "100ms", clusters.ExitCodeAnnotation: "3"})
	if _, err := client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job has failed", func() error {
		got, err := client.BatchV1().Jobs("default").Get(t.Context(), job.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range got.Status.Conditions {
			if condition.Type == batchv1.JobFailed && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("status %+v", got.Status)
	})
}

func TestAPodWithoutTheAnnotationRunsUntilItIsGiven(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(shared.Config)
	pods := client.CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "held"}, Spec: newJob("", 1, nil).Spec.Template.Spec}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	hasPhase := func(want corev1.PodPhase) func() error {
		return func() error {
			got, err := pods.Get(t.Context(), "held", metav1.GetOptions{})
			if err == nil && got.Status.Phase != want {
				err = fmt.Errorf("phase %s", got.Status.Phase)
			}
			return err
		}
	}
	eventually(t, "the pod runs", hasPhase(corev1.PodRunning))
	patch := []byte(`{"metadata":{"annotations":{"` + clusters.RunForAnnotation + `":"100ms"}}}`)
	if _, err := pods.Patch(t.Context(), "held", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod has succeeded", hasPhase(corev1.PodSucceeded))
}

func newJob(name string, pods int32, annotations map[string]string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Parallelism: ptr.To(pods), Completions: ptr.To(pods), BackoffLimit: ptr.To[int32](0),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					NodeSelector:  map[string]string{clusters.GPUClassLabel: "H100"},
					Containers: []corev1.Container{{
						Name: "main", Image: "train",
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{clusters.GPUResource: resource.MustParse("1")},
							Limits:   corev1.ResourceList{clusters.GPUResource: resource.MustParse("1")},
						},
					}},
				},
			},
		},
	}
}

// eventually polls for up to a minute.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s: %v", what, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
