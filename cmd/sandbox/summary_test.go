package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/e2e/clusters"
)

func TestTheSummarySaysWhereJobsRanAndWhatTheyCost(t *testing.T) {
	write := func(user, verb, resource string, n int) clusters.WriteCount {
		return clusters.WriteCount{Write: clusters.Write{User: user, Verb: verb, Resource: resource}, Count: n}
	}
	before := writes{{"home", []clusters.WriteCount{write("switchyard-hub", "patch", "workloads/status.kueue.x-k8s.io", 4)}}, {"w1", nil}}
	after := writes{
		{"home", []clusters.WriteCount{
			write("switchyard-hub", "patch", "workloads/status.kueue.x-k8s.io", 10),
			write("switchyard-hub", "create", "workloads.kueue.x-k8s.io", 3),
			write("admin", "create", "jobs.batch", 3),
		}},
		{"w1", []clusters.WriteCount{write("system:serviceaccount:kueue-system:switchyard-hub", "create", "jobs.batch", 3)}},
	}
	s := summary{
		rows: []row{
			{State: finished, Cluster: "w1", Flavor: "h100"},
			{State: finished, Cluster: "w1", Flavor: "l4"},
			{State: finished, Cluster: "w2", Flavor: "a100"},
		},
		took:   90 * time.Second,
		waits:  []time.Duration{3 * time.Second, time.Second, 10 * time.Second},
		writes: after.subtract(before),
	}
	want := `3 jobs in 90 s: 3 finished
  w1: 2 jobs (h100 1, l4 1)
  w2: 1 jobs (a100 1)
submit to first pod running, waiting for GPUs included: median 3.0 s, fastest 1.0 s, slowest 10.0 s
API writes per job:
  CLUSTER  BY      WRITES  MOST OF THEM
  home     hub     3.0     patch workloads/status 2.0, create workloads 1.0
  home     others  1.0     create jobs 1.0
  w1       hub     1.0     create jobs 1.0
`
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheMedianOfAnEvenNumberLiesBetweenTheMiddleTwo(t *testing.T) {
	if got := median([]time.Duration{1, 2, 4, 9}); got != 3 {
		t.Errorf("median is %d, want 3", got)
	}
}
