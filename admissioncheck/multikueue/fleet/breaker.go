package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// breakerThreshold is how many faults in a row open a breaker; it stays open for firstPause at first, and for breakMost at most.
	breakerThreshold, minBreakerPause, maxBreakerPause = 10, time.Second, 30 * time.Second
)

// breaker keeps actions from a cluster that answers its probes but fails at everything else. It opens after some faults in a
// row; then one action is tried now and then, and its success closes it. A refusal is no fault: the server has decided. The
// zero breaker is closed. It ends with its session.
type breaker struct {
	mu        sync.Mutex
	faults    int
	nextTryAt time.Time // of the next try
}

// delay is how long the next action has to wait. Zero means that it may run now, and that the others wait for its outcome, at
// most for the given time. A caller without an action uses up no try.
func (b *breaker) delay(now time.Time, trial time.Duration, idle bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.faults < breakerThreshold || idle:
		return 0
	case now.Before(b.nextTryAt):
		return b.nextTryAt.Sub(now)
	}
	b.nextTryAt = now.Add(trial)
	return 0
}

// isOpen reports whether the breaker is open, and then whether something may be tried now: a caller that passes over the
// cluster for as long as it fails would never find out that it works again.
func (b *breaker) isOpen(now time.Time) (open, trial bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open = b.faults >= breakerThreshold
	return open, open && !now.Before(b.nextTryAt)
}

// recordResult tells of the outcome of an action. It returns for how long nothing is to be tried now, zero if the breaker is closed, and
// whether that is news.
func (b *breaker) recordResult(err error, now time.Time) (pause time.Duration, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.faults >= breakerThreshold
	if !isFault(err) {
		b.faults = 0
		return 0, was
	}
	b.faults++
	beyond := b.faults - breakerThreshold
	if beyond < 0 {
		return 0, false
	}
	pause = min(minBreakerPause<<min(beyond, 5), maxBreakerPause)
	b.nextTryAt = now.Add(pause)
	return pause, true
}

// isPausedUntil reports whether the breaker has been open until exactly that time, and nothing was tried since.
func (b *breaker) isPausedUntil(until time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults >= breakerThreshold && b.nextTryAt.Equal(until)
}

// isFault tells a failure of the cluster from its refusal of one action.
func isFault(err error) bool {
	return err != nil && (isUnreachable(err) || errors.Is(err, context.DeadlineExceeded) || apierrors.IsInternalError(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err))
}
