package bench

import (
	"fmt"
	"math"
	"time"
)

// workloadClass is one kind of Workload that every queue of a load gets.
type workloadClass struct {
	name string
	// count of Workloads per queue, of cpu cores each.
	count, cpu int
	priority   int32
	// run is how long one runs once it is admitted; every is the time between two creations in a queue.
	run, every time.Duration
	// kind, if not nil, is that of the jobs that are created in the place of Workloads, of as many pods as cpu says.
	kind *mixedKind
}

// load is what a benchmark puts onto a cluster: cohorts of equal queues, each with the same classes.
type load struct {
	name            string
	cohorts, queues int
	classes         []workloadClass
	// reference is what was measured elsewhere for the whole load; nil for nothing.
	reference *stockReference
}

// quota of a queue in cores, and how much it may borrow.
const (
	nominal   = 20
	borrowing = 100
)

// stockReference holds the figures of a stock controller with nothing but its scheduler, on two cores with everything on them.
type stockReference struct {
	wall           time.Duration
	rate           float64
	admission      map[string]time.Duration
	writes, millis float64
	mebibytes      float64
	target         map[string]string
}

// baseline and large are the loads of the project's benchmark. The large one has the run times that are given for it and
// the baseline's intervals.
func baseline() load {
	return load{
		name: "baseline", cohorts: 5, queues: 6,
		classes: []workloadClass{
			{name: "small", count: 350, cpu: 1, priority: 50, run: 200 * time.Millisecond, every: 100 * time.Millisecond},
			{name: "medium", count: 100, cpu: 5, priority: 100, run: 500 * time.Millisecond, every: 500 * time.Millisecond},
			{name: "large", count: 50, cpu: 20, priority: 200, run: time.Second, every: 1200 * time.Millisecond},
		},
		reference: &stockReference{
			wall: 402 * time.Second, rate: 37, writes: 4.7, millis: 7.3, mebibytes: 634,
			admission: map[string]time.Duration{"large": 37 * time.Second, "medium": 108 * time.Second, "small": 229 * time.Second},
			target: map[string]string{
				"wall": "< 220 s", "large": "< 5 s", "writes": "<= 3", "millis": "<= 3", "mebibytes": "<= 300",
			},
		},
	}
}

func large() load {
	return load{
		name: "large", cohorts: 10, queues: 100,
		classes: []workloadClass{
			{name: "small", count: 35, cpu: 1, priority: 50, run: 150 * time.Millisecond, every: 100 * time.Millisecond},
			{name: "medium", count: 11, cpu: 5, priority: 100, run: 350 * time.Millisecond, every: 500 * time.Millisecond},
			{name: "large", count: 4, cpu: 20, priority: 200, run: 700 * time.Millisecond, every: 1200 * time.Millisecond},
		},
	}
}

// loadNamed finds a load.
func loadNamed(name string) (load, error) {
	for _, l := range []load{baseline(), large(), mixed()} {
		if l.name == name {
			return l, nil
		}
	}
	return load{}, fmt.Errorf("there is no load %q: baseline, large and mix are", name)
}

// scaled is the load with a fraction of the Workloads of each class, at least one, and everything else the same: it is
// shorter, not lighter. References do not apply to it, except those that are per Workload.
func (l load) scaled(by float64) load {
	classes := make([]workloadClass, len(l.classes))
	for i, c := range l.classes {
		c.count = max(int(math.Round(float64(c.count)*by)), 1)
		classes[i] = c
	}
	l.classes = classes
	return l
}

// workloads is their number.
func (l load) workloads() int {
	perQueue := 0
	for _, c := range l.classes {
		perQueue += c.count
	}
	return perQueue * l.cohorts * l.queues
}

// ideal is the time that the quota needs when it is always used up: the least wall time there can be.
func (l load) ideal() time.Duration {
	var work time.Duration
	for _, c := range l.classes {
		work += time.Duration(c.count*c.cpu) * c.run
	}
	return work / nominal
}

// queueName and localQueue name a queue of a cohort; a LocalQueue has the name of its ClusterQueue.
func queueName(cohort, queue int) string { return fmt.Sprintf("c%d-q%d", cohort, queue) }
