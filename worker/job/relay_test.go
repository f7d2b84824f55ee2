package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

func TestOnlyNewMessagesOfChecksAreRelayed(t *testing.T) {
	was, is := &kueue.Workload{}, &kueue.Workload{}
	was.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "a", Message: "same"}, {Name: "b", Message: "old"}}
	is.Status.AdmissionChecks = []kueue.AdmissionCheckState{
		{Name: "a", Message: "same", State: kueue.CheckStateReady}, {Name: "b", Message: "new"}, {Name: "c"}, {Name: "d", Message: "first"},
	}
	want := []kube.Event{
		{Reason: kueue.EventUpdatedAdmissionCheck, Note: "b: new"}, {Reason: kueue.EventUpdatedAdmissionCheck, Note: "d: first"},
	}
	if diff := cmp.Diff(want, checkNews(was, is)); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}
