package capacity

import (
	"encoding/json"
	"fmt"
	"slices"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// maxReportBytes is the most bytes that a report may have: etcd takes no request of more than 1.5 MiB, and the API server adds
// to the object.
const maxReportBytes = 1 << 20

// reductions are what is left out of a report that is too large, one after the other until it is small enough.
var reductions = []struct {
	name   string
	reduce func(*switchyard.CapacityReport)
}{
	{switchyard.OmittedPreempting, func(r *switchyard.CapacityReport) {
		forEachQueue(r, func(q *switchyard.CapacityQueue) {
			q.Groups = slices.Clone(q.Groups)
			for g := range q.Groups {
				q.Groups[g].Flavors = slices.Clone(q.Groups[g].Flavors)
				for f := range q.Groups[g].Flavors {
					q.Groups[g].Flavors[f].Preempting = nil
				}
			}
		})
	}},
	{switchyard.OmittedWaiting, func(r *switchyard.CapacityReport) {
		forEachQueue(r, func(q *switchyard.CapacityQueue) { q.Waiting = nil })
	}},
	{switchyard.OmittedClusterQueues, func(r *switchyard.CapacityReport) { r.ClusterQueues, r.Flavors = nil, nil }},
}

func forEachQueue(r *switchyard.CapacityReport, change func(*switchyard.CapacityQueue)) {
	r.ClusterQueues = slices.Clone(r.ClusterQueues)
	for i := range r.ClusterQueues {
		change(&r.ClusterQueues[i])
	}
}

// encodeReport is the report as it is sent, without what would make it too large, and what that is. The report is not changed.
func encodeReport(is *switchyard.CapacityReport) (data []byte, omitted []string, err error) {
	sent := *is
	for next := 0; ; next++ {
		if data, err = json.Marshal(&sent); err != nil {
			return nil, nil, fmt.Errorf("encode the capacity report: %w", err)
		}
		if len(data) <= maxReportBytes || next == len(reductions) {
			return data, sent.Omitted, nil
		}
		reductions[next].reduce(&sent)
		sent.Omitted = append(slices.Clone(sent.Omitted), reductions[next].name)
	}
}
