package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestABreakerOpensAfterFaultsInARowAndClosesWithASuccess(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var b breaker
	fail := apierrors.NewInternalError(errors.New("etcd is slow"))
	for range breakerThreshold - 1 {
		b.recordResult(fail, now)
	}
	b.recordResult(apierrors.NewForbidden(schema.GroupResource{}, "x", nil), now)
	b.recordResult(fail, now)
	if b.delay(now, time.Second, false) != 0 {
		t.Error("open although a refusal came in between")
	}
	for range breakerThreshold - 1 {
		b.recordResult(fail, now)
	}
	if got := b.delay(now, time.Minute, false); got != time.Second {
		t.Errorf("waits for %v", got)
	}
	if b.delay(now, time.Minute, true) != 0 {
		t.Error("somebody with nothing to do waits")
	}
	now = now.Add(time.Second)
	if b.delay(now, time.Minute, false) != 0 {
		t.Error("nothing is ever tried again")
	}
	if got := b.delay(now, time.Minute, false); got != time.Minute {
		t.Errorf("while one is being tried, another waits for %v", got)
	}
	b.recordResult(fail, now)
	if got := b.delay(now, time.Minute, false); got != 2*time.Second {
		t.Errorf("after another fault: %v", got)
	}
	for range 100 {
		b.recordResult(fail, now)
	}
	if got := b.delay(now, time.Minute, false); got != maxBreakerPause {
		t.Errorf("after many: %v", got)
	}
	b.recordResult(nil, now)
	if b.delay(now, time.Minute, false) != 0 {
		t.Error("open after a success")
	}
}

func TestAWorkloadHeldByAnOpenBreakerIsRequeuedOnce(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	w := newTestEnv(t, func(o *Options) { o.Clock, o.ProbeInterval = clock, time.Hour }, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	fails := Action{ID: "fails", Run: func(context.Context, client.Client) (any, error) {
		return nil, apierrors.NewInternalError(errors.New("the webhook is down"))
	}}
	for i := range breakerThreshold {
		w.fleet.SetActions("w1", keyOf(fmt.Sprint("fails-", i)), []Action{fails})
	}
	w.eventually("calls fail", func() bool { return w.state("w1").DegradedReason == failingReason })
	queue := priorityqueue.New[reconcile.Request](t.Name())
	defer queue.ShutDown()
	if err := w.fleet.WorkloadRequests().start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	waits := []Action{{ID: "waits", Run: func(context.Context, client.Client) (any, error) { return nil, nil }}}
	w.fleet.SetActions("w1", keyOf("waits"), waits)
	for {
		request, _ := queue.Get()
		queue.Done(request)
		if request.NamespacedName == keyOf("waits") {
			break
		}
	}
	lanes := w.fleet.lookup("w1").actionQueues
	if lanes.markHeld(keyOf("waits")) {
		t.Error("it would be looked at again, and again")
	}
}

func TestCallsAndTheirFailuresAreCounted(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	var s callStats
	transport, err := rest.TransportFor(s.wrapConfig(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	for _, status = range []int{200, 404, 500, 429} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if calls, failed := s.calls.Load(), s.errors.Load(); calls != 4 || failed != 2 {
		t.Errorf("%d calls, %d errors", calls, failed)
	}
}
