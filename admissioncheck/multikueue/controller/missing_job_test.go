package controller

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestAWorkloadWhoseJobTheHubDoesNotHaveSaysSo(t *testing.T) {
	st := newTestEnv(t, "w1")
	policy := st.policy
	policy.ExplainAfter = time.Millisecond
	st.restart(policy)
	st.waitConnected()
	st.enqueue()
	if err := st.hub.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train"}}); err != nil {
		t.Fatal(err)
	}
	st.reserveQuota()
	st.waitOffered("w1")
	st.admitOn("w1")
	want := `The workload was admitted on "w1"; its job cannot be created there: create the copy of job team/train: the hub's job does not exist`
	st.eventually("the check says so", func() bool {
		return st.checkState().State == kueue.CheckStateReady && st.checkState().Message == want
	})
}
