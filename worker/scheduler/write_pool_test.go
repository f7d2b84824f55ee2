package scheduler

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestWhatFreesQuotaGoesFirstThenPriorityThenAge(t *testing.T) {
	d := newWritePool()
	d.activeWriters = MaxConcurrentWrites // nobody takes anything yet
	for _, x := range []workItem{{priority: 1}, {priority: 5}, {freesQuota: true}, {priority: 5}, {freesQuota: true, priority: 2}} {
		d.add(t.Context(), &x)
	}
	var got []int64
	for next := d.popItem(); next != nil; next = d.popItem() {
		got = append(got, next.sequence)
	}
	if want := []int64{5, 3, 2, 1, 4}; !slices.Equal(got, want) { // the fourth is the oldest one's turn
		t.Errorf("order is %v, want %v", got, want)
	}
}

func TestTheWritePoolIsFullUntilHalfIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, answer := newWritePool(), make(chan struct{})
		var mu sync.Mutex
		writing, most := 0, 0
		for range maxUnfinished {
			d.add(t.Context(), &workItem{write: func(context.Context) {
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
		if !d.isFull() || d.countUnfinished() != maxUnfinished {
			t.Fatalf("%d are open, full is %v", d.countUnfinished(), d.isFull())
		}
		for range maxUnfinished/2 - 1 {
			answer <- struct{}{}
		}
		synctest.Wait()
		if !d.isFull() {
			t.Error("there is room before half is answered")
		}
		answer <- struct{}{}
		<-d.notFull
		if d.isFull() {
			t.Error("there is no room though half is answered")
		}
		close(answer)
		d.wait()
		if d.countUnfinished() != 0 || most != MaxConcurrentWrites {
			t.Errorf("%d are left, %d were written at the same time", d.countUnfinished(), most)
		}
	})
}

func TestTheSchedulerContinuesWhileWritesAreInProgress(t *testing.T) {
	s := newTestEnv(t)
	answer := make(chan struct{})
	s.onPatch = func() { <-answer }
	for i, name := range []string{"v", "w", "x"} {
		s.submitWorkload(name, 1)
		if batch := s.scheduler.runCycle(t.Context()); len(batch.Admit) != 1 || batch.Admit[0].Workload.Name != name {
			t.Fatalf("cycle %d admits %+v", i, batch.Admit)
		}
	}
	if got := s.scheduler.writePool.countUnfinished(); got != 3 {
		t.Errorf("%d decisions are unanswered, want 3", got)
	}
	close(answer)
	s.scheduler.writePool.wait()
	if got := s.conditionOf("x", kueue.WorkloadAdmitted); got != "True Admitted" {
		t.Errorf("Admitted is %q", got)
	}
}
