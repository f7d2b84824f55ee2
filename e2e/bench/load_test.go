package bench

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
)

func TestTheLoadsAreThoseOfTheProjectsBenchmark(t *testing.T) {
	if l := baseline(); l.workloads() != 15000 || l.ideal() != 66*time.Second {
		t.Errorf("baseline has %d Workloads and %s of work", l.workloads(), l.ideal())
	}
	if l := large(); l.workloads() != 50000 {
		t.Errorf("large has %d Workloads", l.workloads())
	}
	if l := baseline().scaled(0.1); l.workloads() != 1500 || l.ideal() != 6600*time.Millisecond {
		t.Errorf("a tenth of baseline has %d Workloads and %s of work", l.workloads(), l.ideal())
	}
	if l := large().scaled(0.001); l.workloads() != 3000 {
		t.Errorf("a tiny part of large has %d Workloads: one of each class stays in each queue", l.workloads())
	}
}

func version(admitted, evicted bool, at int64) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "w"}}
	for name, is := range map[string]bool{kueue.WorkloadAdmitted: admitted, kueue.WorkloadEvicted: evicted} {
		status := metav1.ConditionFalse
		if is {
			status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: name, Status: status, LastTransitionTime: metav1.Unix(at, 0)})
	}
	return wl
}

func TestTheBookCountsRunsAndEvictionsOnceEach(t *testing.T) {
	b := newWorkloadLog(1, 1)
	start := time.Unix(1000, 0)
	b.recordCreation("w", 0, start)
	for i, step := range []struct {
		is   *kueue.Workload
		runs int
	}{
		{version(false, false, 1), 0},
		{version(true, false, 2), 1},
		{version(true, false, 2), 0},
		{version(true, true, 3), 0},
		{version(false, true, 3), 0},
		{version(true, false, 4), 2},
	} {
		if run, _ := b.recordUpdate(step.is.Name, step.is, start.Add(time.Duration(i)*time.Second)); run != step.runs {
			t.Errorf("step %d begins run %d, want %d", i, run, step.runs)
		}
	}
	if b.running("w", 1) || !b.running("w", 2) || b.evictions != 1 || len(b.waits[0]) != 1 || b.waits[0][0] != time.Second {
		t.Errorf("%d evictions, waits %v, lives %+v", b.evictions, b.waits, b.lives["w"])
	}
	done := version(true, false, 4)
	meta.SetStatusCondition(&done.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue})
	b.recordUpdate(done.Name, done, start)
	b.recordUpdate(done.Name, done, start)
	if b.left != 0 || b.running("w", 2) {
		t.Errorf("%d are left", b.left)
	}
}

func TestTheRunnersCreationsAreNotCounted(t *testing.T) {
	by := func(user, verb string, n int) clusters.WriteCount {
		return clusters.WriteCount{Write: clusters.Write{User: user, Verb: verb, Resource: "workloads", Agent: "a"}, Count: n}
	}
	got := writesBetween([]clusters.WriteCount{by("u", "patch", 1)}, []clusters.WriteCount{
		by("u", "patch", 3), by(runnerUser, "create", 9), by(runnerUser, "patch", 4),
	})
	r := result{writes: got}
	if len(got) != 2 || r.total("") != 6 || r.total("u") != 2 {
		t.Errorf("counted are %+v", got)
	}
}

func TestReferencesOfSizeAreOnlyForTheWholeLoad(t *testing.T) {
	r := result{controller: "ours", wall: 100 * time.Second, waits: make([][]time.Duration, 3)}
	for whole, want := range map[bool]bool{true: true, false: false} {
		out := &strings.Builder{}
		if err := printResults(out, baseline(), whole, []result{r}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "< 220 s"); got != want {
			t.Errorf("whole %v: wall time is compared %v", whole, got)
		}
		if !strings.Contains(out.String(), "4.70") {
			t.Errorf("whole %v: writes are not compared", whole)
		}
	}
}
