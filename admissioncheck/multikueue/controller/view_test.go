package controller

import (
	"errors"
	"testing"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
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
