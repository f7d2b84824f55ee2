package act

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
	// settleReason is how long a new reason to wait may be overtaken by an admission before it is written.
	settleReason = time.Second
	// settleMessage is the same for a new message with the same reason, and messageAgain if others are written meanwhile: figures
	// in messages change all the time, and messageEvery bounds how many of them are written, however many workloads wait.
	settleMessage, messageAgain, messageEvery = 2 * time.Second, 30 * time.Second, time.Second
	// reasonRests gives reasons a fourth of the time of one connection.
	reasonRests = 3
	// yield is how long a reason lets decisions go before it, in steps of yieldStep.
	yield, yieldStep = time.Second, 20 * time.Millisecond
)

// reasons tells waiting workloads why they wait, in QuotaReserved=False. Only the newest reason of a workload is kept, and
// it is written only if the workload still waits and was told something else.
//
// One writer with pauses: when the API server answers at once, a reason is current settleReason after the decision plus, for
// each workload that has to be told before it, four times what a write takes. A saturated server gets a few a second.
type reasons struct {
	parts   Parts
	loop    *Loop
	queue   workqueue.TypedDelayingInterface[admission.Key]
	refresh *rate.Limiter

	mu     sync.Mutex
	newest map[admission.Key]view.Decided
}

func newReasons(parts Parts, l *Loop) *reasons {
	config := workqueue.TypedDelayingQueueConfig[admission.Key]{Clock: parts.Clock}
	return &reasons{
		parts:   parts,
		loop:    l,
		queue:   workqueue.NewTypedDelayingQueueWithConfig(config),
		refresh: rate.NewLimiter(rate.Every(messageEvery), 1),
		newest:  map[admission.Key]view.Decided{},
	}
}

// tell keeps the decision until it is time to write it.
func (r *reasons) tell(d view.Decided) {
	if d.Because == admission.PendingEvaluation && d.Message != view.FailedChecks && (!d.Stale || r.parts.Coarse) {
		r.forget(d.Workload)
		return
	}
	switch r.newsOf(d) {
	case noNews:
		r.forget(d.Workload)
	case newMessage:
		r.keep(d, r.messageDelay())
	case newReason:
		r.keep(d, settleReason)
	}
}

// messageDelay is how long a new message waits to be written.
func (r *reasons) messageDelay() time.Duration {
	if r.refresh.TokensAt(r.parts.Clock.Now()) < 1 {
		return messageAgain
	}
	return settleMessage
}

func (r *reasons) keep(d view.Decided, delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest[d.Workload] = d
	r.queue.AddAfter(d.Workload, delay)
}

// news is what a workload does not know yet of a decision to wait.
type news int

const (
	noNews news = iota
	newMessage
	newReason
)

// newsOf compares the decision with what the workload was told.
func (r *reasons) newsOf(d view.Decided) news {
	was, is := toldOf(d.Seen), tellingOf(d)
	same := was.reason == is.reason || r.parts.Coarse && was.message == is.message
	switch {
	case !same, len(d.ClosedGates) > 0 && !workload.IsBlockedOnGates(d.Seen):
		return newReason
	case was.message != is.message && !sharedReason(is.reason):
		return newMessage
	default:
		return noNews
	}
}

// sharedReason names the reasons that the workload's own controller may have given first, in its own words (see
// lifecycle.Step): they are left as they are. PendingEvaluation belongs to it alone.
func sharedReason(reason admission.Reason) bool {
	switch reason {
	case admission.Suspended, admission.Misconfigured, admission.AdmissionGated, admission.Deactivated:
		return true
	default:
		return false
	}
}

func (r *reasons) forget(key admission.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.newest, key)
}

func (r *reasons) take(key admission.Key) (view.Decided, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.newest[key]
	delete(r.newest, key)
	return d, ok
}

// run writes until the context ends.
func (r *reasons) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	for {
		key, closed := r.queue.Get()
		if closed {
			return
		}
		if d, ok := r.take(key); ok && r.yield(ctx) {
			if r.write(ctx, d) {
				r.rest(ctx, r.loop.pace.pause(reasonRests))
			}
		}
		r.queue.Done(key)
	}
}

// yield lets decisions go first, for a while; false when the context ended.
func (r *reasons) yield(ctx context.Context) bool {
	until := r.parts.Clock.Now().Add(yield)
	for r.loop.desk.unanswered() > 0 && r.parts.Clock.Now().Before(until) {
		if !r.rest(ctx, yieldStep) {
			return false
		}
	}
	return ctx.Err() == nil
}

func (r *reasons) rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.parts.Clock.After(d):
		return true
	}
}

// write tells the workload, if it still waits and does not know; true when that took a write.
func (r *reasons) write(ctx context.Context, d view.Decided) bool {
	seen := r.parts.View.Waiting(d.Workload)
	if seen == nil || seen.UID != d.Seen.UID {
		return false
	}
	d.Seen = seen
	now := r.parts.Clock.Now()
	unknown := r.newsOf(d)
	if unknown == noNews {
		return false
	}
	if unknown == newMessage && !r.refresh.AllowN(now, 1) {
		r.again(d, messageAgain)
		return false
	}
	wl := seen.DeepCopy()
	telling := tellingOf(d)
	changed := workload.SetPending(wl, telling.reason, telling.message, now)
	if len(d.ClosedGates) > 0 {
		changed = workload.SetBlockedOnGates(wl, now) || changed
	}
	if !changed {
		return false
	}
	wl.Status.ResourceRequests = view.RequestsOf(d.PodSets)
	if checks, known := r.parts.View.ChecksWhileWaiting(d.Queue); known {
		workload.Expect(wl, checks, now) // In the same write: for them alone there is none.
	}
	r.finish(ctx, d, wl)
	return true
}

// finish writes what the workload is to be told, and says the same in an event.
func (r *reasons) finish(ctx context.Context, d view.Decided, wl *kueue.Workload) {
	began := r.parts.Clock.Now()
	err := apply(ctx, r.parts.Client, wl)
	r.loop.pace.took(r.parts.Clock.Since(began))
	switch {
	case err == nil:
		r.parts.View.Written(wl)
		telling := tellingOf(d)
		r.loop.herald.tell(wl, kube.Event{Warning: true, Reason: string(telling.reason), Note: telling.message})
	case outdated(err):
		// The workload has changed: the next cycle looks at it again and tells what is true then, if it matters.
		r.again(d, settleReason)
	case ctx.Err() == nil:
		logr.FromContextOrDiscard(ctx).Error(err, "Could not tell why a workload waits", "workload", d.Workload.String())
		r.again(d, messageAgain)
	}
}

// again keeps a decision that could not be written, unless there is a newer one.
func (r *reasons) again(d view.Decided, delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, newer := r.newest[d.Workload]; newer {
		return
	}
	r.newest[d.Workload] = d
	r.queue.AddAfter(d.Workload, delay)
}

// told is what a waiting workload was told last, or is to be told; zero when it was told nothing.
type told struct {
	reason  admission.Reason
	message string
}

func toldOf(wl *kueue.Workload) told {
	c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
	if c == nil || c.Status != metav1.ConditionFalse {
		return told{}
	}
	return told{reason: admission.Reason(c.Reason), message: c.Message}
}

// tellingOf is what the workload is to be told: that it may not preempt goes before what it lacks (contract: messages.md 1.2).
func tellingOf(d view.Decided) told {
	if len(d.ClosedGates) > 0 {
		return told{reason: admission.AdmissionGated, message: workload.GatedMessage}
	}
	return told{reason: d.Because, message: d.Message}
}
