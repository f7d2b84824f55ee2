package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

const (
	// newReasonDelay is how long a new reason to wait may be overtaken by an admission before it is written.
	newReasonDelay = time.Second
	// newMessageDelay is the same for a new message with the same reason, and messageAgain if others are written meanwhile: figures
	// in messages change all the time, and messageEvery bounds how many of them are written, however many workloads wait.
	newMessageDelay, repeatMessageDelay, messageInterval = 2 * time.Second, 30 * time.Second, time.Second
	// reasonPauseFactor gives reasons a fourth of the time of one connection.
	reasonPauseFactor = 3
	// maxYield is how long a reason lets decisions go before it, in steps of yieldStep.
	maxYield, yieldInterval = time.Second, 20 * time.Millisecond
)

// reasonWriter tells waiting workloads why they wait, in QuotaReserved=False. Only the newest reason of a workload is kept, and
// it is written only if the workload still waits and was told something else.
//
// One writer with pauses: when the API server answers at once, a reason is current settleReason after the decision plus, for
// each workload that has to be told before it, four times what a write takes. A saturated server gets a few a second.
type reasonWriter struct {
	config         Config
	scheduler      *Scheduler
	queue          workqueue.TypedDelayingInterface[admission.Key]
	messageLimiter *rate.Limiter

	mu      sync.Mutex
	pending map[admission.Key]view.WorkloadDecision
}

// newReasonWriter returns a writer without decisions. It writes once it is started.
func newReasonWriter(parts Config, l *Scheduler) *reasonWriter {
	config := workqueue.TypedDelayingQueueConfig[admission.Key]{Clock: parts.Clock}
	return &reasonWriter{
		config:         parts,
		scheduler:      l,
		queue:          workqueue.NewTypedDelayingQueueWithConfig(config),
		messageLimiter: rate.NewLimiter(rate.Every(messageInterval), 1),
		pending:        map[admission.Key]view.WorkloadDecision{},
	}
}

// enqueue keeps the decision until it is time to write it.
func (r *reasonWriter) enqueue(d view.WorkloadDecision) {
	if d.Reason == admission.PendingEvaluation && d.Message != view.FailedChecksMessage && (!d.Stale || r.config.CoarseReasons) {
		r.forget(d.Workload)
		return
	}
	switch r.compareReported(d) {
	case unchanged:
		r.forget(d.Workload)
	case messageChanged:
		r.enqueueAfter(d, r.messageDelay())
	case reasonChanged:
		r.enqueueAfter(d, newReasonDelay)
	}
}

// messageDelay is how long a new message waits to be written.
func (r *reasonWriter) messageDelay() time.Duration {
	if r.messageLimiter.TokensAt(r.config.Clock.Now()) < 1 {
		return repeatMessageDelay
	}
	return newMessageDelay
}

func (r *reasonWriter) enqueueAfter(d view.WorkloadDecision, delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[d.Workload] = d
	r.queue.AddAfter(d.Workload, delay)
}

// reportChange is what a workload does not know yet of a decision to wait.
type reportChange int

const (
	unchanged reportChange = iota
	messageChanged
	reasonChanged
)

// compareReported compares the decision with what the workload was told.
func (r *reasonWriter) compareReported(d view.WorkloadDecision) reportChange {
	was, is := lastReported(d.Object), reasonToReport(d)
	same := was.reason == is.reason || r.config.CoarseReasons && was.message == is.message
	switch {
	case !same, len(d.ClosedPreemptionGates) > 0 && !workload.IsBlockedOnPreemptionGates(d.Object):
		return reasonChanged
	case was.message != is.message && !isSharedReason(is.reason):
		return messageChanged
	default:
		return unchanged
	}
}

// isSharedReason names the reasons that the workload's own controller may have given first, in its own words (see
// lifecycle.Step): they are left as they are. PendingEvaluation belongs to it alone.
func isSharedReason(reason admission.Reason) bool {
	switch reason {
	case admission.Suspended, admission.Misconfigured, admission.AdmissionGated, admission.Deactivated:
		return true
	default:
		return false
	}
}

func (r *reasonWriter) forget(key admission.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, key)
}

func (r *reasonWriter) popDecision(key admission.Key) (view.WorkloadDecision, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.pending[key]
	delete(r.pending, key)
	return d, ok
}

// run writes until the context ends.
func (r *reasonWriter) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	for {
		key, closed := r.queue.Get()
		if closed {
			return
		}
		if d, ok := r.popDecision(key); ok && r.yieldToDecisions(ctx) {
			if r.writeReason(ctx, d) {
				r.pause(ctx, r.scheduler.latency.pause(reasonPauseFactor))
			}
		}
		r.queue.Done(key)
	}
}

// yieldToDecisions lets decisions go first, for a while; false when the context ended.
func (r *reasonWriter) yieldToDecisions(ctx context.Context) bool {
	until := r.config.Clock.Now().Add(maxYield)
	for r.scheduler.writePool.countUnfinished() > 0 && r.config.Clock.Now().Before(until) {
		if !r.pause(ctx, yieldInterval) {
			return false
		}
	}
	return ctx.Err() == nil
}

func (r *reasonWriter) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.config.Clock.After(d):
		return true
	}
}

// writeReason tells the workload, if it still waits and does not know; true when that took a write.
func (r *reasonWriter) writeReason(ctx context.Context, d view.WorkloadDecision) bool {
	seen := r.config.View.LookupPending(d.Workload)
	if seen == nil || seen.UID != d.Object.UID {
		return false
	}
	d.Object = seen
	now := r.config.Clock.Now()
	unknown := r.compareReported(d)
	if unknown == unchanged {
		return false
	}
	if unknown == messageChanged && !r.messageLimiter.AllowN(now, 1) {
		r.requeueAfter(d, repeatMessageDelay)
		return false
	}
	wl := seen.DeepCopy()
	telling := reasonToReport(d)
	changed := workload.SetPending(wl, telling.reason, telling.message, now)
	if len(d.ClosedPreemptionGates) > 0 {
		changed = workload.SetBlockedOnPreemptionGates(wl, now) || changed
	}
	if !changed {
		return false
	}
	wl.Status.ResourceRequests = view.BuildPodSetRequests(d.PodSets)
	if checks, known := r.config.View.ChecksWhilePending(d.Queue); known {
		workload.ExpectChecks(wl, checks, now) // In the same write: for them alone there is none.
	}
	r.applyReason(ctx, d, wl)
	return true
}

// applyReason writes what the workload is to be told, and says the same in an event.
func (r *reasonWriter) applyReason(ctx context.Context, d view.WorkloadDecision, wl *kueue.Workload) {
	began := r.config.Clock.Now()
	err := applyAdmission(ctx, r.config.Client, wl)
	r.scheduler.latency.observe(r.config.Clock.Since(began))
	switch {
	case err == nil:
		r.config.View.RecordWrite(wl)
		telling := reasonToReport(d)
		r.scheduler.eventQueue.enqueue(wl, kube.Event{Warning: true, Reason: string(telling.reason), Note: telling.message})
	case isOutdated(err):
		// The workload has changed: the next cycle looks at it again and tells what is true then, if it matters.
		r.requeueAfter(d, newReasonDelay)
	case ctx.Err() == nil:
		logr.FromContextOrDiscard(ctx).Error(err, "Could not tell why a workload waits", "workload", d.Workload.String())
		r.requeueAfter(d, repeatMessageDelay)
	}
}

// requeueAfter keeps a decision that could not be written, unless there is a newer one.
func (r *reasonWriter) requeueAfter(d view.WorkloadDecision, delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, newer := r.pending[d.Workload]; newer {
		return
	}
	r.pending[d.Workload] = d
	r.queue.AddAfter(d.Workload, delay)
}

// reportedReason is what a waiting workload was told last, or is to be told; zero when it was told nothing.
type reportedReason struct {
	reason  admission.Reason
	message string
}

func lastReported(wl *kueue.Workload) reportedReason {
	c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
	if c == nil || c.Status != metav1.ConditionFalse {
		return reportedReason{}
	}
	return reportedReason{reason: admission.Reason(c.Reason), message: c.Message}
}

// reasonToReport is what the workload is to be told: that it may not preempt goes before what it lacks (contract: messages.md 1.2).
func reasonToReport(d view.WorkloadDecision) reportedReason {
	if len(d.ClosedPreemptionGates) > 0 {
		return reportedReason{reason: admission.AdmissionGated, message: workload.PreemptionGatedMessage}
	}
	return reportedReason{reason: d.Reason, message: d.Message}
}
