package act

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

// settle writes what was decided on the Workload as seen, and tells the view how that ended; true when it has been written.
// Then wl is the API's answer.
func (l *Loop) settle(ctx context.Context, wl, seen *kueue.Workload, what string) bool {
	err := l.write(ctx, wl)
	switch {
	case err == nil:
		l.parts.View.Written(wl)
		return true
	case outdated(err):
		l.parts.View.Conflicted(seen)
	case ctx.Err() != nil:
		// Whoever leads next reads from the API what became of it.
	default:
		logr.FromContextOrDiscard(ctx).Error(err, "The API refused "+what, "workload", klog.KObj(seen))
		l.parts.View.Refused(seen, l.parts.Clock.Now())
	}
	return false
}

// write applies the admission part of the status until the answer is certain. Trying again is safe: the resourceVersion
// lets at most one try take effect. A refusal says nothing of an earlier try whose answer was lost.
func (l *Loop) write(ctx context.Context, wl *kueue.Workload) error {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Cap: 5 * time.Second, Steps: 1 << 30, Jitter: 0.1}
	for first := true; ; first = false {
		began := l.parts.Clock.Now()
		err := apply(ctx, l.parts.Client, wl)
		l.pace.took(l.parts.Clock.Since(began))
		if err == nil || outdated(err) || certain(err) && first || ctx.Err() != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Error(err, "A decision may not have been written; trying again", "workload", klog.KObj(wl))
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
