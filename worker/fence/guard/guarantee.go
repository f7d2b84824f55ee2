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
	// noGuarantee is said by a fence that cannot promise anything: longer than what any hub allows, also one that only knows to compare.
	noGuarantee = 100 * 365 * 24 * time.Hour
	// surveyTimeout bounds a look at the caches: one that does not fill up must not keep the lease from being renewed unnoticed.
	surveyTimeout = 5 * time.Second
)

// Guarantee is what a fence promises to hubs.
type Guarantee struct {
	// Within is how long it may take to stop what depends on it.
	Within time.Duration
	// Message says why it can promise nothing; empty if it can.
	Message string
}

// guaranteeTracker finds out what the fence can promise, see [fence.Guarantee].
type guaranteeTracker struct {
	stopEstimate

	kinds    *FollowedKinds
	clock    clock.PassiveClock
	recorder events.EventRecorder
	metrics  *Metrics

	began time.Time
	state fence.Guarantee
	// reported is the trouble that people have been told of last.
	reported string
}

// observe looks at the jobs of the cluster. Before is what the fence's lease says against it so far; it matters at the first look.
func (l *guaranteeTracker) observe(ctx context.Context, before string) (Guarantee, error) {
	within, err := l.duration(ctx)
	if err != nil {
		return Guarantee{}, err
	}
	now := l.clock.Now()
	if l.began.IsZero() {
		l.began, l.state.Inherited, l.reported = now, before, before
	}
	bounded, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	s := &jobSurvey{reader: l.reader, kinds: l.kinds.list(), now: now}
	backlog := fence.GuaranteeObservation{Now: now, Uptime: now.Sub(l.began), Waits: s.listWaits(bounded), Exists: s.exists(bounded), LastControllerUpdate: s.lastUpdates(bounded)}
	next := l.state.Observe(backlog)
	if s.failed != nil {
		return Guarantee{}, s.failed
	}
	l.state = next
	trouble := next.Message()
	l.report(ctx, trouble)
	if trouble != "" {
		within = noGuarantee
	}
	return Guarantee{Within: within, Message: trouble}, nil
}

// report tells people what has changed.
func (l *guaranteeTracker) report(ctx context.Context, trouble string) {
	l.metrics.setGuarantee(l.state)
	if trouble == l.reported {
		return
	}
	l.reported = trouble
	event := kube.Event{Warning: true, Reason: reasonCannotStop, Note: "Hubs cannot rely on this fence: " + trouble}
	if trouble == "" {
		event = kube.Event{Reason: reasonCanStop, Note: "Jobs stop when they are told to; hubs can rely on this fence"}
	}
	ctrl.LoggerFrom(ctx).WithName("fence").Info(event.Note)
	kube.RecordEvents(l.recorder, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: switchyard.FenceLease}}, event)
}
