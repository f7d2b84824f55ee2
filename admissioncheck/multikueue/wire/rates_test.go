package wire

import (
	"testing"
	"testing/synctest"
	"time"
)

// taken is how many events a rate lets come in a time, one after the other, on so many streams.
func taken(t *testing.T, r *Rate, streams int, within time.Duration) int {
	t.Helper()
	ends, counts := time.Now().Add(within), make(chan int)
	for range streams {
		go func() {
			n := 0
			for ; time.Now().Before(ends); n++ {
				r.wait(t.Context(), 1, 1)
			}
			counts <- n
		}()
	}
	sum := 0
	for range streams {
		sum += <-counts
	}
	return sum
}

func TestAllClustersTogetherBringNoMoreThanTheHubCanBear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := NewRates()
		counts := make(chan int)
		const floods = 10
		for range floods {
			r := rates.Cluster()
			go func() { counts <- taken(t, r, 3, time.Minute) }()
		}
		sum := 0
		for range floods {
			sum += <-counts
		}
		if most := floods*(ownEventsBurst+60*ownEvents) + commonEventsBurst + 60*commonEvents + 3*floods; sum > most {
			t.Errorf("%d events in a minute, want at most %d", sum, most)
		}
	})
}

func TestAFloodOfOthersDelaysNoClusterWithinItsOwnRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := NewRates()
		flood := rates.Cluster()
		ended := make(chan int)
		go func() { ended <- taken(t, flood, 10, 10*time.Minute) }()
		modest := rates.Cluster()
		for range 10 * 60 * ownEvents / 2 {
			<-time.After(2 * time.Second / ownEvents)
			began := time.Now()
			modest.wait(t.Context(), ownBytes/ownEvents, 1)
			if waited := time.Since(began); waited > 0 {
				t.Fatalf("an event waits for %s", waited)
			}
		}
		<-ended
	})
}
