package act

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// admit writes one admission and tells the view how that ended.
func (l *Loop) admit(ctx context.Context, d view.Decided) {
	now := l.parts.Clock.Now()
	wl := d.Seen.DeepCopy()
	events := []kube.Event{{Reason: string(admission.QuotaReserved), Note: reservedMessage(d, now)}}
	message := "Quota reserved in ClusterQueue " + d.Queue
	events = append(events, workload.Reserve(wl, view.AdmissionOf(d.Queue, d.Assignment), d.Checks, message, now)...)
	if l.parts.Prepare != nil {
		l.parts.Prepare(wl, now)
	}
	err := l.write(ctx, wl)
	switch {
	case err == nil:
		l.parts.View.Written(wl)
		kube.Record(l.parts.Recorder, wl, events...)
		l.parts.Metrics.reserved(wl, d.Seen, now)
	case outdated(err):
		l.parts.View.Conflicted(d.Seen)
	case ctx.Err() != nil:
		// Whoever leads next reads from the API what became of it.
	default:
		logr.FromContextOrDiscard(ctx).Error(err, "The API refused an admission", "workload", d.Workload.String())
		l.parts.View.Refused(d.Seen, l.parts.Clock.Now())
	}
}

// write applies the admission until the answer is certain. Trying again is safe: the resourceVersion lets at most one try
// take effect.
func (l *Loop) write(ctx context.Context, wl *kueue.Workload) error {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Cap: 5 * time.Second, Steps: 1 << 30, Jitter: 0.1}
	for {
		err := apply(ctx, l.parts.Client, wl)
		if err == nil || certain(err) || ctx.Err() != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Error(err, "An admission may not have been written; trying again", "workload", wl.Name)
		select {
		case <-ctx.Done():
			return err
		case <-l.parts.Clock.After(backoff.Step()):
		}
	}
}

// tryFor bounds one try, so that a server that does not answer cannot hold a writer for ever.
const tryFor = 15 * time.Second

func apply(ctx context.Context, c client.Client, wl *kueue.Workload) error {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	return kube.ApplyAdmission(ctx, c, wl)
}

// outdated reports that the workload has changed, or is gone, since the decision.
func outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// certain reports that the write has not taken effect and never will. A lost connection, a timeout or a failing server
// leave that open.
func certain(err error) bool {
	return outdated(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsUnsupportedMediaType(err) || apierrors.IsGone(err)
}

// reservedMessage lists the wait and what was assigned (contract: kueue-api.md 1.14).
func reservedMessage(d view.Decided, now time.Time) string {
	text := &strings.Builder{}
	waited := max(now.Sub(queuedSince(d.Seen)), 0).Round(time.Second)
	fmt.Fprintf(text, "Quota reserved in ClusterQueue %s, wait time since queued was %s", d.Queue, waited)
	for _, ps := range d.Assignment.PodSets {
		for i, f := range ps.Flavors {
			if i == 0 {
				fmt.Fprintf(text, "; pod set %s (%d):", ps.Name, ps.Count)
			}
			fmt.Fprintf(text, " %s from %s", f.Resource, f.Flavor)
		}
	}
	return text.String()
}
