package controller

import (
	"errors"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestWhatAConnectionMeansToTheDispatcher(t *testing.T) {
	lost := time.Unix(1000, 0)
	for _, c := range []struct {
		name  string
		state fleet.State
		want  dispatch.Link
	}{
		{"nothing was tried yet", fleet.State{LostSince: lost}, dispatch.Link{State: dispatch.Unknown}},
		{"it answers", fleet.State{Connected: true, EverConnected: true}, dispatch.Link{State: dispatch.Connected}},
		{"it answered once and is lost", fleet.State{EverConnected: true, LostSince: lost, Err: errors.New("gone")},
			dispatch.Link{State: dispatch.Unreachable, Since: lost, Untried: true}},
		{"and was tried since", fleet.State{EverConnected: true, LostSince: lost, Err: errors.New("gone"), Failures: 1},
			dispatch.Link{State: dispatch.Unreachable, Since: lost}},
		{"it never answered, so it did not vanish", fleet.State{LostSince: lost, Failures: 3, Err: errors.New("no")},
			dispatch.Link{State: dispatch.Unreachable, Since: lost, NeverConnected: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := linkFromState(c.state); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A removal that spares an end leaves what it found as an answer. The read that follows in the next epoch must not be hidden by it.
func TestTheNewestReadResultCounts(t *testing.T) {
	at := time.Unix(1000, 0)
	answer := func(id string, epoch int64, at time.Time) fleet.ActionResult {
		return fleet.ActionResult{ID: id, Value: liveRead{epoch: epoch, startedAt: at}}
	}
	spared, read := answer("Retract/2", 1, at), answer("LiveRead/2", 2, at.Add(time.Second))
	for name, answers := range map[string][]fleet.ActionResult{
		"the read alone":         {read},
		"the older one is first": {spared, read},
		"the older one is last":  {read, spared},
		"the clock was set back": {answer("LiveRead/2", 2, at.Add(-time.Hour)), spared},
		"in one epoch the later": {read, answer("Retract/3", 2, at)},
		"beside a failure":       {read, {ID: "Retract/3", Err: errors.New("no")}},
	} {
		t.Run(name, func(t *testing.T) {
			v := dispatch.ClusterView{}
			addActionResults(&v, mirror.Original{}, answers)
			if v.Live == nil || v.Live.Epoch != 2 || v.Live.At.Equal(at) {
				t.Errorf("got %+v", v.Live)
			}
		})
	}
}

func TestOfReadResultsThatCountTheNewestIsTaken(t *testing.T) {
	at := time.Unix(1000, 0)
	answers := []fleet.ActionResult{
		{ID: "a", Value: liveRead{epoch: 2, startedAt: at}},
		{ID: "b", Value: liveRead{epoch: 2, startedAt: at.Add(time.Second)}},
		{ID: "c", Value: liveRead{epoch: 3, startedAt: at}},
		{ID: "d", Err: errors.New("no")},
	}
	ofEpoch := func(epoch int64) func(liveRead) bool { return func(f liveRead) bool { return f.epoch == epoch } }
	if got := newestRead(answers, ofEpoch(2)); got == nil || !got.startedAt.Equal(at.Add(time.Second)) {
		t.Errorf("got %+v", got)
	}
	if got := newestRead(answers, ofEpoch(1)); got != nil {
		t.Errorf("got %+v although nothing counts", got)
	}
}

func TestWhileAClusterIsLostAllClustersOfTheHubAreCheckedNotOnlyTheConfigs(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	config := &kueue.MultiKueueConfig{}
	if err := st.hub.Get(t.Context(), client.ObjectKey{Name: "config"}, config); err != nil {
		t.Fatal(err)
	}
	config.Spec.Clusters = []string{"w1"}
	if err := st.hub.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	st.submit()
	sees := func(links ...dispatch.LinkState) func() bool {
		return func() bool {
			s, err := st.reconciler.observe(t.Context(), workloadKey())
			if err != nil || s == nil || len(s.observed.Fleet) != len(links) {
				return false
			}
			return !slices.ContainsFunc(s.observed.Fleet, func(l dispatch.Link) bool { return !slices.Contains(links, l.State) })
		}
	}
	st.eventually("nobody is lost, so nobody asks", sees())
	st.workers["w1"].setDown(true)
	st.eventually("both are looked at", sees(dispatch.Unreachable, dispatch.Connected))
}
