package view

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// testSlice is a slice of the elastic job "job".
func testSlice(name string, gpus int32, version int, replaces string) *kueue.Workload {
	wl := testWorkload(name, gpus, version)
	wl.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "old"}
	wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: ptr.To(true)}}
	if replaces != "" {
		wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = "ns/" + replaces
		wl.CreationTimestamp = metav1.NewTime(baseTime.Add(time.Minute))
	}
	return wl
}

// newScalingView is a view of a queue of 4 gpus in which the slice old holds 3 and the slice new asks for 4.
func newScalingView() *View {
	v := New(Options{ElasticJobs: true})
	setObjects(v, testNamespace(nil), testFlavor("red"), testFlavor("blue"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"),
		setReservation(testSlice("old", 3, 10, ""), "cq", "red"), testSlice("new", 4, 11, "old"))
	return v
}

// gpusHeld is what the queue holds in the snapshot.
func gpusHeld(v *View) int {
	return int(v.snap.Quota().Cell("cq", admission.FlavorResource{Flavor: "red", Resource: "gpu"}).Usage())
}

// newAdmittedSlice is a view in which a cycle has just admitted the slice new, version 11.
func newAdmittedSlice(t *testing.T) (v *View, seen *kueue.Workload) {
	t.Helper()
	v = newScalingView()
	batch := runCycle(v, baseTime)
	if len(batch.Admit) != 1 || batch.Admit[0].Replaced == nil || batch.Admit[0].Replaced.Name != "old" {
		t.Fatalf("the cycle should have admitted new in the place of old: %+v", batch)
	}
	return v, batch.Admit[0].Object
}

func TestWhatBecomesOfTheSliceThatIsReplaced(t *testing.T) {
	finished := setReservation(testSlice("old", 3, 30, ""), "cq", "red")
	setCondition(&finished.Status.Conditions, kueue.WorkloadFinished, true, "WorkloadSliceReplaced", baseTime)
	running := func(version int) *kueue.Workload {
		return setReservation(testSlice("old", 3, version, ""), "cq", "red")
	}
	written := setReservation(testSlice("new", 4, 20, "old"), "cq", "red")
	changed := testSlice("new", 4, 21, "old")
	type step = func(v *View, seen *kueue.Workload)
	event := func(wl *kueue.Workload) step { return func(v *View, _ *kueue.Workload) { setObjects(v, wl) } }
	answer := func(v *View, _ *kueue.Workload) { v.RecordWrite(written) }
	conflict := func(v *View, seen *kueue.Workload) { v.RecordConflict(seen) }
	refused := func(v *View, seen *kueue.Workload) { v.RecordRefusal(seen, baseTime) }
	gone := func(name string) step {
		return func(v *View, _ *kueue.Workload) { deleteObject(v, testSlice(name, 3, 10, "")) }
	}
	for name, tc := range map[string]struct {
		steps    []step
		old, new string
		held     int
	}{
		"it holds nothing once the new one is assumed to": {nil, "nowhere", "assumed in cq", 4},
		"nor when it is reported again":                   {[]step{event(running(12))}, "nowhere", "assumed in cq", 4},
		"nor when the new one is confirmed":               {[]step{answer, event(running(12))}, "nowhere", "reserving in cq", 4},
		"nor when it is finished":                         {[]step{answer, event(finished)}, "nowhere", "reserving in cq", 4},
		"a refusal gives it back what it had":             {[]step{refused}, "reserving in cq", "backing off", 3},
		"a conflict does so too":                          {[]step{conflict, event(changed)}, "reserving in cq", "waiting for cq", 3},
		"a refusal after its end does not":                {[]step{event(finished), refused}, "nowhere", "backing off", 0},
		"nor one after its deletion":                      {[]step{gone("old"), refused}, "nowhere", "backing off", 0},
		"the deletion of the new one gives it back":       {[]step{answer, gone("new")}, "reserving in cq", "nowhere", 3},
		"also while its admission is being written":       {[]step{gone("new")}, "reserving in cq", "nowhere", 3},
	} {
		t.Run(name, func(t *testing.T) {
			v, seen := newAdmittedSlice(t)
			for _, s := range tc.steps {
				s(v, seen)
			}
			if old, is := describeEntry(v, "old"), describeEntry(v, "new"); old != tc.old || is != tc.new || gpusHeld(v) != tc.held {
				t.Errorf("old is %s, new is %s, and %d are held", old, is, gpusHeld(v))
			}
		})
	}
}

// After a restart the informer shows both, in whatever order, until the old one has been finished.
func TestTwoSlicesWithQuotaCountAsOne(t *testing.T) {
	old, next := setReservation(testSlice("old", 3, 10, ""), "cq", "red"), setReservation(testSlice("new", 4, 11, "old"), "cq", "red")
	for name, order := range map[string][]any{"the old one first": {old, next}, "the new one first": {next, old}} {
		v := New(Options{ElasticJobs: true})
		setObjects(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"))
		setObjects(v, order...)
		if got := gpusHeld(v); got != 4 || describeEntry(v, "old") != "nowhere" {
			t.Errorf("%s: %d are held", name, got)
		}
	}
}

func TestASliceWaitsWhereNothingCanBeTakenOver(t *testing.T) {
	evicted := setReservation(testSlice("old", 3, 20, ""), "cq", "red")
	setCondition(&evicted.Status.Conditions, kueue.WorkloadEvicted, true, "Preempted", baseTime)
	finished := setReservation(testSlice("old", 3, 20, ""), "cq", "red")
	setCondition(&finished.Status.Conditions, kueue.WorkloadFinished, true, "OutOfSync", baseTime)
	foreign := setReservation(testSlice("old", 3, 20, ""), "cq", "red")
	foreign.OwnerReferences[0].UID = types.UID("another")
	for name, tc := range map[string]struct {
		old  *kueue.Workload
		want string
		held int
	}{
		"of one that was told to stop":         {evicted, "blocked: WaitingForQuota", 3},
		"of one that has lost its quota":       {testSlice("old", 3, 20, ""), "blocked: WaitingForQuota", 0},
		"of one in another queue":              {setReservation(testSlice("old", 3, 20, ""), "other", "red"), "blocked: WaitingForQuota", 0},
		"of one that has ended":                {finished, "waiting for cq", 0},
		"of a job that is not its own":         {foreign, "waiting for cq", 3},
		"of one that it may take over at once": {setReservation(testSlice("old", 2, 20, ""), "cq", "red"), "waiting for cq", 2},
	} {
		v := newScalingView()
		setObjects(v, tc.old)
		if got := describeEntry(v, "new"); got != tc.want || gpusHeld(v) != tc.held {
			t.Errorf("%s: %s, %d held", name, got, gpusHeld(v))
		}
	}
	v := newScalingView()
	foreign.ResourceVersion = "30"
	setObjects(v, foreign)
	if w, _ := v.snap.Pending(keyOf("ns", "new")); w.Replaces != (admission.Key{}) {
		t.Errorf("it takes over from %v, which is another job's", w.Replaces)
	}
	if batch := runCycle(v, baseTime); len(batch.Admit) > 0 {
		t.Error("it is admitted at another job's expense")
	}
}

func TestWithTheGateOffSlicesAreWorkloadsLikeOthers(t *testing.T) {
	v := newBasicView()
	setObjects(v, setReservation(testSlice("old", 3, 10, ""), "cq", "red"), testSlice("new", 4, 11, "old"))
	w, _ := v.snap.Pending(keyOf("ns", "new"))
	if batch := runCycle(v, baseTime); w.Replaces != (admission.Key{}) || len(batch.Admit) > 0 {
		t.Errorf("it replaces %v and %d are admitted", w.Replaces, len(batch.Admit))
	}
}

// What a slice claims may be changed by anybody who may write Workloads.
func TestAClaimThatIsTakenBackCountsNoMore(t *testing.T) {
	v := newScalingView()
	plain := testSlice("new", 4, 20, "old")
	delete(plain.Annotations, kueue.WorkloadSliceReplacementForAnnotation)
	setObjects(v, plain)
	if batch := runCycle(v, baseTime); len(batch.Admit) > 0 {
		t.Error("it is admitted without quota")
	}
	setObjects(v, testSlice("new", 4, 21, "old"))
	if batch := runCycle(v, baseTime); len(batch.Admit) != 1 {
		t.Error("it is not admitted")
	}
}

// Each of these claims the place of another, and all hold quota: no claim may make one of them cost nothing.
func TestSlicesThatClaimEachOthersPlacesAllCount(t *testing.T) {
	v := New(Options{ElasticJobs: true})
	setObjects(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"))
	names := []string{"a", "b", "c"}
	for i, name := range names {
		wl := setReservation(testSlice(name, 1, 10+i, names[(i+1)%3]), "cq", "red")
		setObjects(v, wl)
	}
	if got := gpusHeld(v); got != 3 {
		t.Errorf("%d are held", got)
	}
}

// A slice is made smaller before its admission is. In between, its pods may be on their way out.
func TestASliceThatWasMadeSmallerHoldsWhatItWasAdmittedFor(t *testing.T) {
	for _, c := range []struct {
		name        string
		elastic     bool
		reclaimable int32
		want        int
	}{
		{"an elastic job", true, 0, 3},
		{"of which one pod is done", true, 1, 2},
		{"with the gate off", false, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := New(Options{ElasticJobs: c.elastic})
			wl := setReservation(testSlice("old", 3, 10, ""), "cq", "red")
			wl.Spec.PodSets[0].Count = 1
			if c.reclaimable > 0 {
				wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: wl.Spec.PodSets[0].Name, Count: c.reclaimable}}
			}
			setObjects(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"), wl)
			if got := gpusHeld(v); got != c.want {
				t.Errorf("it holds %d, want %d", got, c.want)
			}
		})
	}
}
