package mirror

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestOnlyStopIsStampedOnCopyAndJob(t *testing.T) {
	for _, stops := range []bool{true, false} {
		o := original()
		o.Stops = stops
		for _, made := range []client.Object{o.WorkloadCopy(1), o.JobCopy(1, false)} {
			if got := StopsWithoutHub(made); got != stops {
				t.Errorf("%T is stamped: %t", made, got)
			}
		}
		if got := o.ObserveWorkload(o.WorkloadCopy(1)).StopsOnHubLost; got != stops {
			t.Errorf("the fact is %t", got)
		}
	}
}

func TestAStampOnTheHubsWorkloadIsNotHandedOn(t *testing.T) {
	o := original()
	o.Workload.Annotations = map[string]string{switchyard.OnHubLostAnnotation: string(switchyard.Stop)}
	if StopsWithoutHub(o.WorkloadCopy(1)) {
		t.Error("handed on")
	}
}

// gated is a copy with the hub's gate, whose position is as given; empty for none.
func gated(position kueue.GatePosition) *kueue.Workload {
	return onWorker(1, func(wl *kueue.Workload) {
		wl.Spec.PreemptionGates = []kueue.PreemptionGate{{Name: kueue.MultiKueuePreemptionGate}}
		if position != "" {
			wl.Status.PreemptionGates = []kueue.PreemptionGateState{
				{Name: "other", Position: kueue.GateClosed, LastTransitionTime: metav1.NewTime(noon)},
				{Name: kueue.MultiKueuePreemptionGate, Position: position, LastTransitionTime: metav1.NewTime(noon)},
			}
		}
		wl.Status.Conditions = []metav1.Condition{{
			Type: kueue.WorkloadBlockedOnPreemptionGates, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon),
		}}
	})
}

func TestTheHubsGateStandsInForTheWorkloadsOwnAndOnlyWhereItIsAskedFor(t *testing.T) {
	for gated, want := range map[bool]string{true: kueue.MultiKueuePreemptionGate, false: "gate"} {
		o := original()
		o.PreemptionGated = gated
		gates := o.WorkloadCopy(1).Spec.PreemptionGates
		if len(gates) != 1 || gates[0].Name != want {
			t.Errorf("gated %t: %+v", gated, gates)
		}
	}
}

func TestTheGateOfACopy(t *testing.T) {
	o := original()
	o.PreemptionGated = true
	if made := o.ObserveWorkload(o.WorkloadCopy(1)); !made.GateClosed || !made.SpecMatches {
		t.Errorf("as made: %+v", made)
	}
	for position, closed := range map[kueue.GatePosition]bool{"": true, kueue.GateClosed: true, kueue.GateOpen: false} {
		got := o.ObserveWorkload(gated(position))
		if got.GateClosed != closed || got.GateOpenedAt.IsZero() != closed || !got.BlockedOnGate || !got.BlockedSince.Equal(noon) {
			t.Errorf("position %q: %+v", position, got)
		}
	}
	if got := o.ObserveWorkload(onWorker(1, nil)); got.GateClosed {
		t.Error("a copy without gate has a closed one")
	}
}

func TestAGateIsOpenedOnceAndNoOtherIs(t *testing.T) {
	o := original()
	c := worker(t, gated(kueue.GateClosed))
	if err := o.OpenPreemptionGate(t.Context(), c, 2, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	found := &kueue.Workload{}
	read := func() {
		t.Helper()
		if err := c.Get(t.Context(), o.Key(), found); err != nil {
			t.Fatal(err)
		}
	}
	if read(); !o.ObserveWorkload(found).GateClosed {
		t.Fatal("opened for another epoch")
	}
	for range 2 {
		if err := o.OpenPreemptionGate(t.Context(), c, 1, noon.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if fact := o.ObserveWorkload(found); fact.GateClosed || !fact.GateOpenedAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v", fact)
	}
	if len(found.Status.PreemptionGates) != 2 {
		t.Errorf("gates %+v", found.Status.PreemptionGates)
	}
	version := found.ResourceVersion
	if err := o.OpenPreemptionGate(t.Context(), c, 1, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if read(); found.ResourceVersion != version {
		t.Error("opened again")
	}
}

// Another value written over a stamp does not make the object one of another epoch, nor one that no removal is about.
func TestAStampThatIsNoEpochIsRemovedWhateverTheEpoch(t *testing.T) {
	for stamp, want := range map[string]int64{
		"": dispatch.UnreadableEpoch, "three": dispatch.UnreadableEpoch, "-3": dispatch.UnreadableEpoch, "9223372036854775807": dispatch.UnreadableEpoch,
		"9007199254740993": dispatch.UnreadableEpoch, "99999999999999999999": dispatch.UnreadableEpoch, "3": 3,
	} {
		wl := onWorker(1, func(wl *kueue.Workload) { wl.Annotations[dispatch.EpochAnnotation] = stamp })
		if got := Epoch(wl); got != want {
			t.Errorf("%q is epoch %d, want %d", stamp, got, want)
		}
		if got := isRemovable(dispatch.Ours, wl, 2); got != (want == dispatch.UnreadableEpoch) {
			t.Errorf("%q is removed below epoch 2: %v", stamp, got)
		}
	}
	if got := Epoch(&kueue.Workload{}); got != 0 {
		t.Errorf("without a stamp it is epoch %d", got)
	}
}

func TestAnObjectOfAnotherHubIsForeignWhateverItsOrigin(t *testing.T) {
	for name, tc := range map[string]struct {
		stamp   string
		own     types.UID
		adopted []types.UID
		want    dispatch.Holder
	}{
		"our own":                         {stamp: "hub-a", own: "hub-a", want: dispatch.Ours},
		"another hub's":                   {stamp: "hub-b", own: "hub-a", want: dispatch.Foreign},
		"of a hub that was adopted":       {stamp: "hub-b", own: "hub-a", adopted: []types.UID{"hub-c", "hub-b"}, want: dispatch.Ours},
		"of one that does not say":        {own: "hub-a", want: dispatch.Ours},
		"while we do not know who we are": {stamp: "hub-b", want: dispatch.Ours},
	} {
		t.Run(name, func(t *testing.T) {
			o := original()
			wl, job := o.WorkloadCopy(1), o.JobCopy(1, false)
			o.Hub, o.Adopted = tc.own, tc.adopted
			for _, obj := range []client.Object{wl, job} {
				notes := obj.GetAnnotations()
				if tc.stamp != "" {
					notes[switchyard.HubUIDAnnotation] = tc.stamp
				}
				obj.SetAnnotations(notes)
			}
			if got := o.ObserveWorkload(wl).Holder; got != tc.want {
				t.Errorf("the copy is %v, want %v", got, tc.want)
			}
			if got := o.ObserveJob(job).Holder; got != tc.want {
				t.Errorf("the job is %v, want %v", got, tc.want)
			}
		})
	}
}

func TestWhatIsMadeBearsTheIdentityOfItsHub(t *testing.T) {
	o := original()
	o.Hub = "hub-a"
	o.Workload.Annotations = map[string]string{switchyard.HubUIDAnnotation: "claimed"}
	for _, made := range []client.Object{o.WorkloadCopy(1), o.JobCopy(1, false)} {
		if got := made.GetAnnotations()[switchyard.HubUIDAnnotation]; got != "hub-a" {
			t.Errorf("%T says it was made by %q", made, got)
		}
	}
}
