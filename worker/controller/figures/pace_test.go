package figures

import (
	"testing"
	"time"
)

var epoch = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

// busy plays objects that always have something to write, each looked at when it is told to come back, and returns when
// each of them was written.
func busy(p *Pace, objects int, during time.Duration) [][]time.Duration {
	written := make([][]time.Duration, objects)
	next := make([]time.Time, objects)
	for i := range next {
		next[i] = epoch
	}
	for now := epoch; now.Before(epoch.Add(during)); now = now.Add(10 * time.Millisecond) {
		for i := range next {
			if next[i].After(now) {
				continue
			}
			if wait := p.Wait(i, now); wait > 0 {
				next[i] = now.Add(wait)
				continue
			}
			p.Wrote(i, now)
			written[i] = append(written[i], now.Sub(epoch))
		}
	}
	return written
}

func TestAnObjectThatKeepsChangingIsWrittenLessAndLessOften(t *testing.T) {
	got := busy(NewPace(), 1, 40*time.Second)[0]
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
	p := NewPace()
	busy(p, 1, 20*time.Second)
	later := epoch.Add(time.Minute)
	if wait := p.Wait(0, later); wait != 0 {
		t.Errorf("it has to wait %v", wait)
	}
	p.Wrote(0, later)
	if wait := p.Wait(0, later); wait != time.Second {
		t.Errorf("the next change waits %v, want the first interval", wait)
	}
}

func TestAllObjectsShareABoundedNumberOfWrites(t *testing.T) {
	const objects, minutes = 2000, 5
	writes, fewest := 0, 1<<30
	for _, w := range busy(NewPace(), objects, minutes*time.Minute) {
		writes += len(w)
		fewest = min(fewest, len(w))
	}
	if most := 20*60*minutes + burst; writes > most || writes < most*9/10 {
		t.Errorf("%d writes in %d minutes, want nearly %d", writes, minutes, most)
	}
	if fair := writes / objects; fewest < fair-1 {
		t.Errorf("one was written %d times, on average %d", fewest, fair)
	}
}

func TestAFewObjectsDoNotFeelTheOthers(t *testing.T) {
	for i, w := range busy(NewPace(), burst, time.Second/2) {
		if len(w) != 1 || w[0] != 0 {
			t.Errorf("object %d was written at %v", i, w)
		}
	}
}

func TestWhatDoesNotWaitTakesASlotFromTheOthers(t *testing.T) {
	p := NewPace()
	for i := range 2 * burst {
		p.Wrote(i, epoch)
	}
	if wait := p.Wait("other", epoch); wait != (burst+1)*slot {
		t.Errorf("it waits %v, want %v", wait, (burst+1)*slot)
	}
}

func TestAnObjectThatIsGoneIsForgotten(t *testing.T) {
	p := NewPace()
	p.Wrote("a", epoch)
	p.Forget("a")
	if len(p.objects) != 0 {
		t.Error("it is kept")
	}
}
