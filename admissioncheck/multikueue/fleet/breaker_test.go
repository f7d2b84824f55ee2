package fleet

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestABreakerOpensAfterFaultsInARowAndClosesWithASuccess(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var b breaker
	fail := apierrors.NewInternalError(errors.New("etcd is slow"))
	for range breakAfter - 1 {
		b.done(fail, now)
	}
	b.done(apierrors.NewForbidden(schema.GroupResource{}, "x", nil), now)
	b.done(fail, now)
	if b.wait(now, time.Second, false) != 0 {
		t.Error("open although a refusal came in between")
	}
	for range breakAfter - 1 {
		b.done(fail, now)
	}
	if got := b.wait(now, time.Minute, false); got != time.Second {
		t.Errorf("waits for %v", got)
	}
	if b.wait(now, time.Minute, true) != 0 {
		t.Error("somebody with nothing to do waits")
	}
	now = now.Add(time.Second)
	if b.wait(now, time.Minute, false) != 0 {
		t.Error("nothing is ever tried again")
	}
	if got := b.wait(now, time.Minute, false); got != time.Minute {
		t.Errorf("while one is being tried, another waits for %v", got)
	}
	b.done(fail, now)
	if got := b.wait(now, time.Minute, false); got != 2*time.Second {
		t.Errorf("after another fault: %v", got)
	}
	for range 100 {
		b.done(fail, now)
	}
	if got := b.wait(now, time.Minute, false); got != breakMost {
		t.Errorf("after many: %v", got)
	}
	b.done(nil, now)
	if b.wait(now, time.Minute, false) != 0 {
		t.Error("open after a success")
	}
}

func TestCallsAndTheirFailuresAreCounted(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	var s stats
	transport, err := rest.TransportFor(s.counting(&rest.Config{Host: server.URL}))
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
