package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"switchyard.dev/e2e/bench/procfs"
)

// restart is what a hub's program needed to be of use again.
type restart struct {
	held, workers int
	// connected is the time from its start until it was connected to all workers, dispatched until a Job that came since then
	// was resumed on a worker.
	connected, dispatched time.Duration
	cpu                   time.Duration
	peak                  int64
	// lists are the most that one worker was asked for a resource, by resource
	lists map[string]int
	// created are the Workloads that the hub made, no more than the Jobs that came if it knows those it has; writes all its requests that change
	// something, on its own server.
	created, writes int
}

// restart has a Job run on every worker, kills the hub's program, as a crash would, multiplies the Jobs until so many are held,
// and starts the program again.
func (h *memoryFleet) restart(ctx context.Context, held int) (restart, error) {
	r := restart{held: held, workers: len(h.workers), lists: map[string]int{}}
	s := h.recordJob()
	if err := h.spreadJobs(ctx, s); err != nil {
		return r, err
	}
	if err := h.process.Kill(); err != nil {
		return r, err
	}
	if err := h.addJobs(s, held); err != nil {
		return r, err
	}
	s = h.recordJob()
	workloads, writes := h.hub.Count("workloads"), h.writes()
	before := make([]map[string]int, len(h.workers))
	for i, w := range h.workers {
		before[i] = listsOf(w)
	}
	if err := h.forgetConnections(); err != nil {
		return r, err
	}
	began := time.Now()
	if err := h.start(); err != nil {
		return r, err
	}
	connected := make(chan error, 1)
	go func() {
		err := h.waitConnected(ctx, len(h.workers), stuckAfter)
		r.connected = time.Since(began)
		connected <- err
	}()
	first, err := h.firstDispatch(ctx, s)
	if err != nil {
		return r, err
	}
	r.dispatched = first.Sub(began)
	if err := <-connected; err != nil {
		return r, err
	}
	if err := pause(ctx, 10*time.Second); err != nil { // whatever the hub looks at when it is back
		return r, err
	}
	for i, w := range h.workers {
		for resource, n := range listsOf(w) {
			r.lists[resource] = max(r.lists[resource], n-before[i][resource])
		}
	}
	r.created, r.writes = h.hub.Count("workloads")-workloads, h.writes()-writes
	p, err := procfs.Read(h.process.PID())
	r.cpu, r.peak = p.CPU, p.Peak
	return r, err
}

// spreadJobs has one Job run on each worker: Jobs come until there is one.
func (h *memoryFleet) spreadJobs(ctx context.Context, s *resumeLog) error {
	if err := h.submit(ctx, s, jobNames("held", 2*len(h.workers)), 0); err != nil {
		return err
	}
	if err := waitProgress(ctx, "Jobs to run", func() (int, error) { return s.countMissing(nil), h.exitedProgram() }); err != nil {
		return err
	}
	return pause(ctx, 5*time.Second) // what is written after they have begun to run
}

func (h *memoryFleet) writes() int {
	writes, _ := between(nil, h.hub.Requests())
	return writes
}

// firstDispatch has a Job come every second, the first one now, until any of them is resumed, and tells when that was. Jobs that
// are there when a program starts wait behind all it holds; later ones do not.
func (h *memoryFleet) firstDispatch(ctx context.Context, s *resumeLog) (time.Time, error) {
	const patience = 300
	for i := range patience {
		if err := h.submit(ctx, s, []string{fmt.Sprintf("again-%03d", i)}, 0); err != nil {
			return time.Time{}, err
		}
		if err := errors.Join(pause(ctx, time.Second), h.exitedProgram()); err != nil {
			return time.Time{}, err
		}
		if at, ok := s.earliest(); ok {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("nothing was dispatched for %d s\n%s", patience, h.process.LogTail())
}

// earliest is when the first Job was resumed, if any was.
func (s *resumeLog) earliest() (first time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ran := range s.ran {
		if !ok || ran.at.Before(first) {
			first, ok = ran.at, true
		}
	}
	return first, ok
}

// probe is the label by which the hub asks for nothing, to see whether it is answered.
const probe = "switchyard.dev/probe"

// listsOf are the lists that a worker was asked for, by resource; those that ask for nothing are left out.
func listsOf(w *simulatedWorker) map[string]int {
	lists := map[string]int{}
	for request, n := range w.server.Requests() {
		if request.Verb == "list" && !strings.Contains(request.Selector, probe) {
			lists[request.Resource] += n
		}
	}
	return lists
}

// forgetConnections takes away what the hub's program said about its connections, so that it is seen to say it anew.
func (h *memoryFleet) forgetConnections() error {
	for _, w := range h.workers {
		err := h.hub.Change("multikueueclusters", "", w.server.Name, func(cluster map[string]any) { delete(cluster, "status") })
		if err != nil {
			return fmt.Errorf("forget the connection to %s: %w", w.server.Name, err)
		}
	}
	return nil
}

func printRestart(out io.Writer, r restart) error {
	_, err := fmt.Fprintf(out, `
restart of a hub with %d active Workloads on %d workers (targets: first dispatch < 30 s, one list per kind and worker, < 2 GiB)
  first dispatch after %s, connected to all after %s, CPU %s, peak memory %s
  %d Workloads created, %d writes on the hub
`, r.held, r.workers, r.dispatched.Round(10*time.Millisecond), r.connected.Round(10*time.Millisecond), r.cpu, mebibytes(r.peak), r.created, r.writes)
	for _, resource := range slices.Sorted(maps.Keys(r.lists)) {
		if err == nil {
			_, err = fmt.Fprintf(out, "  lists of %s, the most of any worker: %d\n", resource, r.lists[resource])
		}
	}
	return err
}
