package view

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestTheConditionChangeCallbackMayCallTheView(t *testing.T) {
	v := New(Options{})
	told := 0
	v.OnConditionChange(func(_, wl *kueue.Workload) {
		v.LocalQueueLabels(types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)})
		told++
	})
	running := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl", UID: "u", ResourceVersion: "1"}}
	ended := running.DeepCopy()
	ended.ResourceVersion = "2"
	ended.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue}}
	for _, seen := range []*kueue.Workload{running, ended, ended} {
		handleLocked(v, any(seen), v.setWorkload)
	}
	if told != 1 {
		t.Errorf("told %d times of one end", told)
	}
}
