package queue

import (
	"testing"
	"time"
)

var testStart = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

// runBusyObjects plays objects that always have something to write, each looked at when it is told to come back, and returns when
// each of them was written.
func runBusyObjects(p *RateLimiter, objects int, during time.Duration) [][]time.Duration {
	written := make([][]time.Duration, objects)
	next := make([]time.Time, objects)
	for i := range next {
		next[i] = testStart
	}
	for now := testStart; now.Before(testStart.Add(during)); now = now.Add(10 * time.Millisecond) {
		for i := range next {
			if next[i].After(now) {
				continue
			}
			if wait := p.Delay(i, now); wait > 0 {
				next[i] = now.Add(wait)
				continue
			}
			p.RecordWrite(i, now)
			written[i] = append(written[i], now.Sub(testStart))
		}
	}
	return written
}

func TestAnObjectThatKeepsChangingIsWrittenLessAndLessOften(t *testing.T) {
	got := runBusyObjects(NewRateLimiter(), 1, 40*time.Second)[0]
	want := []int{0, 1, 3, 7, 15, 23, 31, 39}
	if len(got) != len(want) {
		t.Fatalf("written at %v, want %v seconds", got, want)
	}
	for i := range want {
		if got[i].Seconds() != float64(want[i]) {
			t.Errorf("written at %v, want %v seconds", got, want)
			break
		}
	}
}

func TestAChangeAfterAQuietTimeIsWrittenAtOnce(t *testing.T) {
	p := NewRateLimiter()
	runBusyObjects(p, 1, 20*time.Second)
	later := testStart.Add(time.Minute)
	if wait := p.Delay(0, later); wait != 0 {
		t.Errorf("it has to wait %v", wait)
	}
	p.RecordWrite(0, later)
	if wait := p.Delay(0, later); wait != time.Second {
		t.Errorf("the next change waits %v, want the first interval", wait)
	}
}

func TestTheWritesOfAllObjectsAreLimited(t *testing.T) {
	const objects, minutes = 2000, 5
	writes, fewest := 0, 1<<30
	for _, w := range runBusyObjects(NewRateLimiter(), objects, minutes*time.Minute) {
		writes += len(w)
		fewest = min(fewest, len(w))
	}
	if most := 20*60*minutes + burstSlots; writes > most || writes < most*9/10 {
		t.Errorf("%d writes in %d minutes, want nearly %d", writes, minutes, most)
	}
	if fair := writes / objects; fewest < fair-1 {
		t.Errorf("one was written %d times, on average %d", fewest, fair)
	}
}

func TestAFewObjectsAreNotDelayed(t *testing.T) {
	for i, w := range runBusyObjects(NewRateLimiter(), burstSlots, time.Second/2) {
		if len(w) != 1 || w[0] != 0 {
			t.Errorf("object %d was written at %v", i, w)
		}
	}
}

func TestAnUrgentWriteTakesASlot(t *testing.T) {
	p := NewRateLimiter()
	for i := range 2 * burstSlots {
		p.RecordWrite(i, testStart)
	}
	if wait := p.Delay("other", testStart); wait != (burstSlots+1)*slotDuration {
		t.Errorf("it waits %v, want %v", wait, (burstSlots+1)*slotDuration)
	}
}

func TestADeletedObjectIsForgotten(t *testing.T) {
	p := NewRateLimiter()
	p.RecordWrite("a", testStart)
	p.Forget("a")
	if len(p.objects) != 0 {
		t.Error("it is kept")
	}
}
