package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"switchyard.dev/e2e/bench/procfs"
	"switchyard.dev/e2e/memory"
)

// resumeLog is what the runner sees of the Jobs of one run on a fleet in memory.
type resumeLog struct {
	mu      sync.Mutex
	created map[string]time.Time
	ran     map[string]resumed
	// first are the clusters that the hub nominated at first, bound the one where a Job is to run, by job; told are the
	// Workloads of which both are known.
	first map[string][]string
	bound map[string]string
	told  map[string]bool
}

// resumed is where and when a Job was resumed.
type resumed struct {
	worker int
	at     time.Time
}

func (h *memoryFleet) recordJob() *resumeLog {
	s := &resumeLog{created: map[string]time.Time{}, ran: map[string]resumed{}, first: map[string][]string{}, bound: map[string]string{}, told: map[string]bool{}}
	h.hub.Subscribe(s.record)
	for i, w := range h.workers {
		w.mu.Lock()
		w.resumed = func(job string, at time.Time) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if _, seen := s.ran[job]; !seen {
				s.ran[job] = resumed{worker: i, at: at}
			}
		}
		w.mu.Unlock()
	}
	return s
}

// record takes the first nomination of a Workload, and its cluster.
func (s *resumeLog) record(c memory.Change) {
	if c.Resource != "workloads" {
		return
	}
	s.mu.Lock()
	known := s.told[c.Name]
	s.mu.Unlock()
	if known {
		return
	}
	fields := c.Fields()
	owners := (&unstructured.Unstructured{Object: fields}).GetOwnerReferences()
	if len(owners) == 0 {
		return
	}
	nominated, _, _ := unstructured.NestedStringSlice(fields, "status", "nominatedClusterNames") // none is none
	cluster, _, _ := unstructured.NestedString(fields, "status", "clusterName")
	s.mu.Lock()
	defer s.mu.Unlock()
	job := owners[0].Name
	if len(s.first[job]) == 0 {
		s.first[job] = nominated
	}
	if cluster != "" {
		s.bound[job], s.told[c.Name] = cluster, true
	}
}

// countMissing counts the Jobs that have not been resumed. One that is bound to a worker that does not count is none of them: what
// may run on a worker that was lost stays there for as long as its policy says.
func (s *resumeLog) countMissing(counts func(worker int) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := 0
	for job := range s.created {
		_, ran := s.ran[job]
		cluster, bound := s.bound[job]
		if !ran && (counts == nil || !bound || counts(workerIndex(cluster))) {
			left++
		}
	}
	return left
}

// submit creates Jobs on the hub, in turn for each queue: at a rate a second, or as fast as the server takes them.
func (h *memoryFleet) submit(ctx context.Context, s *resumeLog, names []string, rate float64) error {
	groups := (len(h.workers) + perCheck - 1) / perCheck
	began := time.Now()
	for i, name := range names {
		if rate > 0 {
			due := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
			if err := pause(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		s.mu.Lock()
		s.created[name] = time.Now()
		s.mu.Unlock()
		if err := h.hub.Put("jobs", queuedJob(name, groupQueue(i%groups), 1)); err != nil {
			return err
		}
	}
	return nil
}

func jobNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return names
}

// memoryFleetResult are what a run on a fleet in memory cost.
type memoryFleetResult struct {
	name string
	jobs int
	wall time.Duration
	// waits of the Jobs that ran on the workers counted in.
	waits []time.Duration
	// direct are those of them whose Jobs were offered to no worker that is not counted in at first; elsewhere are the Jobs
	// that ran on the others.
	direct    []time.Duration
	elsewhere int
	cpu       time.Duration
	peak      int64
	// writes and reads are requests, on the hub's own server and in sum on the workers.
	writes, reads, workerWrites, workerReads int
	// endCPU and endWrites are what came when the Jobs ended, of the hub and on its own server; zero if they were left running.
	endCPU    time.Duration
	endWrites int
	seen      *resumeLog
	// failed are the hub's writes that were refused, by what they were about, until all Jobs ran and until they had ended.
	failed, endFailed string
	// workersUsed is how many of the workers got a Job.
	workersUsed int
}

// memoryFleetMeter is what the counters show at one time.
type memoryFleetMeter struct {
	hub     map[memory.Request]int
	workers []map[memory.Request]int
	process procfs.Process
}

func (h *memoryFleet) meter() (memoryFleetMeter, error) {
	m := memoryFleetMeter{hub: h.hub.Requests()}
	for _, w := range h.workers {
		m.workers = append(m.workers, w.server.Requests())
	}
	var err error
	m.process, err = procfs.Read(h.process.PID())
	return m, err
}

func isWriteVerb(verb string) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, verb)
}

// between counts writes and reads; watches, which last, are neither.
func between(before, after map[memory.Request]int) (writes, reads int) {
	for request, n := range after {
		n -= before[request]
		switch {
		case isWriteVerb(request.Verb):
			writes += n
		case request.Verb != "watch":
			reads += n
		}
	}
	return writes, reads
}

// refused lists the writes of the hub that failed on its own server, for each job.
func refused(before, after map[memory.Request]int, jobs int) string {
	var list []string
	for request, n := range after {
		if n -= before[request]; n > 0 && request.Failed && isWriteVerb(request.Verb) {
			list = append(list, fmt.Sprintf("%s %s %.2f", request.Verb, request.Resource, perJob(n, jobs)))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// run dispatches Jobs and measures. Only Jobs on workers for which counts is true go into the waits; nil counts all.
func (h *memoryFleet) run(ctx context.Context, name string, jobs int, rate float64, counts func(worker int) bool) (memoryFleetResult, error) {
	f := memoryFleetResult{name: name, jobs: jobs}
	s := h.recordJob()
	f.seen = s
	before, err := h.meter()
	if err != nil {
		return f, err
	}
	if err := h.submit(ctx, s, jobNames(name, jobs), rate); err != nil {
		return f, err
	}
	err = waitProgress(ctx, "Jobs to run", func() (int, error) { return s.countMissing(counts), h.exitedProgram() })
	if err != nil {
		return f, fmt.Errorf("%w\n%s", err, h.process.LogTail())
	}
	if err := pause(ctx, 2*time.Second); err != nil { // what is written after the Jobs have begun to run
		return f, err
	}
	after, err := h.meter()
	if err != nil {
		return f, err
	}
	f.cpu, f.peak = after.process.CPU-before.process.CPU, after.process.Peak
	f.writes, f.reads = between(before.hub, after.hub)
	f.failed = refused(before.hub, after.hub, jobs)
	for i := range after.workers {
		writes, reads := between(before.workers[i], after.workers[i])
		f.workerWrites, f.workerReads = f.workerWrites+writes, f.workerReads+reads
	}
	f.printLine(s, counts)
	return f, nil
}

func (f *memoryFleetResult) printLine(s *resumeLog, counts func(worker int) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first, last time.Time
	used := map[int]bool{}
	for name, created := range s.created {
		ran, has := s.ran[name]
		if !has {
			f.elsewhere++
			continue
		}
		used[ran.worker] = true
		if first.IsZero() || created.Before(first) {
			first = created
		}
		if ran.at.After(last) {
			last = ran.at
		}
		if counts != nil && !counts(ran.worker) {
			f.elsewhere++
			continue
		}
		f.waits = append(f.waits, ran.at.Sub(created))
		if !slices.ContainsFunc(s.first[name], func(cluster string) bool { return counts != nil && !counts(workerIndex(cluster)) }) {
			f.direct = append(f.direct, ran.at.Sub(created))
		}
	}
	f.wall, f.workersUsed = last.Sub(first), len(used)
}

// workerIndex is that of a worker's name.
func workerIndex(name string) int {
	i, err := strconv.Atoi(strings.TrimPrefix(name, "w"))
	if err != nil {
		return -1
	}
	return i
}

// finish ends all Jobs of a run, waits until their copies are gone and measures that.
func (h *memoryFleet) finish(ctx context.Context, f *memoryFleetResult) error {
	before, err := h.meter()
	if err != nil {
		return err
	}
	others := h.countCopies() - 2*len(f.seen.ran) // of other runs
	for name, ran := range f.seen.ran {
		h.workers[ran.worker].finishJob(name)
	}
	err = waitProgress(ctx, "copies to go", func() (int, error) { return max(h.countCopies()-others, 0), h.exitedProgram() })
	if err != nil {
		return err
	}
	after, err := h.meter()
	f.endCPU, f.peak = after.process.CPU-before.process.CPU, after.process.Peak
	f.endWrites, _ = between(before.hub, after.hub)
	f.endFailed = refused(before.hub, after.hub, f.jobs)
	return err
}

// countCopies counts the objects that the hub has on the workers.
func (h *memoryFleet) countCopies() int {
	n := 0
	for _, w := range h.workers {
		n += w.server.Count("jobs") + w.server.Count("workloads")
	}
	return n
}

func printMemoryFleet(out io.Writer, title string, runs []memoryFleetResult) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "\n"+title+"\t"+strings.Join([]string{
		"Jobs", "jobs/s", "p50", "p99", "the direct, p99", "hub CPU per job", "to finish", "hub peak", "hub writes", "to finish", "hub reads",
		"worker writes", "worker reads", "workers used", "not counted",
	}, "\t"))
	for i := range runs {
		f := &runs[i]
		fmt.Fprintf(table, "%s\t%d\t%.1f\t%s\t%s\t%s of %d\t%.2f ms\t%.2f ms\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t%d\n",
			f.name, f.jobs, float64(f.jobs)/f.wall.Seconds(), quantile(f.waits, 0.5).Round(time.Millisecond),
			quantile(f.waits, 0.99).Round(time.Millisecond), quantile(f.direct, 0.99).Round(time.Millisecond), len(f.direct), f.cpu.Seconds()*1000/float64(f.jobs),
			f.endCPU.Seconds()*1000/float64(f.jobs), mebibytes(f.peak),
			perJob(f.writes, f.jobs), perJob(f.endWrites, f.jobs), perJob(f.reads, f.jobs), perJob(f.workerWrites, f.jobs), perJob(f.workerReads, f.jobs),
			f.workersUsed, f.elsewhere)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i := range runs {
		fmt.Fprintf(out, "%s: writes refused on the hub, for each Job: [%s], to finish [%s]\n", runs[i].name, runs[i].failed, runs[i].endFailed)
	}
	return nil
}
