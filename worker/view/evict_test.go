package view

import (
	"testing"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// planPreemption is a plan that evicts the victim for the preemptor.
func planPreemption(preemptor string, victims ...string) func(*admission.Snapshot) admission.Plan {
	return func(s *admission.Snapshot) admission.Plan {
		d := admission.Decision{
			Workload: keyOf("ns", preemptor), LocalQueue: "lq", Queue: "cq",
			Outcome: admission.Preempt, Reason: admission.WaitingForPreemptedWorkloads,
		}
		for _, name := range victims {
			held, _ := s.Reservation(keyOf("ns", name))
			d.Victims = append(d.Victims, admission.Victim{
				Workload: held.Key, UID: held.UID, Queue: held.Queue, Reason: admission.InClusterQueue, Evicted: held.Evicted,
			})
			s.MarkEvicting(held.Key)
		}
		return admission.Plan{Decisions: []admission.Decision{d}}
	}
}

// describeVictim says how the snapshot and the view see a victim.
func describeVictim(v *View, name string) string {
	held, holds := v.snap.Reservation(keyOf("ns", name))
	text := "gone"
	if holds {
		text = "stays"
		if held.Evicted {
			text = "leaves"
		}
	}
	if w := v.workloads[keyOf("ns", name)]; w != nil && w.evicting != nil {
		text += ", unanswered"
	}
	return text
}

func TestWhatBecomesOfAnEviction(t *testing.T) {
	running := func(version int) *kueue.Workload { return setReservation(testWorkload("v", 3, version), "cq", "red") }
	evicted := running(20)
	setCondition(&evicted.Status.Conditions, kueue.WorkloadEvicted, true, "Preempted", baseTime)
	changed := running(15)
	changed.Labels = map[string]string{"changed": "by somebody"}
	finished := running(15)
	setCondition(&finished.Status.Conditions, kueue.WorkloadFinished, true, "Succeeded", baseTime)
	type step = func(v *View, seen *kueue.Workload)
	event := func(wl *kueue.Workload) step { return func(v *View, _ *kueue.Workload) { setObjects(v, wl) } }
	answer := func(v *View, _ *kueue.Workload) { v.RecordWrite(evicted) }
	conflict := func(v *View, seen *kueue.Workload) { v.RecordConflict(seen) }
	refused := func(v *View, seen *kueue.Workload) { v.RecordRefusal(seen, baseTime) }
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"no news keeps it":                          {nil, "leaves, unanswered"},
		"the same version again keeps it":           {[]step{event(running(10))}, "leaves, unanswered"},
		"a newer version keeps it until the answer": {[]step{event(changed)}, "leaves, unanswered"},
		"the answer confirms it":                    {[]step{answer}, "leaves"},
		"the informer confirms it":                  {[]step{event(evicted), answer}, "leaves"},
		"a conflict waits for what was changed":     {[]step{conflict}, "leaves, unanswered"},
		"a conflict ends with the change":           {[]step{conflict, event(changed)}, "stays"},
		"a change ends with the conflict":           {[]step{event(changed), conflict}, "stays"},
		"a conflict with our own lost answer":       {[]step{conflict, event(evicted)}, "leaves"},
		"an old event after the answer is history":  {[]step{answer, event(changed)}, "leaves"},
		"a refusal spares the victim at once":       {[]step{refused}, "stays"},
		"a refusal after the confirmation is late":  {[]step{event(evicted), refused}, "leaves"},
		"a conflict about another version is late":  {[]step{conflict, event(changed), conflict}, "stays"},
		"the victim finished":                       {[]step{event(finished), conflict}, "gone"},
		"the victim gave its quota back":            {[]step{event(testWorkload("v", 3, 15))}, "gone"},
		"the victim is deleted before the answer":   {[]step{func(v *View, seen *kueue.Workload) { deleteObject(v, seen) }, answer}, "gone"},
		"what was refused is not tried without pause": {[]step{refused, func(v *View, _ *kueue.Workload) {
			if p, _ := v.snap.Pending(keyOf("ns", "p")); !p.NotBefore.Equal(timeAt(1)) {
				panic("the preemptor should back off for a second, not until " + p.NotBefore.String())
			}
		}}, "stays"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newBasicView()
			setObjects(v, running(10), testWorkload("p", 3, 11))
			batch := v.RunCycle(baseTime, planPreemption("p", "v"))
			if len(batch.Preempt) != 1 || len(batch.Preempt[0].Evictions) != 1 || batch.Preempt[0].Workload.Name != "p" {
				t.Fatalf("v should be evicted for p: %+v", batch.Preempt)
			}
			for _, do := range tc.steps {
				do(v, batch.Preempt[0].Evictions[0].Object)
			}
			if got := describeVictim(v, "v"); got != tc.want {
				t.Errorf("the victim %s, want %s", got, tc.want)
			}
		})
	}
}

func TestAVictimIsEvictedOnce(t *testing.T) {
	v := newBasicView()
	setObjects(v, setReservation(testWorkload("v", 3, 10), "cq", "red"), testWorkload("p", 3, 11), testWorkload("q", 3, 12))
	v.RunCycle(baseTime, planPreemption("p", "v"))
	if batch := v.RunCycle(baseTime, planPreemption("q", "v")); len(batch.Preempt) != 1 || len(batch.Preempt[0].Evictions) != 0 {
		t.Errorf("q waits for v as p does, without another write: %+v", batch.Preempt)
	}
}

// TestAVictimThatIsBeingAdmittedIsEvictedAfterwards is what happens to an eviction that would overtake the admission.
func TestAVictimThatIsBeingAdmittedIsEvictedAfterwards(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(v *View, seen, written *kueue.Workload)
		want int
	}{
		"once it is admitted":           {func(v *View, _, written *kueue.Workload) { v.RecordWrite(written) }, 1},
		"not if it was refused":         {func(v *View, seen, _ *kueue.Workload) { v.RecordRefusal(seen, baseTime) }, 0},
		"not if it is gone":             {func(v *View, seen, _ *kueue.Workload) { deleteObject(v, seen) }, 0},
		"not before there is an answer": {func(*View, *kueue.Workload, *kueue.Workload) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v, seen, written := newAssumedView(t)
			setObjects(v, testWorkload("p", 3, 11))
			if batch := v.RunCycle(baseTime, planPreemption("p", "w")); len(batch.Preempt) != 1 || len(batch.Preempt[0].Evictions) != 0 {
				t.Fatalf("the eviction cannot be written yet: %+v", batch.Preempt)
			}
			tc.end(v, seen, written)
			var late []Eviction
			for _, p := range v.RunCycle(baseTime, func(*admission.Snapshot) admission.Plan { return admission.Plan{} }).Preempt {
				if !p.Deferred || p.Workload.Name != "p" {
					t.Errorf("it is late and for p: %+v", p)
				}
				late = append(late, p.Evictions...)
			}
			if len(late) != tc.want || tc.want == 1 && late[0].Object.ResourceVersion != written.ResourceVersion {
				t.Errorf("evictions are %+v, want %d of version %s", late, tc.want, written.ResourceVersion)
			}
		})
	}
}

func TestAConfirmationRequeuesNoWorkload(t *testing.T) {
	v, _, written := newAssumedView(t)
	setObjects(v, testWorkload("big", 4, 2))
	runCycle(v, baseTime)
	v.RecordWrite(written)
	if got := v.snap.PrepareCycle(baseTime); len(got) != 0 {
		t.Errorf("nothing was released, but %d lines are to be looked at", len(got))
	}
}
