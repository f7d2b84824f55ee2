package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// traffic is how Jobs come to the hub.
type traffic struct {
	name string
	jobs int
	// rate is the Jobs a second; 0 means all at once.
	rate float64
	// fill, if not 0, is the fraction of the workers' quota that is kept in use: a Job comes when there is room for it below
	// that, has one of sizes, and runs for run once it is resumed.
	fill float64
	run  time.Duration
	// idle, if not 0, is how long the Jobs, all running, are watched for calls because of them.
	idle time.Duration
	// mix has the jobs be of several kinds in turn.
	mix bool
}

// kinds are those of the jobs.
func (t traffic) kinds() []mixedKind {
	if t.mix {
		return mixedKinds()
	}
	return mixedKinds()[:1]
}

// submit creates the job of a name, for the queue in which everything fits.
func submit(ctx context.Context, a *clusterFleet, s *jobLog, name string, kind *mixedKind) error {
	if kind.operator == "" { // a Job
		return s.submit(ctx, a, queuedJob(name, unlimitedQueue, 1), nil)
	}
	return s.submit(ctx, a, kind.queued(name, unlimitedQueue), kind)
}

// sizes of the Jobs that fill a quota, in cores: of three workers with 40 cores each, some 96 are in use at 80 %.
func sizes() []int { return []int{1, 1, 2, 2, 4, 4, 8, 16} }

// names of the Jobs.
func (t traffic) names() []string {
	names := make([]string, t.jobs)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", t.name, i)
	}
	return names
}

// send submits all Jobs as the traffic says and returns when the last is created.
func (t traffic) send(ctx context.Context, a *clusterFleet, s *jobLog) error {
	if t.fill > 0 {
		return t.sendFilling(ctx, a, s)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	var pace <-chan time.Time
	if t.rate > 0 {
		ticker := time.NewTicker(time.Duration(float64(time.Second) / t.rate))
		defer ticker.Stop()
		pace = ticker.C
	}
	kinds := t.kinds()
	for i, name := range t.names() {
		group.Go(func() error { return submit(groupCtx, a, s, name, &kinds[i%len(kinds)]) })
		if pace == nil {
			continue
		}
		select {
		case <-pace:
		case <-groupCtx.Done():
			return errors.Join(group.Wait(), groupCtx.Err())
		}
	}
	return group.Wait()
}

// sendFilling keeps the quota filled to the fraction. Cores count from the Job's creation until the hub says that it has
// finished, so that the load is never more than was asked for.
func (t traffic) sendFilling(ctx context.Context, a *clusterFleet, s *jobLog) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	s.resumed = func(name string) {
		time.AfterFunc(t.run, func() {
			if err := s.runJob(ctx, name, true); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	s.mu.Unlock()
	limit := int(t.fill * float64(limitedCores*len(a.workers)))
	random := rand.New(rand.NewPCG(1, 2))
	under := map[string]int{}
	for _, name := range t.names() {
		cores := sizes()[random.IntN(len(sizes()))]
		if err := s.waitForCores(ctx, under, limit-cores); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		under[name] = cores
		if err := s.submit(ctx, a, queuedJob(name, limitedQueue, cores), nil); err != nil {
			return err
		}
	}
	return s.waitForCores(ctx, under, 0)
}

// waitForCores waits until those of the Jobs that have not finished have no more cores than the limit, and drops the others.
func (s *jobLog) waitForCores(ctx context.Context, under map[string]int, limit int) error {
	return waitProgress(ctx, "room", func() (int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		cores := 0
		for name, n := range under {
			if s.lookup(name).finished {
				delete(under, name)
				continue
			}
			cores += n
		}
		return max(cores-limit, 0), nil
	})
}

// waitProgress returns when nothing is left, and fails when nothing has changed for a while.
func waitProgress(ctx context.Context, what string, left func() (int, error)) error {
	const patience = 3 * time.Minute
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	last, since := -1, time.Now()
	for {
		n, err := left()
		switch {
		case err != nil:
			return err
		case n == 0:
			return nil
		case n != last:
			last, since = n, time.Now()
		case time.Since(since) > patience:
			return fmt.Errorf("wait for %s: %d are left, and nothing has happened for %s", what, n, patience)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %d are left: %w", what, n, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
