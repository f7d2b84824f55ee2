package bench

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// workloadTimes is what the runner has seen of one Workload.
type workloadTimes struct {
	class             int
	created, admitted time.Time
	// run says which admission it is in, 0 for none so far; runs is true while it is in one.
	run  int
	runs bool
	// evicted is when the eviction that was seen last began.
	evicted  metav1.Time
	finished bool
}

// workloadLog keeps what the runner sees. It is safe for concurrent use.
type workloadLog struct {
	mu    sync.Mutex
	lives map[string]*workloadTimes
	// left counts the Workloads that have not been seen to finish; done is closed with the last.
	left int
	done chan struct{}
	last time.Time
	// moved is when a Workload was last seen to be created, admitted, evicted or finished.
	moved     time.Time
	evictions int
	waits     [][]time.Duration
}

func newWorkloadLog(classes, workloads int) *workloadLog {
	return &workloadLog{lives: make(map[string]*workloadTimes, workloads), left: workloads, done: make(chan struct{}), waits: make([][]time.Duration, classes)}
}

// lookup finds a life. It begins with its creation or with the first event of the watch, whichever comes first.
func (b *workloadLog) lookup(name string) *workloadTimes {
	l := b.lives[name]
	if l == nil {
		l = &workloadTimes{}
		b.lives[name] = l
	}
	return l
}

// recordCreation notes that a Workload is about to be created.
func (b *workloadLog) recordCreation(name string, class int, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lookup(name)
	l.class, l.created, b.moved = class, now, now
}

// recordUpdate takes a version of the Workload of what was submitted under the name. It returns the number of the run that has begun with it, 0 for none, and the class.
func (b *workloadLog) recordUpdate(name string, wl *kueue.Workload, now time.Time) (run, class int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lookup(name)
	b.countEviction(l, wl, now)
	if meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) {
		b.recordFinish(l, now)
		return 0, l.class
	}
	runs := meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadAdmitted) &&
		!meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted)
	begins := runs && !l.runs
	l.runs = runs
	if !begins {
		return 0, l.class
	}
	l.run++
	b.moved = now
	if l.admitted.IsZero() {
		l.admitted = now
		b.waits[l.class] = append(b.waits[l.class], now.Sub(l.created))
	}
	return l.run, l.class
}

func (b *workloadLog) countEviction(l *workloadTimes, wl *kueue.Workload, now time.Time) {
	evicted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted != nil && evicted.Status == metav1.ConditionTrue && !evicted.LastTransitionTime.Equal(&l.evicted) {
		l.evicted = evicted.LastTransitionTime
		b.evictions++
		b.moved = now
	}
}

func (b *workloadLog) recordFinish(l *workloadTimes, now time.Time) {
	if l.finished {
		return
	}
	l.finished, l.runs = true, false
	b.last, b.moved = now, now
	b.left--
	if b.left == 0 {
		close(b.done)
	}
}

// running tells whether the Workload is still in that run.
func (b *workloadLog) running(name string, run int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lookup(name)
	return l.runs && l.run == run && !l.finished
}

// unfinished says how many Workloads are left, and names one of them.
func (b *workloadLog) unfinished() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(b.lives)) {
		if l := b.lives[name]; !l.finished {
			return fmt.Sprintf("%d Workloads have not finished, such as that of %s (admitted %d times)", b.left, name, l.run)
		}
	}
	return fmt.Sprintf("%d Workloads have not finished", b.left)
}

// idleAfter is how long a controller may go without anything happening: several times the longest run of any load.
const idleAfter = 3 * time.Minute

// isStuck tells whether nothing has happened for too long.
func (b *workloadLog) isStuck(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.moved.IsZero() && now.Sub(b.moved) > idleAfter
}
