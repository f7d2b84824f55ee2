package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// writes is how often each kind of API write was made, by cluster in the order shown.
type writes []clusterWrites

type clusterWrites struct {
	cluster string
	counts  []clusters.WriteCount
}

func countWrites(stage *installation.Stage) (writes, error) {
	var all writes
	for _, site := range stage.Sites() {
		counts, err := site.WriteCounts()
		if err != nil {
			return nil, err
		}
		all = append(all, clusterWrites{cluster: site.Name, counts: counts})
	}
	return all, nil
}

// subtract is what was written after the earlier count.
func (w writes) subtract(before writes) writes {
	var all writes
	for i, now := range w {
		then := map[clusters.Write]int{}
		for _, c := range before[i].counts {
			then[c.Write] = c.Count
		}
		var counts []clusters.WriteCount
		for _, c := range now.counts {
			c.Count -= then[c.Write]
			if c.Count > 0 {
				counts = append(counts, c)
			}
		}
		all = append(all, clusterWrites{cluster: now.cluster, counts: counts})
	}
	return all
}

// program names a writer by its user: "hub", "worker"; Kubernetes' own and the user are summed up as "others".
func program(user string) string {
	switch {
	case user == "switchyard-hub" || strings.HasPrefix(user, "system:serviceaccount:"+installation.Namespace+":"):
		return "hub"
	case user == "switchyard-worker":
		return "worker"
	default:
		return "others"
	}
}

// lines is one line per cluster and program: writes per job, then the most frequent kinds.
func (w writes) lines(jobs int) [][]string {
	const named = 4
	var lines [][]string
	for _, c := range w {
		for _, who := range []string{"hub", "worker", "others"} {
			sum := 0
			kinds := map[string]int{}
			for _, count := range c.counts {
				if program(count.User) != who {
					continue
				}
				sum += count.Count
				resource, _, _ := strings.Cut(count.Resource, ".") // without the API group
				kind := count.Verb + " " + resource
				if count.Failed {
					kind += " (failed)"
				}
				kinds[kind] += count.Count
			}
			if sum > 0 {
				lines = append(lines, []string{c.cluster, who, perJob(sum, jobs), mostFrequent(kinds, named, jobs)})
			}
		}
	}
	return lines
}

func perJob(n, jobs int) string { return fmt.Sprintf("%.1f", float64(n)/float64(jobs)) }

func mostFrequent(kinds map[string]int, n, jobs int) string {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if kinds[a] != kinds[b] {
			return kinds[b] - kinds[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for i, name := range names {
		if i == n {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, name+" "+perJob(kinds[name], jobs))
	}
	return strings.Join(parts, ", ")
}

// summary is what the show came to.
type summary struct {
	rows   []row
	took   time.Duration
	waits  []time.Duration
	writes writes
}

func (s summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d jobs in %.0f s: %s\n", len(s.rows), s.took.Seconds(), counts(s.rows))
	for _, line := range s.countByCluster() {
		fmt.Fprintln(&b, "  "+line)
	}
	if len(s.waits) > 0 {
		waits := slices.Sorted(slices.Values(s.waits))
		fmt.Fprintf(&b, "submit to first pod running, waiting for GPUs included: median %.1f s, fastest %.1f s, slowest %.1f s\n",
			median(waits).Seconds(), waits[0].Seconds(), waits[len(waits)-1].Seconds())
	}
	fmt.Fprintln(&b, "API writes per job:")
	lines := append([][]string{{"CLUSTER", "BY", "WRITES", "MOST OF THEM"}}, s.writes.lines(len(s.rows))...)
	for _, line := range columns(lines) {
		fmt.Fprintln(&b, "  "+line)
	}
	return b.String()
}

// countByCluster is one line per cluster: "w1: 19 jobs (h100 14, l4 5)".
func (s summary) countByCluster() []string {
	jobs := map[string]int{}
	flavors := map[string]map[string]int{}
	for _, r := range s.rows {
		if r.Cluster == "" {
			continue
		}
		jobs[r.Cluster]++
		if flavors[r.Cluster] == nil {
			flavors[r.Cluster] = map[string]int{}
		}
		flavors[r.Cluster][r.Flavor]++
	}
	var lines []string
	for cluster, n := range jobs {
		var parts []string
		for flavor, n := range flavors[cluster] {
			parts = append(parts, fmt.Sprintf("%s %d", flavor, n))
		}
		slices.Sort(parts)
		lines = append(lines, fmt.Sprintf("%s: %d jobs (%s)", cluster, n, strings.Join(parts, ", ")))
	}
	slices.Sort(lines)
	return lines
}

// median of sorted values; of an even number the mean of the middle two.
func median(sorted []time.Duration) time.Duration {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
