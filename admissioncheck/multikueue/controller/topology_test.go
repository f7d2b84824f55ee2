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

// newDelayedTopologyEnv is a stage whose hub leaves the places of the pods of two pod sets to the worker, and whose worker has the copy.
func newDelayedTopologyEnv(t *testing.T) *testEnv {
	t.Helper()
	st := newTestEnv(t, "w1")
	st.enqueue()
	st.updateStatus(func(wl *kueue.Workload) {
		later := func(name kueue.PodSetReference) kueue.PodSetAssignment {
			return kueue.PodSetAssignment{Name: name, DelayedTopologyRequest: kueue.DelayedTopologyRequestStatePending}
		}
		workload.ReserveQuota(wl, &kueue.Admission{
			ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{later("main"), later("other"), {Name: "anywhere"}},
		}, []string{"mk"}, "reserved", time.Now())
		st.reconciler.NominateClusters(context.Background(), wl, time.Now())
	})
	st.waitOffered("w1")
	return st
}

// assignTopology lets the worker admit its copy, with places for the pods of some pod sets.
func (st *testEnv) assignTopology(podSets ...kueue.PodSetReference) {
	st.t.Helper()
	updateWorkloadStatus(st.t, st.workers["w1"], func(wl *kueue.Workload) {
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

// formatDelayedTopology renders the hub's requests for places, and whether it has admitted the Workload.
func (st *testEnv) formatDelayedTopology() string {
	wl := st.hubWorkload()
	var parts []string
	for _, a := range wl.Status.Admission.PodSetAssignments {
		parts = append(parts, string(a.Name)+"="+string(a.DelayedTopologyRequest))
	}
	if workload.IsAdmitted(wl) {
		parts = append(parts, "admitted")
	}
	return strings.Join(parts, " ")
}

func TestTopologyAssignmentsAreRecordedInTheWriteThatSaysReady(t *testing.T) {
	st := newDelayedTopologyEnv(t)
	before := len(st.hubLog.snapshot())
	st.assignTopology("main", "other", "anywhere")
	st.eventually("settled", func() bool { return st.formatDelayedTopology() == "main=Ready other=Ready anywhere= admitted" })
	workloads := slices.DeleteFunc(st.hubLog.snapshot()[before:], func(call string) bool { return !strings.HasSuffix(call, "Workload") })
	if len(workloads) != 1 {
		t.Errorf("writes %v", workloads)
	}
}

func TestLaterTopologyAssignmentsAreRecordedThen(t *testing.T) {
	st := newDelayedTopologyEnv(t)
	st.assignTopology("main")
	st.eventually("Ready, and the job is there", func() bool {
		return st.checkState().State == kueue.CheckStateReady && st.jobOn("w1") != nil
	})
	if got := st.formatDelayedTopology(); got != "main=Ready other=Pending anywhere=" {
		t.Errorf("before the worker has found all places: %s", got)
	}
	st.assignTopology("main", "other")
	st.eventually("settled", func() bool { return st.formatDelayedTopology() == "main=Ready other=Ready anywhere= admitted" })
}
