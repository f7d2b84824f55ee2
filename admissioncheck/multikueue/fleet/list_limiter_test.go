package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// newFullListLimiter is an entrance without a place left, and what frees one of them.
func newFullListLimiter(t *testing.T, c *testingclock.FakeClock) (full listLimiter, leave func()) {
	t.Helper()
	full = newListLimiter()
	for range maxListingClusters {
		var err error
		if leave, err = full.acquire(t.Context(), nil, c); err != nil {
			t.Fatal(err)
		}
	}
	return full, leave
}

func TestAReleasedListSlotIsFreeOnce(t *testing.T) {
	c := testingclock.NewFakeClock(time.Now())
	full, leave := newFullListLimiter(t, c)
	leave()
	leave() // says no more than the first time
	next, err := full.acquire(t.Context(), nil, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(full) != maxListingClusters {
		t.Errorf("%d places are taken", len(full))
	}
	next()
}

func TestAListSlotIsFreedAfterItsTimeout(t *testing.T) {
	c := testingclock.NewFakeClock(time.Now())
	full, _ := newFullListLimiter(t, c)
	entered := make(chan error)
	go func() {
		_, err := full.acquire(t.Context(), nil, c)
		entered <- err
	}()
	c.Step(listSlotTimeout)
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
}

func TestTheWaitForAListSlotEndsWithNewCredentialsAndTheContext(t *testing.T) {
	c := testingclock.NewFakeClock(time.Now())
	full, _ := newFullListLimiter(t, c)
	renewed := make(chan struct{}, 1)
	renewed <- struct{}{}
	if _, err := full.acquire(t.Context(), renewed, c); !errors.Is(err, errCredentialsChanged) {
		t.Errorf("with new credentials: %v", err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := full.acquire(over, nil, c); !errors.Is(err, context.Canceled) {
		t.Errorf("at the end of the program: %v", err)
	}
}
