package controller

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// createOrphanJobs makes jobs on a worker that bear the hub's origin, and say that they are those of Workloads that the hub never had.
func (st *testEnv) createOrphanJobs(worker string, from, until int) {
	st.t.Helper()
	for i := from; i < until; i++ {
		err := st.workers[worker].Create(st.t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: fmt.Sprintf("orphan-%05d", i),
			Labels: map[string]string{kueue.MultiKueueOriginLabel: origin, kueue.PrebuiltWorkloadNameKey: fmt.Sprintf("orphan-%05d", i)},
		}})
		if err != nil {
			st.t.Fatal(err)
		}
	}
}

func (st *testEnv) countJobs(worker string) int {
	list := &batchv1.JobList{}
	if err := st.workers[worker].List(st.t.Context(), list); err != nil {
		st.t.Fatal(err)
	}
	return len(list.Items)
}

// Each orphan is removed only after the hub's API server has said that its Workload is gone. A user with the right to create
// jobs on one worker must not be able to spend the hub's calls, nor to have the Workloads of all other clusters wait.
func TestOrphansOfOneClusterDelayNoWorkloadOfAnother(t *testing.T) {
	const many, atOnce = 1_000, 100
	st := newTestEnv(t, "w1", "w2")
	st.stop()
	clock := clocktesting.NewFakeClock(time.Now())
	st.fleetClock = clock
	st.createOrphanJobs("w1", 0, many)
	st.restart(st.policy)
	st.waitConnected()
	st.submit()
	st.runOn("w2")
	st.eventually("the first orphans go", func() bool { return st.countJobs("w1") == many-atOnce })
	if asked := st.apiReader.count.Load(); asked > atOnce+10 {
		t.Errorf("the hub's API server was asked %d times", asked)
	}
	for second := range 3 {
		clock.Step(time.Second)
		left := many - atOnce - 10*(second+1)
		st.eventually("the next orphans go", func() bool { return st.countJobs("w1") == left })
	}
	if asked := st.apiReader.count.Load(); asked > atOnce+40 {
		t.Errorf("the hub's API server was asked %d times", asked)
	}
}

// The deletion of a thousand jobs on the hub does not wait for objects that were never seen there: these Workloads were the
// hub's.
func TestWorkloadsThatWereSeenToGoAreNoOrphans(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.stop()
	st.fleetClock = clocktesting.NewFakeClock(time.Now())
	st.restart(st.policy)
	st.waitConnected()
	st.submit()
	st.runOn("w1")
	st.createOrphanJobs("w1", 0, 150)
	st.eventually("those whose turn it was went", func() bool { return st.countJobs("w1") == 1+50 })
	for _, obj := range []client.Object{st.hubJob(), st.hubWorkload()} {
		if err := st.hub.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	st.waitClean("w1")
	st.eventually("it is forgotten", func() bool { return !st.reconciler.orphans.OwnsWorkload(workloadKey()) })
}
