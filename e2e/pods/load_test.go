package pods

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/bench/procfs"
	"switchyard.dev/e2e/clusters"
)

var (
	loadPods  = flag.Int("pods-load", 0, "how many pods to run in groups of a hundred; none skips the benchmark")
	loadQuota = flag.Int64("pods-load-quota", 2000, "how many of them run at a time")
)

const (
	groupSize = 100
	// maxWritesPerPod and maxMemory are what pods may cost: writes of the program for a pod, from its creation to its end, and the most
	// memory that the program ever has.
	maxWritesPerPod = 3
	maxMemory       = 400 << 20
	creators        = 32
	stuckAfter      = 30 * time.Minute
)

// TestPodsLoadBench runs many pods through a queue, and reports what that cost.
func TestPodsLoadBench(t *testing.T) {
	if *loadPods == 0 {
		t.Skip("give -pods-load (make bench-pods does)")
	}
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(root, "bin", "worker")
	others, err := procfs.ChildrenRunning(binary)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, clusters.Options{Name: "load", Nodes: []clusters.NodePool{{Name: "cpu", Count: int(*loadQuota)/groupSize + 10}}}, "batch/job", "pod")
	pid, err := procfs.NewChild(binary, others)
	if err != nil {
		t.Fatal(err)
	}
	tm := s.newTeam(t, "load", *loadQuota)
	before := s.writes(t)
	began := time.Now()
	tm.createGroups(*loadPods / groupSize)
	created := time.Since(began)
	waiting, err := procfs.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	tm.expectAllFinished(*loadPods / groupSize)
	wall := time.Since(began)
	after, err := procfs.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	costs := s.writes(t)
	total := 0
	for _, what := range slices.Sorted(maps.Keys(costs)) {
		n := costs[what] - before[what]
		if n > 0 {
			total += n
			t.Logf("%-55s %7d  %.3f a pod", what, n, float64(n)/float64(*loadPods))
		}
	}
	t.Logf("%d pods in %d groups: created in %v, all run in %v; %.3f writes a pod; at most %d MiB resident (%d MiB when all were created); %v of CPU",
		*loadPods, *loadPods/groupSize, created.Round(time.Second), wall.Round(time.Second), float64(total)/float64(*loadPods), after.Peak>>20,
		waiting.Peak>>20, after.CPU.Round(time.Second))
	if total > maxWritesPerPod**loadPods {
		t.Errorf("%d writes for %d pods, more than %d each", total, *loadPods, maxWritesPerPod)
	}
	if after.Peak > maxMemory {
		t.Errorf("the program had %d MiB resident, more than %d", after.Peak>>20, maxMemory>>20)
	}
}

// writes are those of the program so far.
func (s *stage) writes(t *testing.T) map[string]int {
	t.Helper()
	counts, err := s.WriteCounts()
	if err != nil {
		t.Fatal(err)
	}
	writes := map[string]int{}
	for _, w := range counts {
		if strings.HasPrefix(w.User, "switchyard-") {
			what := w.Verb + " " + w.Resource
			if w.Failed {
				what += " (failed)"
			}
			writes[what] += w.Count
		}
	}
	return writes
}

// createGroups makes groups of pods that run for a second.
func (t team) createGroups(groups int) {
	t.Helper()
	work, ctx := errgroup.WithContext(t.T.Context())
	work.SetLimit(creators)
	for g := range groups {
		for i := range groupSize {
			pod := t.member(fmt.Sprintf("group-%03d", g), fmt.Sprintf("group-%03d-%02d", g, i), "1", strconv.Itoa(groupSize))
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, clusters.RunForAnnotation, "1s")
			work.Go(func() error { return t.Create(ctx, pod) })
		}
	}
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
}

// expectAllFinished waits until each group has succeeded.
func (t team) expectAllFinished(groups int) {
	t.Helper()
	finished := 0
	err := wait.PollUntilContextTimeout(t.T.Context(), 2*time.Second, stuckAfter, true, func(ctx context.Context) (bool, error) {
		var list kueue.WorkloadList
		if err := t.List(ctx, &list, client.InNamespace(t.name)); err != nil {
			return false, err
		}
		finished = 0
		for i := range list.Items {
			for _, c := range list.Items[i].Status.Conditions {
				if c.Type == kueue.WorkloadFinished && c.Reason == string(kueue.ReasonSucceeded) {
					finished++
				}
			}
		}
		return finished == groups, nil
	})
	if err != nil {
		t.Fatalf("%d of %d groups have finished: %v", finished, groups, err)
	}
	t.eventually("finalizers", func() error {
		for _, pod := range t.pods() {
			if len(pod.Finalizers) > 0 {
				return fmt.Errorf("pod %s has some", pod.Name)
			}
		}
		return nil
	})
}
