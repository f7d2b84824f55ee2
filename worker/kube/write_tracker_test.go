package kube

import (
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func workloadWithVersion(uid, version string) *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
}

func TestACacheIsBehindUntilItShowsOurWriteOrALaterOne(t *testing.T) {
	var w WriteTracker
	w.Record(workloadWithVersion("a", "20"), noon)
	for _, c := range []struct {
		name string
		seen *kueue.Workload
		at   time.Time
		want bool
	}{
		{"an object that we did not write is as new as it gets", workloadWithVersion("b", "1"), noon, false},
		{"an older version is behind", workloadWithVersion("a", "9"), noon, true},
		{"our own is not", workloadWithVersion("a", "20"), noon, false},
		{"what was caught up with is forgotten", workloadWithVersion("a", "9"), noon, false},
	} {
		if got := w.IsNewerThan(c.seen, c.at); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	w.Record(workloadWithVersion("a", "20"), noon)
	if w.IsNewerThan(workloadWithVersion("a", "9"), noon.Add(2*MaxCacheLag)) {
		t.Error("waits for a cache that will never catch up")
	}
	w.Record(workloadWithVersion("", ""), noon)
	if w.writes.Len() != 0 {
		t.Errorf("remembers %d writes", w.writes.Len())
	}
}

func TestExpectationsAreOfTheObjectThatWasWritten(t *testing.T) {
	var e Expectations[string]
	e.Record(workloadWithVersion("a", "20"), "first", noon)
	if e.IsNewerThan(workloadWithVersion("made again", "9"), noon) || e.Len() != 1 {
		t.Error("an object of the same name is another one")
	}
	if e.IsNewerThan(workloadWithVersion("a", "not a version"), noon) || e.Len() != 0 {
		t.Error("waits for a version that cannot be compared")
	}
	e.Record(workloadWithVersion("a", "20"), "first", noon)
	e.Record(workloadWithVersion("a", "30"), "second", noon)
	if got := e.Values(); len(got) != 1 || got[0] != "second" {
		t.Errorf("expected: %v", got)
	}
	if e.Forget("a"); e.IsNewerThan(workloadWithVersion("a", "9"), noon) {
		t.Error("expected although the object is no more")
	}
}

func TestWritesOfDeletedObjectsAreForgotten(t *testing.T) {
	var w WriteTracker
	for i := range 100 * minSweepSize {
		w.Record(workloadWithVersion(strconv.Itoa(i), "1"), noon.Add(time.Duration(i)*MaxCacheLag/minSweepSize))
	}
	if n := w.writes.Len(); n > 3*minSweepSize {
		t.Errorf("remembers %d writes", n)
	}
}

func TestNothingIsComparedWithAnObjectFromBeforeOurLastWrite(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: "uid"}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).WithStatusSubresource(stored).Build()
	cached := func() *kueue.MultiKueueCluster {
		t.Helper()
		cluster := &kueue.MultiKueueCluster{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), cluster); err != nil {
			t.Fatal(err)
		}
		return cluster
	}
	var w WriteTracker
	set := func(before *kueue.MultiKueueCluster, status metav1.ConditionStatus) (bool, error) {
		next := before.DeepCopy()
		meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{Type: "Fenced", Status: status, Reason: "Test"})
		return w.PatchStatus(t.Context(), c, before, next, noon)
	}
	if wrote, err := set(cached(), metav1.ConditionTrue); !wrote || err != nil {
		t.Fatal(wrote, err)
	}
	old := cached()
	if wrote, err := set(old, metav1.ConditionFalse); !wrote || err != nil {
		t.Fatal(wrote, err)
	}
	if wrote, err := set(old, metav1.ConditionTrue); wrote || !apierrors.IsConflict(err) {
		t.Errorf("what the cache shows is True, what is stored False: wrote %t, %v", wrote, err)
	}
	if wrote, err := set(cached(), metav1.ConditionTrue); !wrote || err != nil {
		t.Errorf("the cache has caught up: wrote %t, %v", wrote, err)
	}
	next := cached()
	next.Labels = map[string]string{"a": "b"}
	if wrote, err := w.Patch(t.Context(), c, old, next, noon); wrote || !apierrors.IsConflict(err) {
		t.Errorf("the same is true of everything but the status: wrote %t, %v", wrote, err)
	}
}
