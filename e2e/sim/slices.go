package sim

import (
	"strconv"
	"strings"
	"time"

	"switchyard.dev/worker/job/elastic"
)

// The slices of elastic jobs (contract: job-kinds.md 15): Workloads that take over from each other when the job is scaled. One GPU is one pod.

// slicePlace is what a Workload, or its copy, is among the slices of an elastic job; the zero value is the only Workload of a job.
type slicePlace struct {
	elastic bool
	// chain is the name that all slices have in common, and replaces that of the slice from which it takes over, empty for the first.
	chain, replaces string
	// number tells which was made later.
	number int64
}

// claimsPlaceOf reports whether it says that it takes over from a slice of that name and place.
func (s slicePlace) claimsPlaceOf(name string, older slicePlace) bool {
	return s.elastic && older.elastic && s.replaces == name && s.chain == older.chain && s.number >= older.number
}

// jobOf is the name of a Workload's job: slices are named after it, with a number behind a dot.
func jobOf(name string) string {
	job, _, _ := strings.Cut(name, ".")
	return job
}

func sliceName(job string, number int64) string {
	if number == 1 {
		return job
	}
	return job + "." + strconv.FormatInt(number, 10)
}

// podCounts are so many pods in the words of package elastic.
func podCounts(gpu int64) []elastic.Count {
	return []elastic.Count{{Name: podSetName, Pods: int32(gpu)}}
}

const podSetName = "main"

// creationTime orders slices for package elastic.
func (s slicePlace) creationTime() time.Time { return time.Unix(s.number, 0) }

// resolveSlices puts names in the place of j1~ (the newest slice of the job j1) and j1~1 (the one before that), and so on.
func (w *hubCluster) resolveSlices(line string) string {
	if !strings.Contains(line, "~") {
		return line
	}
	words := strings.Fields(line)
	for i, word := range words {
		job, back, found := strings.Cut(word, "~")
		if !found {
			continue
		}
		n, _ := strconv.Atoi(back)
		words[i] = job
		if all := w.hub.slicesOf(job); len(all) > 0 {
			words[i] = all[max(len(all)-1-n, 0)].name
		}
	}
	return strings.Join(words, " ")
}
