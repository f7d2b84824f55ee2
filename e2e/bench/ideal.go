package bench

import (
	"container/heap"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ideal shares out the quota of a load's cohorts without taking any time: the most important Workload first, then the one
// that came first; none takes what a more important one waits for. It is what a controller would do that costs nothing.
type ideal struct {
	free    map[string]int
	waiting map[string]*line
	// holds are the cores of the Workloads that have been let in.
	holds map[string]int
	// cores of a cohort, and how many Workloads have come.
	cores, came int
}

func newIdeal(l load) *ideal {
	return &ideal{free: map[string]int{}, waiting: map[string]*line{}, holds: map[string]int{}, cores: l.queues * nominal}
}

// arrive queues a Workload and returns those to let in.
func (i *ideal) arrive(wl *kueue.Workload) []*kueue.Workload {
	cohort := cohortOf(wl)
	if i.waiting[cohort] == nil {
		i.waiting[cohort], i.free[cohort] = &line{}, i.cores
	}
	i.came++
	heap.Push(i.waiting[cohort], inLine{wl, i.came})
	return i.letIn(cohort)
}

// leave gives back what a Workload held, if it held anything, and returns those to let in.
func (i *ideal) leave(wl *kueue.Workload) []*kueue.Workload {
	held, there := i.holds[wl.Name]
	if !there {
		return nil
	}
	delete(i.holds, wl.Name)
	cohort := cohortOf(wl)
	i.free[cohort] += held
	return i.letIn(cohort)
}

func (i *ideal) letIn(cohort string) []*kueue.Workload {
	var in []*kueue.Workload
	for line := i.waiting[cohort]; line.Len() > 0; {
		cores := coresOf((*line)[0].wl)
		if cores > i.free[cohort] {
			break
		}
		next := heap.Pop(line).(inLine).wl
		i.free[cohort] -= cores
		i.holds[next.Name] = cores
		in = append(in, next)
	}
	return in
}

func cohortOf(wl *kueue.Workload) string {
	cohort, _, _ := strings.Cut(string(wl.Spec.QueueName), "-")
	return cohort
}

func coresOf(wl *kueue.Workload) int {
	cpu := wl.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
	return int(cpu.Value())
}

type inLine struct {
	wl   *kueue.Workload
	came int
}

// line is a heap of Workloads that wait.
type line []inLine

func (l *line) Len() int      { return len(*l) }
func (l *line) Swap(i, j int) { (*l)[i], (*l)[j] = (*l)[j], (*l)[i] }
func (l *line) Less(i, j int) bool {
	a, b := (*l)[i], (*l)[j]
	if p, q := *a.wl.Spec.Priority, *b.wl.Spec.Priority; p != q {
		return p > q
	}
	return a.came < b.came
}

func (l *line) Push(x any) { *l = append(*l, x.(inLine)) }

func (l *line) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	*l = (*l)[:last]
	return x
}
