package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// crowded is an entrance without a place left, and what frees one of them.
func crowded(t *testing.T, c *testingclock.FakeClock) (full entrance, leave func()) {
	t.Helper()
	full = newEntrance()
	for range entrants {
		var err error
		if leave, err = full.enter(t.Context(), nil, c); err != nil {
			t.Fatal(err)
		}
	}
	return full, leave
}

func TestWhoLeavesTheEntranceMakesRoomForOne(t *testing.T) {
	c := testingclock.NewFakeClock(time.Now())
	full, leave := crowded(t, c)
	leave()
	leave() // says no more than the first time
	next, err := full.enter(t.Context(), nil, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(full) != entrants {
		t.Errorf("%d places are taken", len(full))
	}
	next()
}

func TestWhoTakesLongMakesRoomAllTheSame(t *testing.T) {
	c := testingclock.NewFakeClock(time.Now())
	full, _ := crowded(t, c)
	entered := make(chan error)
	go func() {
		_, err := full.enter(t.Context(), nil, c)
		entered <- err
	}()
	c.Step(headStart)
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
}

func TestNobodyIsHeldAtTheEntranceForGood(t *testing.T) {
	c := testingclock.NewFakeClock(time.Now())
	full, _ := crowded(t, c)
	renewed := make(chan struct{}, 1)
	renewed <- struct{}{}
	if _, err := full.enter(t.Context(), renewed, c); !errors.Is(err, errReplaced) {
		t.Errorf("with new credentials: %v", err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := full.enter(over, nil, c); !errors.Is(err, context.Canceled) {
		t.Errorf("at the end of the program: %v", err)
	}
}
