package bench

import (
	"container/heap"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// idealScheduler shares out the quota of a load's cohorts without taking any time: the most important Workload first, then the one
// that came first; none takes what a more important one waits for. It is what a controller would do that costs nothing.
type idealScheduler struct {
	free    map[string]int
	waiting map[string]*pendingHeap
	// holds are the cores of the Workloads that have been let in.
	holds map[string]int
	// cores of a cohort, and how many Workloads have come.
	cores, came int
}

func newIdealScheduler(l load) *idealScheduler {
	return &idealScheduler{free: map[string]int{}, waiting: map[string]*pendingHeap{}, holds: map[string]int{}, cores: l.queues * nominal}
}

// addWorkload queues a Workload and returns those to let in.
func (i *idealScheduler) addWorkload(wl *kueue.Workload) []*kueue.Workload {
	cohort := cohortName(wl)
	if i.waiting[cohort] == nil {
		i.waiting[cohort], i.free[cohort] = &pendingHeap{}, i.cores
	}
	i.came++
	heap.Push(i.waiting[cohort], pendingItem{wl, i.came})
	return i.admitNext(cohort)
}

// removeWorkload gives back what a Workload held, if it held anything, and returns those to let in.
func (i *idealScheduler) removeWorkload(wl *kueue.Workload) []*kueue.Workload {
	held, there := i.holds[wl.Name]
	if !there {
		return nil
	}
	delete(i.holds, wl.Name)
	cohort := cohortName(wl)
	i.free[cohort] += held
	return i.admitNext(cohort)
}

func (i *idealScheduler) admitNext(cohort string) []*kueue.Workload {
	var in []*kueue.Workload
	for line := i.waiting[cohort]; line.Len() > 0; {
		cores := requestedCores((*line)[0].wl)
		if cores > i.free[cohort] {
			break
		}
		next := heap.Pop(line).(pendingItem).wl
		i.free[cohort] -= cores
		i.holds[next.Name] = cores
		in = append(in, next)
	}
	return in
}

func cohortName(wl *kueue.Workload) string {
	cohort, _, _ := strings.Cut(string(wl.Spec.QueueName), "-")
	return cohort
}

func requestedCores(wl *kueue.Workload) int {
	cpu := wl.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
	return int(cpu.Value())
}

type pendingItem struct {
	wl   *kueue.Workload
	came int
}

// pendingHeap is a heap of Workloads that wait.
type pendingHeap []pendingItem

func (l *pendingHeap) Len() int      { return len(*l) }
func (l *pendingHeap) Swap(i, j int) { (*l)[i], (*l)[j] = (*l)[j], (*l)[i] }
func (l *pendingHeap) Less(i, j int) bool {
	a, b := (*l)[i], (*l)[j]
	if p, q := *a.wl.Spec.Priority, *b.wl.Spec.Priority; p != q {
		return p > q
	}
	return a.came < b.came
}

func (l *pendingHeap) Push(x any) { *l = append(*l, x.(pendingItem)) }

func (l *pendingHeap) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	*l = (*l)[:last]
	return x
}
