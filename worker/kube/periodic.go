package kube

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// RunPeriodically calls do once a period until the context ends; never if there is no period.
func RunPeriodically(ctx context.Context, clock clock.WithTicker, period time.Duration, do func()) {
	if period <= 0 {
		return
	}
	ticker := clock.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			do()
		}
	}
}
