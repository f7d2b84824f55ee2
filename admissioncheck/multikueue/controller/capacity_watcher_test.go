package controller

import (
	"testing"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestWhichWorkloadsAreRequeuedForChangedCapacity(t *testing.T) {
	kept := []tracker.Ineligible{{Cluster: "c1", Terms: 1}}
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
		"who has several pod sets, now and then so": {workloadScope{ineligible: kept}, true, noon.Add(tracker.PodSetsRecheckInterval)},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.subject
			s.original.Workload, s.policy.Dispatcher, s.observed.Now = sets(1), dispatch.BestFit, noon
			if !tc.anyway.IsZero() {
				s.original.Workload = sets(2)
			}
			is := newUnplaced(&s)
			if (is != nil) != tc.want || is != nil && !is.RecheckAt.Equal(tc.anyway) {
				t.Errorf("%+v", is)
			}
		})
	}
}
