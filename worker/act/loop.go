package act

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
	"switchyard.dev/worker/view"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Parts are what a Loop is made of; all but Prepare are needed.
type Parts struct {
	View     *view.View
	Client   client.Client
	Recorder events.EventRecorder
	Metrics  *Metrics
	// Cycle are the settings of the pure cycle. MaxAdmissions also bounds how long a newcomer waits behind a batch.
	Cycle cycle.Options
	Clock clock.WithTicker
	// Coarse is for the gate UnadmittedWorkloadsObservability off: reasons are told apart by their messages then, and nothing is said
	// of who has not been evaluated.
	Coarse bool
	// Prepare, unless nil, completes the admission part of the status of a workload that has just been given quota, before
	// that is written: what it adds costs no write of its own. A hub nominates clusters here (status.nominatedClusterNames).
	// It is called by several goroutines at once, must not block, and must leave the reservation as it is.
	Prepare func(wl *kueue.Workload, now time.Time)
}

// DefaultMaxAdmissions ends a cycle early so that what happened meanwhile is considered.
const DefaultMaxAdmissions = 256

// Loop is the scheduler of one cluster. It is a leader's Runnable.
type Loop struct {
	parts   Parts
	desk    *desk
	pace    *pace
	herald  *herald
	reasons *reasons
}

// NewLoop returns a loop that does nothing until it is started.
func NewLoop(parts Parts) *Loop {
	l := &Loop{parts: parts, desk: newDesk(), pace: &pace{}}
	l.herald = newHerald(parts, l.pace)
	l.reasons = newReasons(parts, l)
	return l
}

// NeedLeaderElection says that only one replica schedules (contract: kueue-api.md 4.22).
func (l *Loop) NeedLeaderElection() bool { return true }

// Start runs until the context ends and the last write has returned.
func (l *Loop) Start(ctx context.Context) error {
	ctx = logr.NewContext(ctx, ctrl.Log.WithName("scheduler"))
	if !l.parts.View.WaitForSync(ctx) {
		return nil
	}
	l.parts.View.OnChange(l.parts.Metrics.Changed)
	var tellers sync.WaitGroup
	tellers.Go(func() { l.reasons.run(ctx) })
	tellers.Go(func() { l.herald.run(ctx) })
	for ctx.Err() == nil {
		batch := l.once(ctx)
		switch {
		case l.desk.isFull():
			l.restUntilRoom(ctx)
		case !batch.More:
			l.rest(ctx, batch.WakeAt)
		}
	}
	tellers.Wait()
	l.desk.wait()
	return nil
}

// once runs one cycle and hands its decisions over. It waits for no write.
func (l *Loop) once(ctx context.Context) view.Batch {
	began := l.parts.Clock.Now()
	var explained []admission.Explanation
	batch := l.parts.View.Cycle(began, func(s *admission.Snapshot) admission.Plan {
		plan := cycle.Run(s, began, l.parts.Cycle)
		explained = l.explain(ctx, s, plan)
		return plan
	})
	l.parts.Metrics.attempt(batch, l.parts.Clock.Since(began))
	l.carryOut(ctx, batch)
	logExplanations(ctx, explained)
	return batch
}

// carryOut hands every decision of a cycle to who writes it.
func (l *Loop) carryOut(ctx context.Context, batch view.Batch) {
	for _, p := range batch.Preempt {
		for _, e := range p.Evict {
			l.desk.add(ctx, &task{frees: true, priority: priorityOf(p.Seen), write: func(ctx context.Context) { l.evict(ctx, p, e) }})
		}
		if !p.Late {
			l.reasons.tell(p.Decided)
		}
	}
	for _, d := range batch.Admit {
		l.desk.add(ctx, &task{priority: priorityOf(d.Seen), write: func(ctx context.Context) { l.admit(ctx, d) }})
	}
	for _, d := range batch.Wait {
		l.reasons.tell(d)
	}
}

func priorityOf(wl *kueue.Workload) int32 { return ptr.Deref(wl.Spec.Priority, 0) }

// restUntilRoom waits until the API has answered enough decisions.
func (l *Loop) restUntilRoom(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-l.desk.room:
	}
}

// rest waits for a change or for the given time; the zero time never comes.
func (l *Loop) rest(ctx context.Context, until time.Time) {
	var alarm <-chan time.Time
	if !until.IsZero() {
		timer := l.parts.Clock.NewTimer(max(until.Sub(l.parts.Clock.Now()), time.Nanosecond))
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-alarm:
	case <-l.parts.View.Wake():
	}
}
