package guard

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/kube"
)

// The reasons of the events on the fence's own lease.
const (
	reasonCannotStop = "CannotStop"
	reasonCanStop    = "CanStop"
)

const (
	// never is said by a fence that cannot promise anything: longer than what any hub allows, also one that only knows to compare.
	never = 100 * 365 * 24 * time.Hour
	// surveyFor bounds a look at the caches: one that does not fill up must not keep the lease from being renewed unnoticed.
	surveyFor = 5 * time.Second
)

// Word is what a fence promises to hubs.
type Word struct {
	// Within is how long it may take to stop what depends on it.
	Within time.Duration
	// Trouble says why it can promise nothing; empty if it can.
	Trouble string
}

// lookout finds out what the fence can promise, see [fence.Promise].
type lookout struct {
	haste

	kinds    *Kinds
	clock    clock.PassiveClock
	recorder events.EventRecorder
	metrics  *Metrics

	began   time.Time
	promise fence.Promise
	// told is the trouble that people have been told of last.
	told string
}

// word looks at the jobs of the cluster. Before is what the fence's lease says against it so far; it matters at the first look.
func (l *lookout) word(ctx context.Context, before string) (Word, error) {
	within, err := l.within(ctx)
	if err != nil {
		return Word{}, err
	}
	now := l.clock.Now()
	if l.began.IsZero() {
		l.began, l.promise.Inherited, l.told = now, before, before
	}
	bounded, cancel := context.WithTimeout(ctx, surveyFor)
	defer cancel()
	s := &survey{reader: l.reader, kinds: l.kinds.all(), now: now}
	backlog := fence.Backlog{Now: now, Uptime: now.Sub(l.began), Waits: s.waits(bounded), Exists: s.exists(bounded), Acted: s.acted(bounded)}
	next := l.promise.Look(backlog)
	if s.failed != nil {
		return Word{}, s.failed
	}
	l.promise = next
	trouble := next.Trouble()
	l.tell(ctx, trouble)
	if trouble != "" {
		within = never
	}
	return Word{Within: within, Trouble: trouble}, nil
}

// tell tells people what has changed.
func (l *lookout) tell(ctx context.Context, trouble string) {
	l.metrics.keeps(l.promise)
	if trouble == l.told {
		return
	}
	l.told = trouble
	event := kube.Event{Warning: true, Reason: reasonCannotStop, Note: "Hubs cannot rely on this fence: " + trouble}
	if trouble == "" {
		event = kube.Event{Reason: reasonCanStop, Note: "Jobs stop when they are told to; hubs can rely on this fence"}
	}
	ctrl.LoggerFrom(ctx).WithName("fence").Info(event.Note)
	kube.RecordEvents(l.recorder, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: switchyard.FenceLease}}, event)
}
