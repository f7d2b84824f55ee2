package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// listLimiter lets few clusters at a time list what they hold. A hub that starts decodes everything there is on all of them; side by
// side, all would be complete at the very end, and take each other for dead meanwhile.
type listLimiter chan struct{}

const (
	// maxListingClusters is how many list at a time; headStart is after how long one makes room for the next, complete or not.
	maxListingClusters = 8
	listSlotTimeout    = 3 * time.Second
)

func newListLimiter() listLimiter { return make(listLimiter, maxListingClusters) }

// acquire waits for its turn and returns what ends it, which may be called again. Credentials that change meanwhile end the wait.
func (e listLimiter) acquire(ctx context.Context, renew <-chan struct{}, c clock.WithDelayedExecution) (leave func(), err error) {
	select {
	case e <- struct{}{}:
	case <-renew:
		return nil, errCredentialsChanged
	case <-ctx.Done():
		return nil, fmt.Errorf("wait until other clusters are listed: %w", context.Cause(ctx))
	}
	once := sync.OnceFunc(func() { <-e })
	timer := c.AfterFunc(listSlotTimeout, once)
	return func() { timer.Stop(); once() }, nil
}
