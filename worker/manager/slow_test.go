package manager

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// send sends requests with a body of 1 MiB, or only the beginning of it, from another address, and reads no answer.
func send(t *testing.T, to *httptest.Server, requests int, body string) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}
	for range requests {
		c, err := dialer.DialContext(t.Context(), "tcp", to.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		go func() {
			fmt.Fprintf(c, "POST /validate HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s", smallBody, body)
		}()
	}
}

// serveBodies serves a webhook that answers each review with so many bytes.
func serveBodies(t *testing.T, answer int) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	s := webhookServer{Server: webhook.NewServer(webhook.Options{WebhookMux: mux}), limiter: newTestBodies(t)}
	s.Register("/validate", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.CopyN(w, zeros{}, int64(answer))
	}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// review sends one from another address than the slow remotes, in the time that API servers give webhooks.
func review(t *testing.T, server *httptest.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/validate", strings.NewReader("{}"))
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatalf("a review is not answered: %v", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("a review is answered with %d", response.StatusCode)
	}
}

func TestSlowBodiesOfOneKeepNobodyElseFromBeingAdmitted(t *testing.T) {
	server := serveBodies(t, 1)
	send(t, server, 2*maxSmall/smallBody, "{")
	for range 200 {
		review(t, server)
	}
}

func TestAnswersThatNobodyReadsKeepNobodyElseFromBeingAdmitted(t *testing.T) {
	server := serveBodies(t, 16<<20)
	send(t, server, 2*maxSmall/smallBody, "{"+strings.Repeat(" ", smallBody-2)+"}")
	for range 10 {
		review(t, server)
	}
}
