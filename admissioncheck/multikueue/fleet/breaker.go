package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// breakAfter is how many faults in a row open a breaker, and breakMost the longest time that it stays open.
	breakAfter, breakMost = 10, 30 * time.Second
)

// breaker keeps actions from a cluster that answers its probes but fails at everything else. It opens after some faults in a
// row; then one action is tried now and then, and its success closes it. A refusal is no fault: the server has decided. The
// zero breaker is closed. It ends with its session.
type breaker struct {
	mu     sync.Mutex
	faults int
	last   error     // the last fault
	until  time.Time // of the next try
}

// wait is how long the next action has to wait; zero means that it may run now, and that the others wait for its outcome, at
// most for the given time. Who has nothing to run anyway uses up no try.
func (b *breaker) wait(now time.Time, trial time.Duration, idle bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.faults < breakAfter || idle:
		return 0
	case now.Before(b.until):
		return b.until.Sub(now)
	}
	b.until = now.Add(trial)
	return 0
}

// open returns the last fault while the breaker is open, nil while it is closed.
func (b *breaker) open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.faults < breakAfter {
		return nil
	}
	return b.last
}

// done tells of the outcome of an action.
func (b *breaker) done(err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !fault(err) {
		b.faults, b.last = 0, nil
		return
	}
	b.faults++
	b.last = err
	if beyond := b.faults - breakAfter; beyond >= 0 {
		b.until = now.Add(min(time.Second<<min(beyond, 5), breakMost))
	}
}

// fault tells a failure of the cluster from its refusal of one action.
func fault(err error) bool {
	return err != nil && (unreachable(err) || errors.Is(err, context.DeadlineExceeded) || apierrors.IsInternalError(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err))
}
