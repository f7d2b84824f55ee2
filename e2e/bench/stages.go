package bench

import (
	"context"
	"fmt"
	"os"
	"time"

	"switchyard.dev/e2e/bench/procfs"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// trafficResult are what one traffic of Jobs cost with one controller.
type trafficResult struct {
	controller string
	traffic    traffic
	workers    int
	// wall is the time from the first Job's creation to the last one's resumption on a worker, waits that of each.
	wall  time.Duration
	waits []time.Duration
	// single counts the Jobs that were offered to one cluster at first, chosen those of them that ran there; twice those
	// that were seen to run on two.
	single, chosen, twice int
	// dispatch is what was spent until all ran, finish what came after that.
	dispatch, finish meterDifference
	// hubPeak and workerPeak are the most memory that the hub's program and the greediest worker's ever had, in bytes.
	hubPeak, workerPeak int64
	// idle are the calls while nothing happened.
	idle meterDifference
}

// meterDifference is the difference of two meters.
type meterDifference struct {
	cpu map[string]time.Duration
	// hub and workers are the requests of the programs on the hub and in sum on the workers; others those of all other users
	// but the runner.
	hub, workers, hubReads, workerReads []cost
	others                              int
}

// fleetMeter is what the counters of all clusters show at one time.
type fleetMeter struct {
	writes, reads [][]clusters.WriteCount
	cpu           map[string]time.Duration
	peaks         []int64
}

// Names of what CPU time is counted by.
const (
	cpuHub, cpuWorkers, cpuServers = "hub program", "worker programs", "API servers and etcd"
	cpuRunner                      = "runner"
)

func (a *clusterFleet) meter() (fleetMeter, error) {
	m := fleetMeter{cpu: map[string]time.Duration{}}
	for _, p := range a.clusterPrograms() {
		writes, err := p.WriteCounts()
		if err != nil {
			return m, err
		}
		reads, err := p.ReadCounts()
		if err != nil {
			return m, err
		}
		m.writes, m.reads = append(m.writes, writes), append(m.reads, reads)
		name := cpuWorkers
		if p == a.hub {
			name = cpuHub
		}
		peak, err := m.add(name, p.pid)
		if err != nil {
			return m, err
		}
		m.peaks = append(m.peaks, peak)
		for _, pid := range p.PIDs() {
			if _, err := m.add(cpuServers, pid); err != nil {
				return m, err
			}
		}
	}
	_, err := m.add(cpuRunner, os.Getpid())
	return m, err
}

func (m *fleetMeter) add(name string, pid int) (int64, error) {
	p, err := procfs.Read(pid)
	m.cpu[name] += p.CPU
	return p.Peak, err
}

// requests is how many were counted in all, by which one sees that nothing happens any more.
func (m *fleetMeter) requests() int {
	n := 0
	for _, site := range append(m.writes, m.reads...) {
		for _, w := range site {
			if w.User != runnerUser {
				n += w.Count
			}
		}
	}
	return n
}

// waitIdle returns a meter once next to no request has been made for a while: a probe now and then is no work.
func (a *clusterFleet) waitIdle(ctx context.Context) (fleetMeter, error) {
	const quiet, patience, probes = 2 * time.Second, 45 * time.Second, 2
	last, err := a.meter()
	for began := time.Now(); err == nil && time.Since(began) < patience; {
		if err := pause(ctx, quiet); err != nil {
			return last, err
		}
		var next fleetMeter
		next, err = a.meter()
		if next.requests()-last.requests() <= probes*len(a.workers) {
			return next, err
		}
		last = next
	}
	return last, err
}

// pause lets some time pass, as part of a measurement.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// spentSince is what was spent between two meters.
func (m *fleetMeter) spentSince(before fleetMeter) meterDifference {
	s := meterDifference{cpu: map[string]time.Duration{}}
	for name, cpu := range m.cpu {
		s.cpu[name] = cpu - before.cpu[name]
	}
	for i := range m.writes {
		by := roleOn(i == 0)
		writes, reads := differ(before.writes[i], m.writes[i], by), differ(before.reads[i], m.reads[i], by)
		if i == 0 {
			s.hub, s.hubReads = writes, reads
		} else {
			s.workers, s.workerReads = merged(s.workers, writes), merged(s.workerReads, reads)
		}
		s.others += sum(differ(before.writes[i], m.writes[i], func(w clusters.Write) (string, bool) {
			_, program := by(w)
			return w.User, !program && w.User != runnerUser
		}))
	}
	return s
}

// roleOn names the program that a user of the hub's cluster or of a worker's is, if it is one.
func roleOn(hub bool) func(clusters.Write) (string, bool) {
	beside := "worker"
	if hub {
		beside = "hub"
	}
	return func(w clusters.Write) (string, bool) {
		switch w.User {
		case "switchyard-hub", "switchyard-worker", "bench-controller":
			return beside, true
		case afarUser, "system:serviceaccount:" + installation.Namespace + ":" + installation.HubAccount:
			return "hub, from afar", true
		}
		return "", false
	}
}

func merged(lists ...[]cost) []cost {
	sums := map[cost]int{}
	for _, list := range lists {
		for _, c := range list {
			n := c.count
			c.count = 0
			sums[c] += n
		}
	}
	var all []cost
	for c, n := range sums {
		c.count = n
		all = append(all, c)
	}
	sortCosts(all)
	return all
}

func sum(costs []cost) int {
	n := 0
	for _, c := range costs {
		n += c.count
	}
	return n
}

// runTraffic sends the traffic and measures.
func runTraffic(ctx context.Context, a *clusterFleet, t traffic) (trafficResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := trafficResult{traffic: t, workers: len(a.workers)}
	s := newJobLog()
	if err := s.watchAll(ctx, a, t.kinds()); err != nil {
		return f, err
	}
	before, err := a.waitIdle(ctx)
	if err != nil {
		return f, err
	}
	if err := t.send(ctx, a, s); err != nil {
		return f, err
	}
	names := t.names()
	if err := waitProgress(ctx, "Jobs to run", s.missingJobs(names, func(p *jobTimes) bool { return p.worker != nil })); err != nil {
		return f, err
	}
	dispatched, err := a.waitIdle(ctx)
	if err != nil {
		return f, err
	}
	f.dispatch = dispatched.spentSince(before)
	if err := f.measureIdle(ctx, a, s); err != nil {
		return f, err
	}
	f.printLine(s)
	return f, a.exitedProgram()
}

// measureIdle watches the Jobs run, if the traffic says so, and ends them.
func (f *trafficResult) measureIdle(ctx context.Context, a *clusterFleet, s *jobLog) error {
	names := f.traffic.names()
	if f.traffic.idle > 0 {
		if err := f.countIdleCalls(ctx, a, s); err != nil {
			return err
		}
	}
	before, err := a.waitIdle(ctx)
	if err != nil {
		return err
	}
	if f.traffic.fill == 0 {
		if err := s.runWorkers(ctx, names, true); err != nil {
			return err
		}
	}
	if err := waitProgress(ctx, "Jobs to finish and their copies to go", s.missingJobs(names, func(p *jobTimes) bool { return p.finished && p.gone })); err != nil {
		return err
	}
	after, err := a.waitIdle(ctx)
	if err != nil {
		return err
	}
	f.finish = after.spentSince(before)
	f.hubPeak = after.peaks[0]
	for _, peak := range after.peaks[1:] {
		f.workerPeak = max(f.workerPeak, peak)
	}
	return nil
}

// countIdleCalls counts the calls while all Jobs run and nothing happens.
func (f *trafficResult) countIdleCalls(ctx context.Context, a *clusterFleet, s *jobLog) error {
	if err := s.runWorkers(ctx, f.traffic.names(), false); err != nil {
		return err
	}
	before, err := a.waitIdle(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, f.traffic.idle); err != nil {
		return err
	}
	after, err := a.meter()
	f.idle = after.spentSince(before)
	return err
}

// missingJobs counts the names whose span is not as it should be.
func (s *jobLog) missingJobs(names []string, is func(*jobTimes) bool) func() (int, error) {
	return func() (int, error) { return s.count(names, func(p *jobTimes) bool { return !is(p) }), nil }
}

// printLine takes from the scene what it has seen of the Jobs.
func (f *trafficResult) printLine(s *jobLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first, last time.Time
	for _, name := range f.traffic.names() {
		p := s.lookup(name)
		f.waits = append(f.waits, p.resumed.Sub(p.created))
		if first.IsZero() || p.created.Before(first) {
			first = p.created
		}
		if p.resumed.After(last) {
			last = p.resumed
		}
		if len(p.first) == 1 {
			f.single++
			if p.first[0] == p.worker.Name {
				f.chosen++
			}
		}
	}
	f.wall, f.twice = last.Sub(first), s.twice
}

// nameLabel names the run in a table.
func (f *trafficResult) nameLabel() string {
	return fmt.Sprintf("%s, %d workers, %s", f.controller, f.workers, f.traffic.name)
}
