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
	settleReason = 200 * time.Millisecond
	// settleMessage is the same for a new message with the same reason: figures in it change all the time.
	settleMessage = 30 * time.Second
	// reasonRate and reasonBurst bound the writes a second, however many workloads wait.
	reasonRate, reasonBurst = 20, 40
)

// reasons tells waiting workloads why they wait, in QuotaReserved=False. Only the newest reason of a workload is kept, and
// it is written only if the workload still waits and was told something else.
type reasons struct {
	parts   Parts
	queue   workqueue.TypedDelayingInterface[admission.Key]
	limiter *rate.Limiter

	mu     sync.Mutex
	newest map[admission.Key]view.Decided
}

func newReasons(parts Parts) *reasons {
	config := workqueue.TypedDelayingQueueConfig[admission.Key]{Clock: parts.Clock}
	return &reasons{
		parts:   parts,
		queue:   workqueue.NewTypedDelayingQueueWithConfig(config),
		limiter: rate.NewLimiter(reasonRate, reasonBurst),
		newest:  map[admission.Key]view.Decided{},
	}
}

// tell keeps the decision until it is time to write it.
func (r *reasons) tell(d view.Decided) {
	delay := settleReason
	switch told := toldOf(d.Seen); {
	case told.reason == d.Because && told.message == d.Message:
		r.forget(d.Workload)
		return
	case told.reason == d.Because && sharedReason(d.Because), d.Because == admission.PendingEvaluation:
		r.forget(d.Workload)
		return
	case told.reason == d.Because:
		delay = settleMessage
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest[d.Workload] = d
	r.queue.AddAfter(d.Workload, delay)
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
		if d, ok := r.take(key); ok && r.allowed(ctx) {
			r.write(ctx, d)
		}
		r.queue.Done(key)
	}
}

// allowed waits for the turn of the next write; false when the context ended first.
func (r *reasons) allowed(ctx context.Context) bool {
	now := r.parts.Clock.Now()
	turn := r.limiter.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay == 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-r.parts.Clock.After(delay):
		return true
	}
}

func (r *reasons) write(ctx context.Context, d view.Decided) {
	seen := r.parts.View.Waiting(d.Workload)
	if seen == nil || seen.UID != d.Seen.UID {
		return
	}
	wl := seen.DeepCopy()
	was := toldOf(wl)
	if !workload.SetPending(wl, d.Because, d.Message, r.parts.Clock.Now()) {
		return
	}
	err := apply(ctx, r.parts.Client, wl)
	switch {
	case err == nil:
		r.parts.View.Written(wl)
		if was.reason != d.Because {
			kube.Record(r.parts.Recorder, wl, kube.Event{Warning: true, Reason: string(d.Because), Note: d.Message})
		}
	case outdated(err):
		// The workload has changed: the next cycle looks at it again and tells what is true then, if it matters.
		r.again(d, settleReason)
	case ctx.Err() == nil:
		logr.FromContextOrDiscard(ctx).Error(err, "Could not tell why a workload waits", "workload", d.Workload.String())
		r.again(d, settleMessage)
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

// told is what a waiting workload was told last; zero when it was told nothing.
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
