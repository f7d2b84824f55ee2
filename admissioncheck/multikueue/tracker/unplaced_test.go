package tracker

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
)

// batch is how many are taken out at a time.
const batch = 100

// popDue takes out the Workloads that some change concerns, as the capacity watcher does.
func (t *Tracker) popDue(
	now time.Time, capacity func(string) *placement.Capacity, terms func(string, *placement.Capacity, admission.Key) placement.Terms,
) []admission.Key {
	affected := t.Unplaced().Overdue(now)
	for _, name := range t.Unplaced().IneligibleClusters() {
		has := capacity(name)
		for _, queue := range t.Unplaced().UncomparedQueues(name, has) {
			affected = append(affected, t.Unplaced().ChangedTerms(name, queue, terms(name, has, queue))...)
		}
	}
	return t.Unplaced().Pop(affected, batch)
}

// popAll is popDue where all terms are the same, everywhere, and the capacities are new.
func (t *Tracker) popAll(now time.Time, terms placement.Terms) []admission.Key {
	return t.popDue(now, func(string) *placement.Capacity { return &placement.Capacity{At: now} },
		func(string, *placement.Capacity, admission.Key) placement.Terms { return terms })
}

func TestUnplacedWorkloadsAreRequeuedOldestFirstAndNotAllAtOnce(t *testing.T) {
	const many = 2000
	s := New(time.Minute)
	for i := range many {
		name := fmt.Sprintf("w%04d", i)
		since := noon.Add(-time.Duration(i) * time.Second)
		s.Unplaced().Set(teamKey(name), &Unplaced{Key: teamKey(name), DecidedAt: since, Ineligible: []Ineligible{{"c1", 1}, {"c2", 1}}})
	}
	if due := s.popAll(noon, 1); len(due) != 0 {
		t.Fatalf("nothing has changed, but %d are woken", len(due))
	}
	due := s.popAll(noon, 2)
	if len(due) != batch || due[0] != teamKey("w1999") {
		t.Errorf("%d are woken at once, first %v", len(due), due[0])
	}
	woken := len(due)
	for len(due) > 0 {
		due = s.popAll(noon, 2)
		woken += len(due)
	}
	if woken != many {
		t.Errorf("%d are woken in the end, of %d", woken, many)
	}
}

func TestTermsAreComparedOncePerQueueAndOnlyAfterAChange(t *testing.T) {
	s := New(time.Minute)
	enter := func(name, local string, terms placement.Terms) {
		is := &Unplaced{Key: teamKey(name), LocalQueue: teamKey(local), Ineligible: []Ineligible{{"c1", terms}, {"c2", 1}}}
		s.Unplaced().Set(is.Key, is)
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
	look("a workload is kept by the terms that were compared", 0, map[string]int{})
	enter("behind", "1", 7)
	look("a workload was kept by what is over", 1, map[string]int{"c1 1": 1})
	enter("new", "2", 1)
	look("a queue that no workload waited in", 0, map[string]int{"c1 2": 1, "c2 2": 1})
}

func TestRemovedUnplacedWorkloadsLeaveNothingBehind(t *testing.T) {
	s := New(time.Minute)
	for _, name := range []string{"a", "b"} {
		s.Unplaced().Set(teamKey(name), &Unplaced{Key: teamKey(name), RecheckAt: noon, Ineligible: []Ineligible{{"c1", 1}, {"c2", 1}}})
	}
	s.Unplaced().Set(teamKey("a"), nil)
	if len(s.unplaced.clusters["c1"].workloads) != 1 || len(s.unplaced.rechecks) != 1 {
		t.Errorf("%+v, %+v", s.unplaced.clusters["c1"], s.unplaced.rechecks)
	}
	s.Unplaced().Set(teamKey("b"), &Unplaced{Key: teamKey("b"), Ineligible: []Ineligible{{"c2", 1}}})
	if len(s.unplaced.clusters) != 1 || len(s.unplaced.rechecks) != 0 {
		t.Errorf("%+v, %+v", s.unplaced.clusters, s.unplaced.rechecks)
	}
	s.Unplaced().Set(teamKey("b"), nil)
	if len(s.unplaced.clusters) != 0 || len(s.unplaced.workloads) != 0 {
		t.Errorf("%+v, %+v", s.unplaced.clusters, s.unplaced.workloads)
	}
}

func TestAWorkloadIsDecidedAgainWhenItsRecheckIsDue(t *testing.T) {
	tr := New(time.Minute)
	tr.Unplaced().Set(teamKey("a"), &Unplaced{Key: teamKey("a"), RecheckAt: noon, Ineligible: []Ineligible{{"c1", 1}}})
	if due := tr.popAll(noon.Add(-time.Second), 1); len(due) != 0 {
		t.Error("too early")
	}
	if due := tr.popAll(noon, 1); len(due) != 1 || len(tr.unplaced.workloads) != 0 {
		t.Errorf("%v are due, %d left", due, len(tr.unplaced.workloads))
	}
}
