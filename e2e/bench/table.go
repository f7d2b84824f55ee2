package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// printResults prints what the controllers of one run needed for a load, beside the reference and the targets. Figures
// that depend on the size of the load are compared only when it was run as a whole.
func printResults(out io.Writer, l load, whole bool, results []result) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	sheet := &resultTable{load: l, whole: whole, results: results}
	lines := append([]string{sheet.title()}, sheet.lines()...)
	if _, err := fmt.Fprintln(table, strings.Join(lines, "\n")); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if err := printWrites(out, r, l.workloads()); err != nil {
			return err
		}
	}
	return nil
}

type resultTable struct {
	load    load
	whole   bool
	results []result
}

func (s *resultTable) title() string {
	cells := []string{""}
	for _, r := range s.results {
		cells = append(cells, r.controller)
	}
	if s.load.reference != nil {
		cells = append(cells, "stock, measured", "ratio", "target")
	}
	return strings.Join(cells, "\t")
}

// row is a line of the sheet: a figure of each result, the reference and the target for it.
func (s *resultTable) row(name string, of func(result) float64, format string, stock float64, target string) string {
	cells := []string{name}
	for _, r := range s.results {
		cells = append(cells, fmt.Sprintf(format, of(r)))
	}
	if s.load.reference != nil && stock > 0 {
		ratio := of(s.results[0]) / stock
		cells = append(cells, fmt.Sprintf(format, stock), fmt.Sprintf("%.2f", ratio), target)
	}
	return strings.Join(cells, "\t")
}

func (s *resultTable) lines() []string {
	var ref stockReference
	if s.load.reference != nil {
		ref = *s.load.reference
	}
	sized := ref
	if !s.whole {
		sized = stockReference{}
	}
	n := float64(s.load.workloads())
	lines := []string{
		s.row("wall time", func(r result) float64 { return r.wall.Seconds() }, "%.1f s", sized.wall.Seconds(), sized.target["wall"]),
		s.row("workloads/s", func(r result) float64 { return n / r.wall.Seconds() }, "%.1f", ref.rate, ""),
		s.row("wall / ideal by quota", func(r result) float64 { return r.wall.Seconds() / s.load.ideal().Seconds() }, "%.2f",
			sized.wall.Seconds()/s.load.ideal().Seconds(), ""),
	}
	for i, c := range s.load.classes {
		lines = append(lines,
			s.row("to admission, "+c.name+", average", func(r result) float64 { return average(r.waits[i]).Seconds() }, "%.2f s",
				sized.admission[c.name].Seconds(), sized.target[c.name]),
			s.row("to admission, "+c.name+", p99", func(r result) float64 { return quantile(r.waits[i], 0.99).Seconds() }, "%.2f s", 0, ""))
	}
	lines = append(lines,
		s.row("API writes per workload", func(r result) float64 { return float64(r.total("")) / n }, "%.2f", ref.writes, ref.target["writes"]),
		s.row("  the controller's own", func(r result) float64 { return float64(r.total(r.user)) / n }, "%.2f", 0, ""),
		s.row("controller CPU per workload", perWorkload(programOwn, n), "%.2f ms", ref.millis, ref.target["millis"]),
		s.row("controller peak memory", func(r result) float64 { return float64(r.peak) / (1 << 20) }, "%.0f MiB", sized.mebibytes, sized.target["mebibytes"]),
		s.row("evictions per 1000 workloads", func(r result) float64 { return 1000 * float64(r.evictions) / n }, "%.1f", 0, ""),
	)
	for _, program := range []string{"kube-apiserver", "etcd", "runner"} {
		lines = append(lines, s.row(program+" CPU per workload", perWorkload(program, n), "%.2f ms", 0, ""))
	}
	return lines
}

func perWorkload(program string, n float64) func(result) float64 {
	return func(r result) float64 { return r.cpu[program].Seconds() * 1000 / n }
}

func average(list []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	return sum / time.Duration(max(len(list), 1))
}

// total counts a user's writes, and those of all users for the empty name.
func (r result) total(user string) int {
	sum := 0
	for _, c := range r.writes {
		if user == "" || c.program == user {
			sum += c.count
		}
	}
	return sum
}

func printWrites(out io.Writer, r result, workloads int) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	lines := []string{"writes per workload with " + r.controller + " (the runner's creations left out)"}
	for _, c := range r.writes {
		lines = append(lines, fmt.Sprintf("  %s\t%s\t%s\t%.3f", c.program, c.verb, c.resource, perJob(c.count, workloads)))
	}
	if _, err := fmt.Fprintln(table, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return table.Flush()
}
