package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// programName names the writer: Switchyard's program beside the cluster, the hub from afar, or none of ours.
func programName(w clusters.Write) (string, bool) {
	switch {
	case strings.HasPrefix(w.User, "switchyard-"):
		return strings.TrimPrefix(w.User, "switchyard-"), true
	case w.User == "system:serviceaccount:"+installation.Namespace+":"+installation.HubAccount:
		return "hub, from afar", true
	}
	return "", false
}

// costsBetween are the writes that Switchyard made on a cluster between two counts, failed ones marked as such.
func costsBetween(before, after []clusters.WriteCount) []cost {
	return differ(before, after, programName)
}

// writesBetween are all writes between two counts by user, except the Workloads that the runner created.
func writesBetween(before, after []clusters.WriteCount) []cost {
	return differ(before, after, func(w clusters.Write) (string, bool) {
		created := w.User == runnerUser && w.Verb == "create" && !w.Failed
		return w.User, !created
	})
}

func differ(before, after []clusters.WriteCount, by func(clusters.Write) (string, bool)) []cost {
	counts := map[clusters.Write]int{}
	for _, w := range after {
		counts[w.Write] += w.Count
	}
	for _, w := range before {
		counts[w.Write] -= w.Count
	}
	sums := map[cost]int{}
	for w, n := range counts {
		program, counted := by(w)
		if !counted || n == 0 {
			continue
		}
		verb := w.Verb
		if w.Failed {
			verb += " (failed)"
		}
		sums[cost{program: program, verb: verb, resource: w.Resource}] += n
	}
	var costs []cost
	for c, n := range sums {
		c.count = n
		costs = append(costs, c)
	}
	sortCosts(costs)
	return costs
}

// report prints the costs of one cluster per job, and their sum.
func report(out io.Writer, cluster string, costs []cost, jobs int) error {
	total := 0
	for _, c := range costs {
		total += c.count
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	lines := []string{fmt.Sprintf("%s\t\t\t%.2f", cluster, perJob(total, jobs))}
	for _, c := range costs {
		lines = append(lines, fmt.Sprintf("  %s\t%s\t%s\t%.2f", c.program, c.verb, c.resource, perJob(c.count, jobs)))
	}
	if _, err := fmt.Fprintln(table, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return table.Flush()
}

func perJob(n, jobs int) float64 { return float64(n) / float64(jobs) }
