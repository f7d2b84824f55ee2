package podgroup_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup"
)

func newMembers(size int) []client.Object {
	pods := make([]client.Object, 0, size)
	for i := range size {
		pods = append(pods, member(fmt.Sprintf("%s%d", string("ab"[i%2]), i), size))
	}
	return pods
}

// runThrough takes a group from its gates to its end, and returns how often each pod was written, and how often the Workload.
func runThrough(tb testing.TB, size int) (pods map[string]int, workload int) {
	tb.Helper()
	members := newMembers(size)
	c := newCluster(tb, members...)
	names := make([]string, 0, size)
	for _, pod := range members {
		names = append(names, pod.GetName())
	}
	all := c.reconcileAll()
	c.admit()
	all = append(all, c.reconcileAll()...)
	c.phase(corev1.PodRunning, names...)
	all = append(all, c.reconcileAll()...)
	c.phase(corev1.PodSucceeded, names...)
	all = append(all, c.reconcileAll()...)
	pods = map[string]int{}
	for _, write := range all {
		if _, name, found := strings.Cut(write, " Pod/"); found {
			name, _, _ = strings.Cut(name, "/")
			pods[name]++
		} else {
			workload++
		}
	}
	return pods, workload
}

func TestAPodCostsTwoWritesAndItsGroupFour(t *testing.T) {
	for _, size := range []int{2, 40} {
		pods, workload := runThrough(t, size)
		if len(pods) != size {
			t.Errorf("%d of %d pods were written", len(pods), size)
		}
		for name, writes := range pods {
			if writes != 2 {
				t.Errorf("pod %s of %d was written %d times", name, size, writes)
			}
		}
		if workload != 4 {
			t.Errorf("the Workload of %d pods was written %d times: made, ready, finished, let go", size, workload)
		}
	}
}

// BenchmarkGroupOfAHundredPods takes a group from its gates to its end. Most of the time is the API server's in memory: 100 such groups
// make 10,000 pods.
func BenchmarkGroupOfAHundredPods(b *testing.B) {
	for b.Loop() {
		pods, writes := runThrough(b, 100)
		for _, n := range pods {
			writes += n
		}
		b.ReportMetric(float64(writes)/100, "writes/pod")
	}
}

// listed is a cache that shows the same pods always, as an index does: without copying them.
type listed struct{ pods []corev1.Pod }

func (l listed) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (l listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.PodList).Items = l.pods
	return nil
}

// BenchmarkLookAtAThousandPods is one look at a group that runs. There is at most one in an interval.
func BenchmarkLookAtAThousandPods(b *testing.B) {
	c := newCluster(b, newMembers(1000)...)
	c.reconcileAll()
	c.admit()
	c.reconcileAll()
	c.freeze()
	shown := listed{c.frozen}
	for i := range shown.pods {
		pod := &shown.pods[i]
		pod.Status.Phase, pod.Spec.NodeName = corev1.PodRunning, "node"
		pod.ResourceVersion = "999999"
		podgroup.Strip(pod)
	}
	o := job.Options{Gates: job.DefaultGates(), Clock: c.clock}
	r, _, _ := podgroup.NewReconciler(o, c.Client, shown, c.Client, c.recorder)
	b.ReportAllocs()
	for b.Loop() {
		if result, err := r.Reconcile(context.Background(), c.target); err != nil || result.RequeueAfter > 0 {
			b.Fatal(result, err)
		}
	}
}
