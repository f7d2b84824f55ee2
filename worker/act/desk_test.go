package act

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	kueue "switchyard.dev/apis/kueue/v1beta2"
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
		writing, most := 0, 0
		for range maxOpen {
			d.add(t.Context(), &task{write: func(context.Context) {
				mu.Lock()
				writing++
				most = max(most, writing)
				mu.Unlock()
				<-answer
				mu.Lock()
				writing--
				mu.Unlock()
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
		if d.unanswered() != 0 || most != Writers {
			t.Errorf("%d are left, %d were written at the same time", d.unanswered(), most)
		}
	})
}

func TestTheLoopDecidesOnWhileWritesAreUnderWay(t *testing.T) {
	s := newStage(t)
	answer := make(chan struct{})
	s.patched = func() { <-answer }
	for i, name := range []string{"v", "w", "x"} {
		s.submit(name, 1)
		if batch := s.loop.once(t.Context()); len(batch.Admit) != 1 || batch.Admit[0].Workload.Name != name {
			t.Fatalf("cycle %d admits %+v", i, batch.Admit)
		}
	}
	if got := s.loop.desk.unanswered(); got != 3 {
		t.Errorf("%d decisions are unanswered, want 3", got)
	}
	close(answer)
	s.loop.desk.wait()
	if got := s.condition("x", kueue.WorkloadAdmitted); got != "True Admitted" {
		t.Errorf("Admitted is %q", got)
	}
}
