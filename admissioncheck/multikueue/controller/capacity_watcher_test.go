package controller

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func teamKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: name}
}

func (s *unplacedWorkloads) list() []*unplacedWorkload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.workloads))
}

// popDueAt asks who is due where all terms are the same, everywhere, and the capacities are new.
func (s *unplacedWorkloads) popDueAt(now time.Time, terms placement.Terms) []types.NamespacedName {
	return s.popDue(now, func(string) *placement.Capacity { return &placement.Capacity{At: now} },
		func(string, *placement.Capacity, admission.Key) placement.Terms { return terms })
}

func TestUnplacedWorkloadsAreRequeuedOldestFirstAndNotAllAtOnce(t *testing.T) {
	const many = 2000
	s := &unplacedWorkloads{}
	for i := range many {
		name := fmt.Sprintf("w%04d", i)
		since := noon.Add(-time.Duration(i) * time.Second)
		s.update(teamKey(name), &unplacedWorkload{key: teamKey(name), decidedAt: since, ineligible: []ineligibleCluster{{"c1", 1}, {"c2", 1}}})
	}
	if due := s.popDueAt(noon, 1); len(due) != 0 {
		t.Fatalf("nothing has changed, but %d are woken", len(due))
	}
	due := s.popDueAt(noon, 2)
	if len(due) != maxCapacityRequeues || due[0] != teamKey("w1999") {
		t.Errorf("%d are woken at once, first %v", len(due), due[0])
	}
	woken := len(due)
	for len(due) > 0 {
		due = s.popDueAt(noon, 2)
		woken += len(due)
	}
	if woken != many {
		t.Errorf("%d are woken in the end, of %d", woken, many)
	}
}

func TestTermsAreComparedOncePerQueueAndOnlyAfterAChange(t *testing.T) {
	s := &unplacedWorkloads{}
	enter := func(name, local string, terms placement.Terms) {
		is := &unplacedWorkload{key: teamKey(name), localQueue: admission.Key{Namespace: "team", Name: local}, ineligible: []ineligibleCluster{{"c1", terms}, {"c2", 1}}}
		s.update(is.key, is)
	}
	for i := range 100 {
		enter(fmt.Sprint(i), fmt.Sprint(i%2), 1)
	}
	has := map[string]*placement.Capacity{"c1": {At: noon}, "c2": {At: noon}}
	look := func(what string, due int, want map[string]int) {
		t.Helper()
		asked := map[string]int{}
		got := s.popDue(noon, func(cluster string) *placement.Capacity { return has[cluster] },
			func(cluster string, c *placement.Capacity, local admission.Key) placement.Terms {
				if c != has[cluster] {
					t.Errorf("%s: the terms of another capacity are asked for", what)
				}
				asked[cluster+" "+local.Name]++
				return 1
			})
		if diff := cmp.Diff(want, asked); diff != "" || len(got) != due {
			t.Errorf("%s: %d are woken (-want +got):\n%s", what, len(got), diff)
		}
	}
	look("at first", 0, map[string]int{"c1 0": 1, "c1 1": 1, "c2 0": 1, "c2 1": 1})
	look("nothing is new", 0, map[string]int{})
	has["c2"] = &placement.Capacity{At: noon}
	look("a cluster has reported", 0, map[string]int{"c2 0": 1, "c2 1": 1})
	enter("more of the same", "1", 1)
	look("somebody is kept by the terms that were compared", 0, map[string]int{})
	enter("behind", "1", 7)
	look("somebody was kept by what is over", 1, map[string]int{"c1 1": 1})
	enter("new", "2", 1)
	look("a queue that nobody waited in", 0, map[string]int{"c1 2": 1, "c2 2": 1})
}

func TestRemovedUnplacedWorkloadsLeaveNothingBehind(t *testing.T) {
	s := &unplacedWorkloads{}
	for _, name := range []string{"a", "b"} {
		s.update(teamKey(name), &unplacedWorkload{key: teamKey(name), recheckAt: noon, ineligible: []ineligibleCluster{{"c1", 1}, {"c2", 1}}})
	}
	s.update(teamKey("a"), nil)
	if len(s.clusters["c1"].workloads) != 1 || len(s.rechecks) != 1 {
		t.Errorf("%+v, %+v", s.clusters["c1"], s.rechecks)
	}
	s.update(teamKey("b"), &unplacedWorkload{key: teamKey("b"), ineligible: []ineligibleCluster{{"c2", 1}}})
	if len(s.clusters) != 1 || len(s.rechecks) != 0 {
		t.Errorf("%+v, %+v", s.clusters, s.rechecks)
	}
	s.update(teamKey("b"), nil)
	if len(s.clusters) != 0 || len(s.workloads) != 0 {
		t.Errorf("%+v, %+v", s.clusters, s.workloads)
	}
}

func TestWhichWorkloadsAreRequeuedForChangedCapacity(t *testing.T) {
	kept := []ineligibleCluster{{"c1", 1}}
	sets := func(n int) *kueue.Workload {
		return &kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: make([]kueue.PodSet, n)}}
	}
	for name, tc := range map[string]struct {
		subject workloadScope
		want    bool
		anyway  time.Time
	}{
		"who has no offer":                          {workloadScope{ineligible: kept}, true, time.Time{}},
		"who has one elsewhere":                     {workloadScope{ineligible: kept, state: dispatch.State{Nominated: []string{"c2"}}}, true, time.Time{}},
		"not who could be offered everywhere":       {workloadScope{}, false, time.Time{}},
		"not who has a cluster":                     {workloadScope{ineligible: kept, state: dispatch.State{Bound: "c2"}}, false, time.Time{}},
		"who has several pod sets, now and then so": {workloadScope{ineligible: kept}, true, noon.Add(podSetsRecheckInterval)},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.subject
			s.original.Workload, s.policy.Dispatcher, s.observed.Now = sets(1), dispatch.BestFit, noon
			if !tc.anyway.IsZero() {
				s.original.Workload = sets(2)
			}
			is := newUnplacedWorkload(&s)
			if (is != nil) != tc.want || is != nil && !is.recheckAt.Equal(tc.anyway) {
				t.Errorf("%+v", is)
			}
		})
	}
	s := &unplacedWorkloads{}
	s.update(teamKey("a"), &unplacedWorkload{key: teamKey("a"), recheckAt: noon, ineligible: kept})
	if due := s.popDueAt(noon.Add(-time.Second), 1); len(due) != 0 {
		t.Error("too early")
	}
	if due := s.popDueAt(noon, 1); len(due) != 1 || len(s.workloads) != 0 {
		t.Errorf("%v are woken, %d left", due, len(s.workloads))
	}
}
