package job_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

// A client that writes a status of which it knows the public part alone may drop the record of a Workload that waits to be
// let go.
func TestADeletedWorkloadWhoseRecordIsMissingWaitsForItsDispatcher(t *testing.T) {
	for name, c := range map[string]struct {
		controller string
		evictions  int32
		reserved   bool
		waits      bool
	}{
		"evicted before":                       {kueue.MultiKueueControllerName, 1, false, true},
		"evicted before, with quota again":     {kueue.MultiKueueControllerName, 1, true, true},
		"never evicted":                        {kueue.MultiKueueControllerName, 0, false, false},
		"its check is another's":               {"example.com/provisioning", 1, false, false},
		"nobody knows whose its check is":      {"", 1, false, false},
		"evicted before, and finished by then": {kueue.MultiKueueControllerName, -1, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob()
			j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
			cl := newClusterWith(t, func(o *job.Options) { o.Dispatches = true }, j, newFlavor("h100"))
			if c.controller != "" {
				cl.requireNoError(cl.Create(t.Context(), &kueue.AdmissionCheck{
					ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.AdmissionCheckSpec{ControllerName: c.controller},
				}))
			}
			cl.reconcileAll()
			if c.reserved {
				cl.admit("h100")
			}
			cl.apply(func(wl *kueue.Workload) {
				wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "mk", State: kueue.CheckStatePending}}
				if c.evictions < 0 {
					meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: "Succeeded"})
				}
				if c.evictions != 0 {
					wl.Status.SchedulingStats = &kueue.SchedulingStats{
						Evictions: []kueue.WorkloadSchedulingStatsEviction{{Reason: "Preempted", Count: 1}},
					}
				}
			})
			cl.requireNoError(cl.Delete(t.Context(), cl.workload()))
			cl.reconcileAll()
			if got := cl.deleteWorkload(); got != c.waits {
				t.Fatalf("it waits: %t", got)
			}
			if !c.waits {
				return
			}
			cl.recordDebt(metav1.ConditionFalse)
			cl.reconcileAll()
			if cl.deleteWorkload() {
				t.Error("it waits although nobody owes anything")
			}
			if meta.FindStatusCondition(cl.workload().Status.Conditions, switchyard.DispatchCondition) != nil {
				t.Error("the next one has inherited the record")
			}
		})
	}
}

// deleteWorkload tells whether a Workload is being deleted and still there.
func (c *cluster) deleteWorkload() bool {
	return slices.ContainsFunc(c.workloads(), func(wl kueue.Workload) bool { return !wl.DeletionTimestamp.IsZero() })
}
