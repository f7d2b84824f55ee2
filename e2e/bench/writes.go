package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// programOf names who made a write: Switchyard's program beside the cluster, the hub from afar, or nobody of ours.
func programOf(w clusters.Write) (string, bool) {
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
	counts := map[clusters.Write]int{}
	for _, w := range after {
		counts[w.Write] += w.Count
	}
	for _, w := range before {
		counts[w.Write] -= w.Count
	}
	var costs []cost
	for w, n := range counts {
		program, ours := programOf(w)
		if !ours || n == 0 {
			continue
		}
		verb := w.Verb
		if w.Failed {
			verb += " (failed)"
		}
		costs = append(costs, cost{program: program, verb: verb, resource: w.Resource, count: n})
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
