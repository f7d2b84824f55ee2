package controller

import (
	"fmt"
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

// all the same terms, everywhere.
func agreed(terms placement.Terms) func(string, admission.Key) placement.Terms {
	return func(string, admission.Key) placement.Terms { return terms }
}

func TestThoseLookedAtLongestAgoAreWokenFirstAndNotAllAtOnce(t *testing.T) {
	const many = 2000
	s := &starving{}
	for i := range many {
		name := fmt.Sprintf("w%04d", i)
		since := noon.Add(-time.Duration(i) * time.Second)
		s.set(named(name), &starved{key: named(name), since: since, kept: []keptFrom{{"c1", 1}, {"c2", 1}}})
	}
	if due := s.due(noon, agreed(1)); len(due) != 0 {
		t.Fatalf("nothing has changed, but %d are woken", len(due))
	}
	due := s.due(noon, agreed(2))
	if len(due) != newsMost || due[0] != named("w1999") {
		t.Errorf("%d are woken at once, first %v", len(due), due[0])
	}
	woken := len(due)
	for len(due) > 0 {
		due = s.due(noon, agreed(2))
		woken += len(due)
	}
	if woken != many {
		t.Errorf("%d are woken in the end, of %d", woken, many)
	}
}

func TestTheTermsOfAQueueAreAskedForOnceForAll(t *testing.T) {
	s := &starving{}
	for i := range 100 {
		local := admission.Key{Namespace: "team", Name: fmt.Sprint(i % 2)}
		s.set(named(fmt.Sprint(i)), &starved{key: named(fmt.Sprint(i)), local: local, kept: []keptFrom{{"c1", 1}, {"c2", 1}}})
	}
	asked := map[string]int{}
	s.due(noon, func(cluster string, local admission.Key) placement.Terms {
		asked[cluster+" "+local.Name]++
		return 1
	})
	if diff := cmp.Diff(map[string]int{"c1 0": 1, "c1 1": 1, "c2 0": 1, "c2 1": 1}, asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
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
	if due := s.due(noon.Add(-time.Second), agreed(1)); len(due) != 0 {
		t.Error("too early")
	}
	if due := s.due(noon, agreed(1)); len(due) != 1 || len(s.all()) != 0 {
		t.Errorf("%v are woken, %d left", due, len(s.all()))
	}
}
