package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

func TestEventsOfOneWriteBecomeOneWhenManyWait(t *testing.T) {
	s := newTestEnv(t)
	h := s.scheduler.eventQueue
	for i := range mergeThreshold + 1 {
		h.enqueue(workloadNamed(i), kube.Event{Reason: "QuotaReserved", Note: "quota"}, kube.Event{Reason: "Admitted", Note: "runs"})
	}
	if sent := h.sendNext(t.Context()); sent != 1 {
		t.Errorf("%d events for the first, want 1", sent)
	}
	if got := <-s.events.Events; !strings.Contains(got, "Admitted runs; quota") {
		t.Errorf("the one event is %q", got)
	}
	if sent := h.sendNext(t.Context()); sent != 2 {
		t.Errorf("%d events for the second, when few wait, want 2", sent)
	}
}

func TestTheOldestEventsAreDroppedWhenTheServerCannotKeepUp(t *testing.T) {
	s := newTestEnv(t)
	h := s.scheduler.eventQueue
	for i := range maxQueuedEvents + 10 {
		h.enqueue(workloadNamed(i), kube.Event{Reason: "Admitted", Note: fmt.Sprint(i)})
	}
	if len(h.queued) != maxQueuedEvents || h.dropped != 10 || h.queued[0].events[0].Note != "10" {
		t.Errorf("%d wait, %d were dropped, the first is %v", len(h.queued), h.dropped, h.queued[0].events)
	}
}

func TestEnqueueingNoEventsDoesNothing(t *testing.T) {
	s := newTestEnv(t)
	s.scheduler.eventQueue.enqueue(workloadNamed(1))
	if sent := s.scheduler.eventQueue.sendNext(t.Context()); sent != 0 {
		t.Errorf("%d events", sent)
	}
}

func TestPausesFollowTheServersLatency(t *testing.T) {
	var got []time.Duration
	for _, latency := range []time.Duration{0, 10 * time.Millisecond, time.Minute} {
		p := &latencyTracker{}
		p.observe(latency)
		got = append(got, p.pause(2))
	}
	if want := []time.Duration{minPause, 20 * time.Millisecond, maxPause}; !slices.Equal(got, want) {
		t.Errorf("pauses are %v, want %v", got, want)
	}
}

func workloadNamed(i int) *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("w", i)}}
}
