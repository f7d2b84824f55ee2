package controller

import (
	"errors"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
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
		{"it answers", fleet.State{Connected: true, Met: true}, dispatch.Link{State: dispatch.Connected}},
		{"it answered once and is lost", fleet.State{Met: true, LostSince: lost, Err: errors.New("gone")},
			dispatch.Link{State: dispatch.Unreachable, Since: lost, Untried: true}},
		{"and was tried since", fleet.State{Met: true, LostSince: lost, Err: errors.New("gone"), Failures: 1},
			dispatch.Link{State: dispatch.Unreachable, Since: lost}},
		{"it never answered, so it did not vanish", fleet.State{LostSince: lost, Failures: 3, Err: errors.New("no")},
			dispatch.Link{State: dispatch.Unreachable, Since: lost, Never: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := linkOf(c.state); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestWhileAClusterIsLostAllOfTheHubsAreLookedAtNotOnlyTheConfigs(t *testing.T) {
	st := newStage(t, "w1", "w2")
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
			s, err := st.resolver.observe(t.Context(), key())
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
