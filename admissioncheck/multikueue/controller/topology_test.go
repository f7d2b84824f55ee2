package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// placesLater is a stage whose hub leaves the places of the pods of two pod sets to the worker, and whose worker has the copy.
func placesLater(t *testing.T) *stage {
	t.Helper()
	st := newStage(t, "w1")
	st.enqueue()
	st.change(func(wl *kueue.Workload) {
		later := func(name kueue.PodSetReference) kueue.PodSetAssignment {
			return kueue.PodSetAssignment{Name: name, DelayedTopologyRequest: kueue.DelayedTopologyRequestStatePending}
		}
		workload.ReserveQuota(wl, &kueue.Admission{
			ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{later("main"), later("other"), {Name: "anywhere"}},
		}, []string{"mk"}, "reserved", time.Now())
		st.resolver.Prepare(context.Background(), wl, time.Now())
	})
	st.offered("w1")
	return st
}

// places lets the worker admit its copy, with places for the pods of some pod sets.
func (st *stage) places(podSets ...kueue.PodSetReference) {
	st.t.Helper()
	apply(st.t, st.workers["w1"], func(wl *kueue.Workload) {
		var list []kueue.PodSetAssignment
		for _, name := range []kueue.PodSetReference{"anywhere", "other", "main"} {
			a := kueue.PodSetAssignment{Name: name}
			if slices.Contains(podSets, name) {
				a.TopologyAssignment = &kueue.TopologyAssignment{Levels: []string{"rack"}}
			}
			list = append(list, a)
		}
		workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: list}, nil, "reserved", time.Now())
	})
}

// delayed renders the hub's requests for places, and whether it has admitted the Workload.
func (st *stage) delayed() string {
	wl := st.local()
	var parts []string
	for _, a := range wl.Status.Admission.PodSetAssignments {
		parts = append(parts, string(a.Name)+"="+string(a.DelayedTopologyRequest))
	}
	if workload.IsAdmitted(wl) {
		parts = append(parts, "admitted")
	}
	return strings.Join(parts, " ")
}

func TestPlacesThatTheWorkerHasFoundAreSettledInTheWriteThatSaysReady(t *testing.T) {
	st := placesLater(t)
	before := len(st.hubLog.snapshot())
	st.places("main", "other", "anywhere")
	st.eventually("settled", func() bool { return st.delayed() == "main=Ready other=Ready anywhere= admitted" })
	workloads := slices.DeleteFunc(st.hubLog.snapshot()[before:], func(call string) bool { return !strings.HasSuffix(call, "Workload") })
	if len(workloads) != 1 {
		t.Errorf("writes %v", workloads)
	}
}

func TestPlacesThatTheWorkerFindsLaterAreSettledThen(t *testing.T) {
	st := placesLater(t)
	st.places("main")
	st.eventually("Ready, and the job is there", func() bool {
		return st.check().State == kueue.CheckStateReady && st.jobOn("w1") != nil
	})
	if got := st.delayed(); got != "main=Ready other=Pending anywhere=" {
		t.Errorf("before the worker has found all places: %s", got)
	}
	st.places("main", "other")
	st.eventually("settled", func() bool { return st.delayed() == "main=Ready other=Ready anywhere= admitted" })
}
