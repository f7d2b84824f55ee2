package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/e2e/memory"
)

// watches are those that were begun on a server, to be ended by a test.
type watches struct {
	mu    sync.Mutex
	begun []watch.Interface
}

func (w *watches) begin(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
	events, err := c.Watch(ctx, list, o...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = append(w.begun, events)
	return events, err
}

func (w *watches) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, events := range w.begun {
		events.Stop()
	}
	w.begun = nil
}

// inMemory is a client of a server in memory, which keeps a history as real ones do.
func inMemory(t *testing.T) client.WithWatch {
	t.Helper()
	server := memory.Start("w1", builtins()...)
	t.Cleanup(server.Stop)
	kubeconfig, err := server.Kubeconfig("test", "")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: installation.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAWatchThatEndsIsResumed(t *testing.T) {
	ends := &watches{}
	server := interceptor.NewClient(inMemory(t), interceptor.Funcs{Watch: ends.begin})
	if err := server.Create(t.Context(), queuedJob("first", unlimitedQueue, 1)); err != nil { // a real server's versions do not begin at 0
		t.Fatal(err)
	}
	w1, s := &clusterProgram{Cluster: &clusters.Cluster{Name: "w1"}, client: server}, newJobLog()
	if err := s.watch(t.Context(), w1, &batchv1.JobList{}, func(event watch.EventType, o client.Object) { s.recordJob(w1, event, o, mixedKinds()[0].suspended(o)) }); err != nil {
		t.Fatal(err)
	}
	runs := func(name string) {
		t.Helper()
		job := queuedJob(name, unlimitedQueue, 1)
		job.Spec.Suspend = ptr.To(false)
		if err := server.Create(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		missingText(t, s, name, func(p *jobTimes) bool { return p.worker == w1 })
	}
	runs("before")
	ends.end()
	if err := server.Delete(t.Context(), queuedJob("before", unlimitedQueue, 1)); err != nil {
		t.Fatal(err)
	}
	runs("after")
	missingText(t, s, "before", func(p *jobTimes) bool { return p.gone })
}

// missingText waits until a Job is seen as it should be.
func missingText(t *testing.T, s *jobLog, name string, is func(*jobTimes) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.count([]string{name}, is) == 1, nil
	})
	if err != nil {
		t.Fatalf("%s: %+v: %v", name, s.lookup(name), err)
	}
}
