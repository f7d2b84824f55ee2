package controller

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestTheHubHasItsQuotaBackThoughSomebodyRemovesTheCopyOfAnEvictedJob(t *testing.T) {
	st := newStage(t, "w1")
	st.submit()
	st.runsOn("w1")
	st.change(func(wl *kueue.Workload) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: "Preempted", Message: "someone else is first",
		})
	})
	st.eventually("w1 is told", func() bool {
		wl := st.copyOn("w1")
		return wl != nil && meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadDeactivationTarget)
	})
	if err := st.workers["w1"].Delete(context.Background(), st.copyOn("w1")); err != nil {
		t.Fatal(err)
	}
	st.eventually("the job is gone", func() bool { return st.jobOn("w1") == nil })
	st.eventually("no cluster is bound", func() bool { return st.local().Status.ClusterName == nil })
	if st.workers["w1"].removedInBackground() {
		t.Error("its object may be gone before its pods")
	}
}
