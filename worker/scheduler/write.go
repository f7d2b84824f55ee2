package scheduler

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// writeDecision writes what was decided on the Workload as seen, and tells the view how that ended; true when it has been written.
// Then wl is the API's answer.
func (l *Scheduler) writeDecision(ctx context.Context, wl, seen *kueue.Workload, what string) bool {
	err := l.writeUntilCertain(ctx, wl)
	switch {
	case err == nil:
		l.config.View.RecordWrite(wl)
		return true
	case isOutdated(err):
		l.config.View.RecordConflict(seen)
	case ctx.Err() != nil:
		// The next leader reads from the API what became of it.
	default:
		logr.FromContextOrDiscard(ctx).Error(err, "The API refused "+what, "workload", klog.KObj(seen))
		l.config.View.RecordRefusal(seen, l.config.Clock.Now())
	}
	return false
}

// writeUntilCertain applies the admission part of the status until the answer is certain. Trying again is safe: the resourceVersion
// lets at most one try take effect. A refusal says nothing of an earlier try whose answer was lost.
func (l *Scheduler) writeUntilCertain(ctx context.Context, wl *kueue.Workload) error {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Cap: 5 * time.Second, Steps: 1 << 30, Jitter: 0.1}
	for first := true; ; first = false {
		began := l.config.Clock.Now()
		err := applyAdmission(ctx, l.config.Client, wl)
		l.latency.observe(l.config.Clock.Since(began))
		if err == nil || isOutdated(err) || isDefinitive(err) && first || ctx.Err() != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Error(err, "A decision may not have been written; trying again", "workload", klog.KObj(wl))
		select {
		case <-ctx.Done():
			return err
		case <-l.config.Clock.After(backoff.Step()):
		}
	}
}

// writeTimeout bounds one try, so that a server that does not answer cannot hold a writer for ever.
const writeTimeout = 15 * time.Second

func applyAdmission(ctx context.Context, c client.Client, wl *kueue.Workload) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return kube.ApplyAdmission(ctx, c, wl)
}

// isOutdated reports that the workload has changed, or is gone, since the decision.
func isOutdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// isDefinitive reports that the write has not taken effect and never will. A lost connection, a timeout or a failing server
// leave that open.
func isDefinitive(err error) bool {
	return isOutdated(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsUnsupportedMediaType(err) || apierrors.IsGone(err)
}
