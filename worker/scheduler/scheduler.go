package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/metrics"
	"switchyard.dev/worker/view"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Config are what a Loop is made of; all but Prepare are needed.
type Config struct {
	View     *view.View
	Client   client.Client
	Recorder events.EventRecorder
	Metrics  *metrics.Metrics
	// Cycle are the settings of the pure cycle. MaxAdmissions also bounds how long a newcomer waits behind a batch.
	Cycle cycle.Options
	Clock clock.WithTicker
	// CoarseReasons is for the gate UnadmittedWorkloadsObservability off: reasons are told apart by their messages then, and
	// nothing is said of workloads that have not been evaluated.
	CoarseReasons bool
	// PrepareAdmission, unless nil, completes the admission part of the status of a workload that has just been given quota, before
	// that is written: what it adds costs no write of its own. A hub nominates clusters here (status.nominatedClusterNames).
	// It is called by several goroutines at once, must not block, and must leave the reservation as it is.
	PrepareAdmission func(wl *kueue.Workload, now time.Time)
}

// DefaultMaxAdmissions ends a cycle early so that what happened meanwhile is considered.
const DefaultMaxAdmissions = 256

// Scheduler is the scheduler of one cluster. It is a leader's Runnable.
type Scheduler struct {
	config Config
	// cycles runs the cycles on the view's snapshot; nil before the first.
	cycles       *cycle.Scheduler
	writePool    *writePool
	latency      *latencyTracker
	eventQueue   *eventQueue
	reasonWriter *reasonWriter
}

// NewScheduler returns a loop that does nothing until it is started.
func NewScheduler(parts Config) *Scheduler {
	l := &Scheduler{config: parts, writePool: newWritePool(), latency: &latencyTracker{}}
	l.eventQueue = newEventQueue(parts, l.latency)
	l.reasonWriter = newReasonWriter(parts, l)
	return l
}

// NeedLeaderElection says that only one replica schedules (contract: kueue-api.md 4.22).
func (l *Scheduler) NeedLeaderElection() bool { return true }

// Start runs until the context ends and the last write has returned.
func (l *Scheduler) Start(ctx context.Context) error {
	ctx = logr.NewContext(ctx, ctrl.Log.WithName("scheduler"))
	if !l.config.View.WaitForSync(ctx) {
		return nil
	}
	l.config.View.OnConditionChange(l.config.Metrics.ObserveChange)
	var tellers sync.WaitGroup
	tellers.Go(func() { l.reasonWriter.run(ctx) })
	tellers.Go(func() { l.eventQueue.run(ctx) })
	for ctx.Err() == nil {
		batch := l.runCycle(ctx)
		switch {
		case l.writePool.isFull():
			l.waitForWritePool(ctx)
		case !batch.More:
			l.waitForCycleRequest(ctx, batch.NextCycleAt)
		}
	}
	tellers.Wait()
	l.writePool.wait()
	return nil
}

// runCycle runs one cycle and hands its decisions over. It waits for no write.
func (l *Scheduler) runCycle(ctx context.Context) view.CycleResult {
	began := l.config.Clock.Now()
	var explained []admission.Explanation
	batch := l.config.View.RunCycle(began, func(s *admission.Snapshot) admission.Plan {
		if l.cycles == nil {
			l.cycles = cycle.NewScheduler(s)
		}
		plan := l.cycles.Run(began, l.config.Cycle)
		explained = l.explainWaits(ctx, s, plan)
		return plan
	})
	l.config.Metrics.ObserveCycle(batch, l.config.Clock.Since(began))
	l.enqueueDecisions(ctx, batch)
	logExplanations(ctx, explained)
	return batch
}

// enqueueDecisions hands every decision of a cycle to the write pool.
func (l *Scheduler) enqueueDecisions(ctx context.Context, batch view.CycleResult) {
	for _, p := range batch.Preempt {
		for _, e := range p.Evictions {
			l.writePool.add(ctx, &workItem{freesQuota: true, priority: priorityOf(p.Object), write: func(ctx context.Context) { l.evict(ctx, p, e) }})
		}
		if !p.Deferred {
			l.reasonWriter.enqueue(p.WorkloadDecision)
		}
	}
	for _, d := range batch.Admit {
		l.writePool.add(ctx, &workItem{priority: priorityOf(d.Object), write: func(ctx context.Context) { l.admit(ctx, d) }})
	}
	for _, d := range batch.Wait {
		l.reasonWriter.enqueue(d)
	}
}

func priorityOf(wl *kueue.Workload) int32 { return ptr.Deref(wl.Spec.Priority, 0) }

// waitForWritePool waits until the API has answered enough decisions.
func (l *Scheduler) waitForWritePool(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-l.writePool.notFull:
	}
}

// waitForCycleRequest waits for a change or for the given time; the zero time never comes.
func (l *Scheduler) waitForCycleRequest(ctx context.Context, until time.Time) {
	var alarm <-chan time.Time
	if !until.IsZero() {
		timer := l.config.Clock.NewTimer(max(until.Sub(l.config.Clock.Now()), time.Nanosecond))
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-alarm:
	case <-l.config.View.CycleRequests():
	}
}
