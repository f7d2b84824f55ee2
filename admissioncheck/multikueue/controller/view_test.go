package controller

import (
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

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

func TestWhoLooksLastAtTheConnectionsSaysWhetherTheHubIsCutOff(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := &cutOff{clock: clocktesting.NewFakePassiveClock(now), window: time.Minute}
	look := func(states ...fleet.State) func() []fleet.State {
		return func() []fleet.State {
			if c.mu.TryLock() {
				t.Error("somebody else may look meanwhile, and store what he saw later")
				c.mu.Unlock()
			}
			return states
		}
	}
	up := fleet.State{Connected: true, Met: true}
	lost := fleet.State{Met: true, LostSince: now, Failures: 1, Err: errors.New("gone")}
	for i, step := range []struct {
		look      func() []fleet.State
		concerned bool
		ended     time.Time
	}{
		{look(up, up, up), false, time.Time{}},
		{look(lost, lost, up), true, time.Time{}},
		{look(lost, up, up), true, now},
		{look(up, up, up), false, now},
	} {
		if got := c.update(step.look); got != step.concerned || !c.endedAt().Equal(step.ended) {
			t.Errorf("step %d: concerns everybody: %v, ended %v", i, got, c.endedAt())
		}
	}
}
