package act

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
	s := newStage(t)
	h := s.loop.herald
	for i := range crowded + 1 {
		h.tell(named(i), kube.Event{Reason: "QuotaReserved", Note: "quota"}, kube.Event{Reason: "Admitted", Note: "runs"})
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
	s := newStage(t)
	h := s.loop.herald
	for i := range maxBulletins + 10 {
		h.tell(named(i), kube.Event{Reason: "Admitted", Note: fmt.Sprint(i)})
	}
	if len(h.waiting) != maxBulletins || h.dropped != 10 || h.waiting[0].events[0].Note != "10" {
		t.Errorf("%d wait, %d were dropped, the first is %v", len(h.waiting), h.dropped, h.waiting[0].events)
	}
}

func TestAWorkloadToldNothingCostsNothing(t *testing.T) {
	s := newStage(t)
	s.loop.herald.tell(named(1))
	if sent := s.loop.herald.sendNext(t.Context()); sent != 0 {
		t.Errorf("%d events", sent)
	}
}

func TestPausesFollowTheServersLatency(t *testing.T) {
	var got []time.Duration
	for _, latency := range []time.Duration{0, 10 * time.Millisecond, time.Minute} {
		p := &pace{}
		p.took(latency)
		got = append(got, p.pause(2))
	}
	if want := []time.Duration{minPause, 20 * time.Millisecond, maxPause}; !slices.Equal(got, want) {
		t.Errorf("pauses are %v, want %v", got, want)
	}
}

func named(i int) *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("w", i)}}
}
