package act

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestWhatFreesQuotaGoesFirstThenPriorityThenAge(t *testing.T) {
	d := newDesk()
	d.busy = Writers // nobody takes anything yet
	for _, x := range []task{{priority: 1}, {priority: 5}, {frees: true}, {priority: 5}, {frees: true, priority: 2}} {
		d.add(t.Context(), &x)
	}
	var got []int64
	for next := d.take(); next != nil; next = d.take() {
		got = append(got, next.number)
	}
	if want := []int64{5, 3, 2, 1, 4}; !slices.Equal(got, want) { // the fourth is the oldest one's turn
		t.Errorf("order is %v, want %v", got, want)
	}
}

func TestTheDeskIsFullUntilHalfIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, answer := newDesk(), make(chan struct{})
		var mu sync.Mutex
		most := 0
		for range maxOpen {
			d.add(t.Context(), &task{write: func(context.Context) {
				mu.Lock()
				most = max(most, d.unanswered())
				mu.Unlock()
				<-answer
			}})
		}
		synctest.Wait()
		if !d.isFull() || d.unanswered() != maxOpen {
			t.Fatalf("%d are open, full is %v", d.unanswered(), d.isFull())
		}
		for range maxOpen/2 - 1 {
			answer <- struct{}{}
		}
		synctest.Wait()
		if !d.isFull() {
			t.Error("there is room before half is answered")
		}
		answer <- struct{}{}
		<-d.room
		if d.isFull() {
			t.Error("there is no room though half is answered")
		}
		close(answer)
		d.wait()
		if d.unanswered() != 0 || most != maxOpen {
			t.Errorf("%d are left, %d were open at most", d.unanswered(), most)
		}
	})
}
