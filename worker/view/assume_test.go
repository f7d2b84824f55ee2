package view

import (
	"testing"
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/cycle"
)

func runCycle(v *View, now time.Time) CycleResult {
	return v.RunCycle(now, func(s *admission.Snapshot) admission.Plan { return cycle.Run(s, now, cycle.Options{}) })
}

// newAssumedView is a view in which a cycle has just admitted workload w, version 10, and the version it would have if written.
func newAssumedView(t *testing.T) (v *View, seen, written *kueue.Workload) {
	t.Helper()
	v = newBasicView()
	setObjects(v, testWorkload("w", 3, 10))
	batch := runCycle(v, baseTime)
	if len(batch.Admit) != 1 || describeEntry(v, "w") != "assumed in cq" {
		t.Fatalf("the cycle should have admitted w: %+v", batch)
	}
	return v, batch.Admit[0].Object, setReservation(testWorkload("w", 3, 20), "cq", "red")
}

func TestWhatBecomesOfAnAssumption(t *testing.T) {
	changed := testWorkload("w", 3, 15)
	changed.Labels = map[string]string{"changed": "by somebody"}
	refreshed := setReservation(testWorkload("w", 3, 21), "cq", "red")
	released := testWorkload("w", 3, 25)
	reborn := testWorkload("w", 3, 30)
	reborn.UID = "another"
	type step = func(v *View, seen, written *kueue.Workload)
	event := func(wl *kueue.Workload) step { return func(v *View, _, _ *kueue.Workload) { setObjects(v, wl) } }
	confirm := func(v *View, _, written *kueue.Workload) { setObjects(v, written) }
	answer := func(v *View, _, written *kueue.Workload) { v.RecordWrite(written) }
	conflict := func(v *View, seen, _ *kueue.Workload) { v.RecordConflict(seen) }
	refused := func(v *View, seen, _ *kueue.Workload) { v.RecordRefusal(seen, baseTime) }
	gone := func(v *View, seen, _ *kueue.Workload) { deleteObject(v, seen) }
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"no news keeps it":                                 {nil, "assumed in cq"},
		"the same version again keeps it":                  {[]step{event(testWorkload("w", 3, 10))}, "assumed in cq"},
		"a newer version keeps it until the write answers": {[]step{event(changed)}, "assumed in cq"},
		"the answer confirms it":                           {[]step{answer}, "reserving in cq"},
		"the informer confirms it":                         {[]step{confirm}, "reserving in cq"},
		"confirming twice is the same":                     {[]step{confirm, answer, confirm}, "reserving in cq"},
		"an old event after the answer changes nothing":    {[]step{answer, event(testWorkload("w", 3, 10))}, "reserving in cq"},
		"an event between two versions changes nothing":    {[]step{answer, event(changed)}, "reserving in cq"},
		"a newer event after the answer counts":            {[]step{answer, event(released)}, "waiting for cq"},
		"a late answer does not bring it back":             {[]step{confirm, event(released), answer}, "waiting for cq"},
		"a conflict waits for what was changed":            {[]step{conflict}, "assumed in cq"},
		"a conflict ends with the change":                  {[]step{conflict, event(changed)}, "waiting for cq"},
		"a change ends with the conflict":                  {[]step{event(changed), conflict}, "waiting for cq"},
		"a conflict with our own lost answer":              {[]step{conflict, confirm}, "reserving in cq"},
		"a conflict after the confirmation":                {[]step{confirm, conflict}, "reserving in cq"},
		"a conflict after a refresh":                       {[]step{event(refreshed), conflict}, "reserving in cq"},
		"a refusal backs off":                              {[]step{refused}, "backing off"},
		"deletion ends it":                                 {[]step{gone}, "nowhere"},
		"deletion beats the answer":                        {[]step{gone, answer}, "nowhere"},
		"a new object of the name is another":              {[]step{event(reborn), answer}, "waiting for cq"},
		"so it is after a refusal":                         {[]step{event(reborn), refused}, "waiting for cq"},
	} {
		t.Run(name, func(t *testing.T) {
			v, seen, written := newAssumedView(t)
			for _, s := range tc.steps {
				s(v, seen, written)
			}
			if got := describeEntry(v, "w"); got != tc.want {
				t.Errorf("it is %s, want %s", got, tc.want)
			}
		})
	}
}

func TestAnAssumptionHoldsQuotaAgainstOthers(t *testing.T) {
	v, seen, _ := newAssumedView(t)
	setObjects(v, testWorkload("x", 3, 11))
	if batch := runCycle(v, baseTime); len(batch.Admit) != 0 || len(batch.Wait) != 1 {
		t.Fatalf("x does not fit beside w: %+v", batch)
	}
	v.RecordRefusal(seen, baseTime)
	if batch := runCycle(v, baseTime); len(batch.Admit) != 1 || batch.Admit[0].Workload.Name != "x" {
		t.Errorf("x fits once w is refused: %+v", batch)
	}
}

func TestARefusedWorkloadIsRetriedAfterABackoffThatDoubles(t *testing.T) {
	v, seen, _ := newAssumedView(t)
	now := baseTime
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		v.RecordRefusal(seen, now)
		if batch := runCycle(v, now); len(batch.Admit) != 0 || !batch.NextCycleAt.Equal(now.Add(want)) {
			t.Fatalf("after %s: %+v, want a wake after %s", now.Sub(baseTime), batch, want)
		}
		now = now.Add(want)
		if batch := runCycle(v, now); len(batch.Admit) != 1 {
			t.Fatalf("backoff over: %+v, want an admission", batch)
		}
	}
}

func TestAWorkloadWithAMissingQueueGetsThatReason(t *testing.T) {
	v := newBasicView()
	wl := testWorkload("w", 1, 1)
	wl.Spec.QueueName = "missing"
	setObjects(v, wl)
	batch := runCycle(v, baseTime)
	if len(batch.Wait) != 1 || batch.Wait[0].Reason != admission.Misconfigured || batch.Wait[0].Message != "LocalQueue missing doesn't exist" {
		t.Errorf("got %+v", batch.Wait)
	}
}

func TestLookupPendingFindsOnlyPendingWorkloads(t *testing.T) {
	v, _, written := newAssumedView(t)
	key := keyOf("ns", "w")
	if v.LookupPending(key) != nil {
		t.Error("an assumed workload does not wait")
	}
	v.RecordWrite(written)
	if v.LookupPending(key) != nil {
		t.Error("a workload that holds quota does not wait")
	}
	setObjects(v, testWorkload("w", 3, 30))
	if v.LookupPending(key) == nil {
		t.Error("a released workload waits")
	}
}
