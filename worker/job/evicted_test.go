package job_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

func TestQuotaIsNotReleasedBeforeTheOtherClusterHasStoppedTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		dispatches bool
		check      string
		reason     admission.Reason
		waits      bool
	}{
		"pods may be starting there":             {true, "mk", "Preempted", true},
		"the check has given the cluster up":     {true, "mk", "AdmissionCheck", false},
		"another program dispatches":             {false, "mk", "Preempted", false},
		"the check is another controller's":      {true, "provisioning", "Preempted", false},
		"the check does not exist any more":      {true, "gone", "Preempted", false},
		"the hub deactivates it, which is alike": {true, "mk", "Deactivated", true},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob()
			j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
			at := newClusterWith(t, func(o *job.Options) { o.Dispatches = c.dispatches }, j, newFlavor("h100"), newCheck("mk", kueue.MultiKueueControllerName),
				newCheck("provisioning", kueue.ProvisioningRequestControllerName))
			at.settle()
			at.admit("h100")
			at.apply(func(wl *kueue.Workload) {
				wl.Status.ClusterName = ptr.To("w1")
				wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: kueue.AdmissionCheckReference(c.check), State: kueue.CheckStateReady, LastTransitionTime: metav1.NewTime(at.clock.Now())}}
			})
			at.settle()
			at.apply(func(wl *kueue.Workload) { workload.Evict(wl, lifecycle.Eviction{Reason: c.reason}, at.clock.Now()) })
			at.settle()
			if waits := at.workload().Status.Admission != nil; waits != c.waits {
				t.Errorf("quota is held: %t", waits)
			}
			at.apply(func(wl *kueue.Workload) { wl.Status.ClusterName = nil })
			at.settle()
			if at.workload().Status.Admission != nil {
				t.Error("quota is held although no cluster has the job")
			}
		})
	}
}

func newCheck(name, controller string) *kueue.AdmissionCheck {
	return &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.AdmissionCheckSpec{ControllerName: controller}}
}
