package controller

import (
	"context"
	"testing"
)

func TestTheHubHasItsQuotaBackThoughSomebodyRemovesTheCopyOfAnEvictedJob(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	st.evictFromHub("w1")
	if err := st.workers["w1"].Delete(context.Background(), st.copyOn("w1")); err != nil {
		t.Fatal(err)
	}
	st.eventually("the job is gone", func() bool { return st.jobOn("w1") == nil })
	st.eventually("no cluster is bound", func() bool { return st.hubWorkload().Status.ClusterName == nil })
	if st.workers["w1"].hasBackgroundDelete() {
		t.Error("its object may be gone before its pods")
	}
}
