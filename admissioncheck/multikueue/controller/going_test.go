package controller

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// deleteWorkload asks for the Workload to be deleted, which its job's finalizer holds up.
func (st *stage) deleteWorkload() {
	st.t.Helper()
	wl := st.local()
	before := wl.DeepCopy()
	wl.Finalizers = []string{kueue.ResourceInUseFinalizer}
	if err := st.hub.Patch(st.t.Context(), wl, client.MergeFrom(before)); err != nil {
		st.t.Fatal(err)
	}
	if err := st.hub.Delete(st.t.Context(), wl); err != nil {
		st.t.Fatal(err)
	}
}

// mayGo reports whether nothing is on record any more that may run the job of the Workload.
func (st *stage) mayGo() bool {
	wl := st.local()
	return wl.Status.ClusterName == nil && !meta.IsStatusConditionTrue(wl.Status.Conditions, switchyard.DispatchCondition)
}

// goes waits until the hub's job shows no pods and the Workload may go.
func (st *stage) goes() {
	st.t.Helper()
	st.eventually("the hub's job shows no pods", func() bool { return st.localJob().Status.Active == 0 })
	st.enqueueAll() // as the watch of jobs does
	st.eventually("the workload may go", st.mayGo)
}

// runsActively has the job run on a worker, and the hub see its pods.
func (st *stage) runsActively(worker string) {
	st.t.Helper()
	st.submit()
	st.runsOn(worker)
	j := st.localJob()
	j.Status.Active = 1
	if err := st.hub.Status().Update(st.t.Context(), j); err != nil {
		st.t.Fatal(err)
	}
}

func TestTheRecordIsFoundByThoseWhoWaitForIt(t *testing.T) {
	if dispatch.ConditionType != switchyard.DispatchCondition {
		t.Errorf("%s and %s", dispatch.ConditionType, switchyard.DispatchCondition)
	}
}

func TestADeletedWorkloadWhoseJobRunsMayGoWhenTheJobIsGone(t *testing.T) {
	st := newStage(t, "w1")
	st.runsActively("w1")
	st.deleteWorkload()
	st.eventually("the job is gone from w1", func() bool { return st.jobOn("w1") == nil && st.copyOn("w1") == nil })
	st.goes()
}

func TestADeletedWorkloadIsKeptForAClusterOutOfReachUntilAPersonSaysOtherwise(t *testing.T) {
	st := newStage(t, "w1")
	st.note(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.NeverLose))
	p := st.policy
	p.ExplainAfter = time.Millisecond
	st.restart(p)
	st.connected()
	st.runsActively("w1")
	st.workers["w1"].setDown(true)
	st.eventually("w1 is lost", func() bool { s, _ := st.fleet.State("w1"); return !s.Connected && s.Failures > 0 })
	st.deleteWorkload()
	st.eventually("it is said why it stays", func() bool {
		return strings.HasPrefix(st.check().Message, "Kept although it is being deleted") && !st.mayGo()
	})
	st.note(&kueue.MultiKueueCluster{}, "w1", switchyard.GoneAnnotation, "true")
	st.enqueueAll() // as the watch of clusters does
	st.goes()
}

func TestADeletedWorkloadWhoseJobIsDeletedTooIsNotKept(t *testing.T) {
	st := newStage(t, "w1")
	st.runsActively("w1")
	st.kill() // nobody else is to look at what follows
	if err := st.hub.Delete(t.Context(), &batchv1.Job{ObjectMeta: st.localJob().ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	st.deleteWorkload()
	s, err := st.resolver.observe(t.Context(), key())
	if err != nil {
		t.Fatal(err)
	}
	if l := s.observed.Local; !l.Deleted || l.Kept {
		t.Errorf("deleted %t, kept %t", l.Deleted, l.Kept)
	}
}
