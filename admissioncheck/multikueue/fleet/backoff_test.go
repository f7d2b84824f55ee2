package fleet

import (
	"testing"
	"time"
)

func TestReconnectBackoffDoublesUpToItsLimit(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 5 * time.Second, 1: 5 * time.Second, 2: 10 * time.Second, 4: 40 * time.Second, 7: 320 * time.Second, 100: 320 * time.Second,
	} {
		if got := ReconnectBackoff(failures); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
	for failures, want := range map[int]time.Duration{0: time.Minute, 1: 2 * time.Minute, 3: 8 * time.Minute, 4: 10 * time.Minute, 99: 10 * time.Minute} {
		if got := ConnectTimeout(failures); got != want {
			t.Errorf("patience after %d failures: %v, want %v", failures, got, want)
		}
	}
}
