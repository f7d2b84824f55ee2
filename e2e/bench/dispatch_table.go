package bench

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// tableLine is a line of the dispatch table.
type tableLine struct {
	name string
	of   func(*trafficResult) string
	// target of the project; stock and lifted are what was measured elsewhere for 500 Jobs at once on two workers: as shipped,
	// and with every client limit lifted. Empty for nothing.
	target, stock, lifted string
}

// printTable prints what the runs on one stage cost, a column each, beside targets and reference, and then the writes by
// user.
func printTable(out io.Writer, title string, runs []trafficResult) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	head := []string{title}
	for i := range runs {
		head = append(head, runs[i].traffic.name)
	}
	lines := []string{strings.Join(append(head, "target", "stock", "stock, no limits"), "\t")}
	for _, line := range tableLines() {
		cells := []string{line.name}
		for i := range runs {
			cells = append(cells, line.of(&runs[i]))
		}
		lines = append(lines, strings.Join(append(cells, line.target, line.stock, line.lifted), "\t"))
	}
	if _, err := fmt.Fprintln(table, strings.Join(lines, "\n")); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i := range runs {
		if err := runs[i].printRequests(out); err != nil {
			return err
		}
	}
	return nil
}

func tableLines() []tableLine {
	return []tableLine{
		{name: "jobs/s", of: func(f *trafficResult) string { return fmt.Sprintf("%.1f", f.ratePerSecond()) }, target: ">= 12 at once", stock: "1.2", lifted: "5.5"},
		{name: "created to resumed, p50", of: func(f *trafficResult) string { return seconds(quantile(f.waits, 0.5)) }, stock: "299 s", lifted: "62 s"},
		{name: "created to resumed, p99", of: func(f *trafficResult) string { return seconds(quantile(f.waits, 0.99)) }, target: "< 2 s at 6/s"},
		{name: "hub writes per job", of: ownPerJob(func(s *meterDifference) []cost { return s.hub }), target: "<= 8 in all"},
		{name: "worker writes per job, sum", of: ownPerJob(func(s *meterDifference) []cost { return s.workers }), target: "<= 8 in all"},
		{name: "hub reads per job", of: ownPerJob(func(s *meterDifference) []cost { return s.hubReads }), target: "< 2 in sum"},
		{name: "worker reads per job, sum", of: ownPerJob(func(s *meterDifference) []cost { return s.workerReads }), target: "< 2 in sum"},
		{name: "all writes and reads per job", of: allPerJob, lifted: "37 + 16, then 13"},
		{name: "hub program CPU per job", of: cpuPerJob(cpuHub), target: "<= 12 ms in all", lifted: "43 ms"},
		{name: "worker programs CPU per job", of: cpuPerJob(cpuWorkers), target: "<= 6 ms in all", lifted: "27 ms"},
		{name: "API servers' CPU per job", of: cpuPerJob(cpuServers), lifted: "254 ms"},
		{name: "runner CPU per job", of: cpuPerJob(cpuRunner)},
		{name: "hub program peak memory", of: func(f *trafficResult) string { return mebibytes(f.hubPeak) }},
		{name: "worker program peak memory", of: func(f *trafficResult) string { return mebibytes(f.workerPeak) }},
		{name: "first choice admitted", of: (*trafficResult).bestFitChoice, target: ">= 95 % at 80 %"},
		{name: "calls/s per idle running job", of: (*trafficResult).idleRate, target: "0"},
		{name: "Jobs seen on two workers", of: func(f *trafficResult) string { return fmt.Sprint(f.twice) }, target: "0"},
	}
}

func (f *trafficResult) ratePerSecond() float64 { return float64(f.traffic.jobs) / f.wall.Seconds() }

func (f *trafficResult) costPerJob(n int) float64 { return perJob(n, f.traffic.jobs) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// ownPerJob is what programs of the controller requested until all Jobs ran, and for their end. Where Jobs end while others
// begin the two are not told apart.
func ownPerJob(list func(*meterDifference) []cost) func(*trafficResult) string {
	return func(f *trafficResult) string {
		return fmt.Sprintf("%.2f + %.2f", f.costPerJob(sum(list(&f.dispatch))), f.costPerJob(sum(list(&f.finish))))
	}
}

func allPerJob(f *trafficResult) string {
	writes := func(s *meterDifference) int { return sum(s.hub) + sum(s.workers) + s.others }
	reads := sum(f.dispatch.hubReads) + sum(f.dispatch.workerReads)
	return fmt.Sprintf("%.1f + %.1f, then %.1f", f.costPerJob(writes(&f.dispatch)), f.costPerJob(reads), f.costPerJob(writes(&f.finish)))
}

func cpuPerJob(name string) func(*trafficResult) string {
	return func(f *trafficResult) string {
		millis := func(s *meterDifference) float64 { return s.cpu[name].Seconds() * 1000 / float64(f.traffic.jobs) }
		return fmt.Sprintf("%.1f + %.1f ms", millis(&f.dispatch), millis(&f.finish))
	}
}

func (f *trafficResult) bestFitChoice() string {
	if f.single == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %% of %d", 100*float64(f.chosen)/float64(f.single), f.single)
}

func (f *trafficResult) idleRate() string {
	if f.traffic.idle == 0 {
		return "-"
	}
	calls := 0
	for _, list := range [][]cost{f.idle.hub, f.idle.workers, f.idle.hubReads, f.idle.workerReads} {
		calls += sum(list)
	}
	perSecond := float64(calls) / f.traffic.idle.Seconds()
	return fmt.Sprintf("%.4f (%.2f/s in all)", perSecond/float64(f.traffic.jobs), perSecond)
}

// printRequests prints the requests by user, per job, until all ran and for their end.
func (f *trafficResult) printRequests(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	lines := []string{f.nameLabel() + ": requests per job, to run + to finish"}
	for _, part := range []struct {
		where   string
		of, end []cost
	}{
		{"hub", f.dispatch.hub, f.finish.hub}, {"hub, reads", f.dispatch.hubReads, f.finish.hubReads},
		{"workers", f.dispatch.workers, f.finish.workers}, {"workers, reads", f.dispatch.workerReads, f.finish.workerReads},
		{"while idle", merged(f.idle.hub, f.idle.hubReads, f.idle.workers, f.idle.workerReads), nil},
	} {
		for _, c := range pairCounts(part.of, part.end) {
			lines = append(lines, fmt.Sprintf("  %s\t%s\t%s\t%s\t%.2f + %.2f", part.where, c.program, c.verb, c.resource,
				f.costPerJob(c.count), f.costPerJob(c.later)))
		}
	}
	if _, err := fmt.Fprintln(table, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return table.Flush()
}

// requestCount is a kind of request with its number at first and later.
type requestCount struct {
	cost
	later int
}

func pairCounts(first, then []cost) []requestCount {
	counts := map[cost]int{}
	for _, c := range then {
		n := c.count
		c.count = 0
		counts[c] = n
	}
	var all []requestCount
	for _, c := range merged(first, then) {
		kind := c
		kind.count = 0
		all = append(all, requestCount{cost: c, later: counts[kind]})
		all[len(all)-1].count -= counts[kind]
	}
	return all
}

// dispatcherNamed is the name by which the Configuration knows a dispatcher.
func dispatcherNamed(short string) string {
	return cmp.Or(map[string]string{"AllAtOnce": kueue.AllAtOnceDispatcherName, "BestFit": switchyard.BestFitDispatcherName}[short], short)
}
