package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

var (
	benchJobs       = flag.Int("bench-jobs", 0, "how many Jobs to dispatch one after the other; 0 skips the benchmark")
	benchDispatcher = flag.String("bench-dispatcher", "AllAtOnce", "the hub's dispatcher: AllAtOnce, BestFit or a full name")
)

// TestDispatchBench dispatches Jobs to two idle workers, each as soon as its predecessor runs, and reports the time from
// the Job's creation on the hub to its copy's resumption on a worker, and the API writes per job.
func TestDispatchBench(t *testing.T) {
	if *benchJobs == 0 {
		t.Skip("give -bench-jobs (make bench does)")
	}
	ctx := t.Context()
	stage := raise(ctx, t)
	seen := watchResumed(ctx, t, stage.Workers)
	before, readBefore := counts(t, stage, (*clusters.Cluster).WriteCounts), counts(t, stage, (*clusters.Cluster).ReadCounts)

	var latencies []time.Duration
	for i := range *benchJobs {
		job := benchJob(fmt.Sprintf("job-%03d", i))
		start := time.Now()
		if err := stage.Hub.Create(ctx, job); err != nil {
			t.Fatal(err)
		}
		resumed, err := seen.waitFor(ctx, job.Name)
		if err != nil {
			t.Fatalf("job %s was not started: %v\n%s", job.Name, err, unfinishedOn(ctx, stage))
		}
		latencies = append(latencies, resumed.Sub(start))
	}
	waitFinished(ctx, t, stage)

	out := os.Stdout
	fmt.Fprintf(out, "\n%d Jobs, one at a time, two idle workers, %s: hub Job created -> worker Job resumed: p50 %s, p99 %s\n",
		*benchJobs, *benchDispatcher, quantile(latencies, 0.5).Round(time.Millisecond), quantile(latencies, 0.99).Round(time.Millisecond))
	fmt.Fprintln(out, "API writes per job (stock: 18.6 on the hub, 11.1 + 7.8 on the workers)")
	reportAll(t, stage, before, counts(t, stage, (*clusters.Cluster).WriteCounts))
	fmt.Fprintln(out, "API reads per job")
	reportAll(t, stage, readBefore, counts(t, stage, (*clusters.Cluster).ReadCounts))
}

func reportAll(t *testing.T, stage *installation.Stage, before, after [][]clusters.WriteCount) {
	t.Helper()
	for i, site := range stage.Sites() {
		if err := report(os.Stdout, site.Name, costsBetween(before[i], after[i]), *benchJobs); err != nil {
			t.Fatal(err)
		}
	}
}

func raise(ctx context.Context, t *testing.T) *installation.Stage {
	t.Helper()
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	nodes := []clusters.NodePool{{Name: "cpu", Count: 4}}
	stage, err := installation.StartStage(ctx, installation.StageOptions{
		Hub: clusters.Options{Name: "hub", Controllers: true, OperatorCRDs: []clusters.Operator{clusters.JobSet}, CountReadsOf: installation.Users()},
		Workers: []clusters.Options{
			{Name: "w1", Nodes: nodes, OperatorCRDs: []clusters.Operator{clusters.JobSet}, CountReadsOf: installation.Users()},
			{Name: "w2", Nodes: nodes, OperatorCRDs: []clusters.Operator{clusters.JobSet}, CountReadsOf: installation.Users()},
		},
		Programs:      filepath.Join(root, "bin"),
		Configuration: map[string]any{"multiKueue": map[string]any{"dispatcherName": dispatcherNamed(*benchDispatcher)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, site := range stage.Sites() {
		for _, object := range queues(site == stage.Hub) {
			if err := site.Create(ctx, object); err != nil {
				t.Fatal(err)
			}
		}
	}
	return stage
}

func queues(hub bool) []client.Object {
	queue := &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: team},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{corev1.ResourceCPU},
				Flavors: []kueue.FlavorQuotas{{Name: team, Resources: []kueue.ResourceQuota{
					{Name: corev1.ResourceCPU, NominalQuota: resource.MustParse("200")},
				}}},
			}},
		},
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: team}},
	}
	if hub {
		objects = append(objects, installation.MultiKueueCheck("multikueue", "w1", "w2")...)
		queue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{
			AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "multikueue"}},
		}
	}
	return append(objects, queue, &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "main"}, Spec: kueue.LocalQueueSpec{ClusterQueue: team},
	})
}

func benchJob(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name, Labels: map[string]string{kueue.QueueNameLabel: "main"}},
		Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusters.RunForAnnotation: "2s"}},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{
						Name: "main", Image: "example.local/train:1",
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
					}},
				},
			},
		},
	}
}

// resumeTimes collects when each job was first seen resumed on any worker.
type resumeTimes struct {
	mu    sync.Mutex
	first map[string]chan time.Time
}

func (s *resumeTimes) get(name string) chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first[name] == nil {
		s.first[name] = make(chan time.Time, 1)
	}
	return s.first[name]
}

func (s *resumeTimes) waitFor(ctx context.Context, name string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case at := <-s.get(name):
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

func watchResumed(ctx context.Context, t *testing.T, workers []*installation.Site) *resumeTimes {
	t.Helper()
	s := &resumeTimes{first: map[string]chan time.Time{}}
	for _, worker := range workers {
		events, err := worker.Watch(ctx, &batchv1.JobList{}, client.InNamespace(team))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(events.Stop)
		go func() {
			for event := range events.ResultChan() {
				job, ok := event.Object.(*batchv1.Job)
				if ok && event.Type != watch.Deleted && !ptr.Deref(job.Spec.Suspend, false) {
					select {
					case s.get(job.Name) <- time.Now():
					default:
					}
				}
			}
		}()
	}
	return s
}

func waitFinished(ctx context.Context, t *testing.T, stage *installation.Stage) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		left, err := unfinished(ctx, stage)
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d objects unfinished on the hub or left on workers", left)
		case <-ticker.C:
		}
	}
}

// unfinishedOn describes the Workloads that have not finished, site by site.
func unfinishedOn(ctx context.Context, stage *installation.Stage) string {
	var text strings.Builder
	for _, site := range stage.Sites() {
		list := &kueue.WorkloadList{}
		if err := site.List(ctx, list, client.InNamespace(team)); err != nil {
			fmt.Fprintf(&text, "%s: %v\n", site.Name, err)
		}
		for i := range list.Items {
			if status := list.Items[i].Status; !meta.IsStatusConditionTrue(status.Conditions, kueue.WorkloadFinished) {
				data, err := yaml.Marshal(status)
				fmt.Fprintf(&text, "%s: %s %v\n%s\n", site.Name, list.Items[i].Name, err, data)
			}
		}
	}
	return text.String()
}

// unfinished counts the hub's unfinished Workloads and the objects left on workers.
func unfinished(ctx context.Context, stage *installation.Stage) (int, error) {
	list := &kueue.WorkloadList{}
	if err := stage.Hub.List(ctx, list, client.InNamespace(team)); err != nil {
		return 0, err
	}
	left := 0
	for i := range list.Items {
		if !meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, kueue.WorkloadFinished) {
			left++
		}
	}
	for _, worker := range stage.Workers {
		jobs, copies := &batchv1.JobList{}, &kueue.WorkloadList{}
		if err := worker.List(ctx, jobs, client.InNamespace(team)); err != nil {
			return 0, err
		}
		if err := worker.List(ctx, copies, client.InNamespace(team)); err != nil {
			return 0, err
		}
		left += len(jobs.Items) + len(copies.Items)
	}
	return left, nil
}

func counts(t *testing.T, stage *installation.Stage, of func(*clusters.Cluster) ([]clusters.WriteCount, error)) [][]clusters.WriteCount {
	t.Helper()
	var all [][]clusters.WriteCount
	for _, site := range stage.Sites() {
		count, err := of(site.Cluster)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, count)
	}
	return all
}
