package wire

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// Watches may bring so many bytes and events a second, after a first burst: each cluster what it has of its own, which is what a worker
// needs that starts six jobs a second, and all together what is beyond: enough for one that starts 40. More waits at the worker. An
// event costs the hub up to 0.4 ms, so that the common rate is a tenth of a core.
const (
	ownBytes, ownBytesBurst   = 256 << 10, 4 << 20
	ownEvents, ownEventsBurst = 50, 1000

	commonBytes, commonBytesBurst   = 1 << 20, 16 << 20
	commonEvents, commonEventsBurst = 300, 5000
)

// Rates are what the watches of all clusters may bring.
type Rates struct{ bytes, events *rate.Limiter }

// NewRates makes those of one fleet.
func NewRates() *Rates {
	return &Rates{bytes: rate.NewLimiter(commonBytes, commonBytesBurst), events: rate.NewLimiter(commonEvents, commonEventsBurst)}
}

// Rate is what the watches of one cluster may bring, over all its connections: a new connection has no new burst.
type Rate struct {
	common        *Rates
	bytes, events *rate.Limiter
}

// Cluster makes the rate of one more cluster.
func (r *Rates) Cluster() *Rate {
	return &Rate{common: r, bytes: rate.NewLimiter(ownBytes, ownBytesBurst), events: rate.NewLimiter(ownEvents, ownEventsBurst)}
}

// wait waits until so many bytes and events of watches are due.
func (r *Rate) wait(ctx context.Context, bytes, events int) {
	waitFor(ctx, r.bytes, r.common.bytes, bytes)
	waitFor(ctx, r.events, r.common.events, events)
}

// waitFor takes n from the cluster's own allowance, or else from the one that all clusters share.
func waitFor(ctx context.Context, own, common *rate.Limiter, n int) {
	if n == 0 || own.AllowN(time.Now(), n) {
		return
	}
	_ = common.WaitN(ctx, min(n, common.Burst())) // it fails if ctx ends, and the reader then does too
}
