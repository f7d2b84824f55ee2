package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// evictedWorkload has lost its right to the quota that it still holds.
func evictedWorkload() *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "w"}}
	wl.Status.Admission = &kueue.Admission{ClusterQueue: "cq"}
	for condition, reason := range map[string]string{kueue.WorkloadQuotaReserved: "QuotaReserved", kueue.WorkloadAdmitted: "Admitted", kueue.WorkloadEvicted: "Preempted"} {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason})
	}
	return wl
}

// No controller that keeps to the public API gives back the quota of a Workload without owner: the runner plays the owner.
func TestTheRunnerGivesBackTheQuotaOfWhatIsEvicted(t *testing.T) {
	wl := evictedWorkload()
	c := fake.NewClientBuilder().WithScheme(installation.Scheme()).WithStatusSubresource(wl).WithObjects(wl).Build()
	r := &benchRunner{client: c, load: baseline(), book: newWorkloadLog(1, 1), ending: make(chan struct{}, 1), fail: func(err error) { t.Error(err) }}
	seen := &kueue.Workload{}
	read := func() {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(wl), seen); err != nil {
			t.Fatal(err)
		}
	}
	read()
	r.recordWorkload(t.Context(), seen)
	r.settling.Wait()
	read()
	conditions := seen.Status.Conditions
	if seen.Status.Admission != nil || !meta.IsStatusConditionFalse(conditions, kueue.WorkloadQuotaReserved) ||
		!meta.IsStatusConditionFalse(conditions, kueue.WorkloadAdmitted) || !meta.IsStatusConditionTrue(conditions, kueue.WorkloadRequeued) ||
		!meta.IsStatusConditionTrue(conditions, kueue.WorkloadEvicted) {
		t.Errorf("admission %v, conditions %+v", seen.Status.Admission, conditions)
	}
	version := seen.ResourceVersion
	r.recordWorkload(t.Context(), seen)
	r.settling.Wait()
	if read(); seen.ResourceVersion != version {
		t.Error("the quota was given back twice")
	}
}

// What hangs is ended and told, and the figures of the others are printed.
func TestAContestantThatHangsLeavesTheFiguresOfTheOthers(t *testing.T) {
	hangs := errors.New("nothing happened")
	list := []controllerSpec{{name: "ours"}, {name: "hangs"}, {name: "the floor"}}
	results, err := measureAll(t.Context(), list, func(_ context.Context, c controllerSpec) (result, error) {
		if c.name == "hangs" {
			return result{}, hangs
		}
		return result{controller: c.name}, nil
	})
	var names []string
	for _, r := range results {
		names = append(names, r.controller)
	}
	if !slices.Equal(names, []string{"ours", "the floor"}) {
		t.Errorf("there are figures of %q", names)
	}
	if !errors.Is(err, hangs) || !strings.Contains(err.Error(), "hangs: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestARunInWhichNothingMovesIsEnded(t *testing.T) {
	b := newWorkloadLog(1, 1)
	now := time.Unix(1000, 0)
	wl := evictedWorkload()
	b.recordUpdate(wl.Name, wl, now)
	if b.isStuck(now.Add(idleAfter)) {
		t.Error("it is stuck although something has just happened")
	}
	again := wl.DeepCopy()
	again.ResourceVersion = "2"
	b.recordUpdate(again.Name, again, now.Add(idleAfter))
	if !b.isStuck(now.Add(idleAfter + time.Second)) {
		t.Error("a version that changes nothing counts as progress")
	}
	meta.SetStatusCondition(&again.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: "Succeeded"})
	b.recordUpdate(again.Name, again, now.Add(2*idleAfter))
	if b.isStuck(now.Add(2*idleAfter + time.Second)) {
		t.Error("an end is no progress")
	}
}
