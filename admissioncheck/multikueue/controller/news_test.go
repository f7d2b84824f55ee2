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

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: name}
}

func (s *starving) all() []*starved {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.keys))
}

// dueAt asks who is due where all terms are the same, everywhere, and the capacities are new.
func (s *starving) dueAt(now time.Time, terms placement.Terms) []types.NamespacedName {
	return s.due(now, func(string) *placement.Capacity { return &placement.Capacity{At: now} },
		func(string, *placement.Capacity, admission.Key) placement.Terms { return terms })
}

func TestThoseLookedAtLongestAgoAreWokenFirstAndNotAllAtOnce(t *testing.T) {
	const many = 2000
	s := &starving{}
	for i := range many {
		name := fmt.Sprintf("w%04d", i)
		since := noon.Add(-time.Duration(i) * time.Second)
		s.set(named(name), &starved{key: named(name), since: since, kept: []keptFrom{{"c1", 1}, {"c2", 1}}})
	}
	if due := s.dueAt(noon, 1); len(due) != 0 {
		t.Fatalf("nothing has changed, but %d are woken", len(due))
	}
	due := s.dueAt(noon, 2)
	if len(due) != newsMost || due[0] != named("w1999") {
		t.Errorf("%d are woken at once, first %v", len(due), due[0])
	}
	woken := len(due)
	for len(due) > 0 {
		due = s.dueAt(noon, 2)
		woken += len(due)
	}
	if woken != many {
		t.Errorf("%d are woken in the end, of %d", woken, many)
	}
}

func TestTermsAreAskedForOnceForAllAndOnlyWhereSomethingIsNew(t *testing.T) {
	s := &starving{}
	enter := func(name, local string, terms placement.Terms) {
		is := &starved{key: named(name), local: admission.Key{Namespace: "team", Name: local}, kept: []keptFrom{{"c1", terms}, {"c2", 1}}}
		s.set(is.key, is)
	}
	for i := range 100 {
		enter(fmt.Sprint(i), fmt.Sprint(i%2), 1)
	}
	has := map[string]*placement.Capacity{"c1": {At: noon}, "c2": {At: noon}}
	look := func(what string, due int, want map[string]int) {
		t.Helper()
		asked := map[string]int{}
		got := s.due(noon, func(cluster string) *placement.Capacity { return has[cluster] },
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

func TestWhoIsNoMoreLeavesNothingBehind(t *testing.T) {
	s := &starving{}
	for _, name := range []string{"a", "b"} {
		s.set(named(name), &starved{key: named(name), anyway: noon, kept: []keptFrom{{"c1", 1}, {"c2", 1}}})
	}
	s.set(named("a"), nil)
	if len(s.by["c1"].kept) != 1 || len(s.timed) != 1 {
		t.Errorf("%+v, %+v", s.by["c1"], s.timed)
	}
	s.set(named("b"), &starved{key: named("b"), kept: []keptFrom{{"c2", 1}}})
	if len(s.by) != 1 || len(s.timed) != 0 {
		t.Errorf("%+v, %+v", s.by, s.timed)
	}
	s.set(named("b"), nil)
	if len(s.by) != 0 || len(s.keys) != 0 {
		t.Errorf("%+v, %+v", s.by, s.keys)
	}
}

func TestWhomNewsOfCapacityConcern(t *testing.T) {
	kept := []keptFrom{{"c1", 1}}
	sets := func(n int) *kueue.Workload {
		return &kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: make([]kueue.PodSet, n)}}
	}
	for name, tc := range map[string]struct {
		subject subject
		want    bool
		anyway  time.Time
	}{
		"who has no offer":                          {subject{kept: kept}, true, time.Time{}},
		"who has one elsewhere":                     {subject{kept: kept, state: dispatch.State{Nominated: []string{"c2"}}}, true, time.Time{}},
		"not who could be offered everywhere":       {subject{}, false, time.Time{}},
		"not who has a cluster":                     {subject{kept: kept, state: dispatch.State{Bound: "c2"}}, false, time.Time{}},
		"who has several pod sets, now and then so": {subject{kept: kept}, true, noon.Add(newsAnyway)},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.subject
			s.original.Workload, s.policy.Dispatcher, s.observed.Now = sets(1), dispatch.BestFit, noon
			if !tc.anyway.IsZero() {
				s.original.Workload = sets(2)
			}
			is := starvedOf(&s)
			if (is != nil) != tc.want || is != nil && !is.anyway.Equal(tc.anyway) {
				t.Errorf("%+v", is)
			}
		})
	}
	s := &starving{}
	s.set(named("a"), &starved{key: named("a"), anyway: noon, kept: kept})
	if due := s.dueAt(noon.Add(-time.Second), 1); len(due) != 0 {
		t.Error("too early")
	}
	if due := s.dueAt(noon, 1); len(due) != 1 || len(s.keys) != 0 {
		t.Errorf("%v are woken, %d left", due, len(s.keys))
	}
}
