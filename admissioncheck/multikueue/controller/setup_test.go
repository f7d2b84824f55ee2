package controller

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Every AdmissionCheck, MultiKueueConfig and Job that is there at the start would have all its Workloads looked at once more.
func TestOnlyChangesAfterTheInitialListRequeueWorkloads(t *testing.T) {
	check := &kueue.AdmissionCheck{}
	for _, tc := range []struct {
		name    string
		initial bool
		want    bool
	}{{"there at the start", true, false}, {"created later", false, true}} {
		if got := skipInitialList().Create(event.CreateEvent{Object: check, IsInInitialList: tc.initial}); got != tc.want {
			t.Errorf("%s: %t, want %t", tc.name, got, tc.want)
		}
	}
	if p := skipInitialList(); !p.Update(event.UpdateEvent{ObjectOld: check, ObjectNew: check}) || !p.Delete(event.DeleteEvent{Object: check}) {
		t.Error("a change or a deletion does not pass")
	}
}
