package access

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/streaming/pkg/httpstream"
)

const (
	// idleTimeout is how long a connection may carry nothing: as long as that of a kubelet. streamTimeout is how long one lasts at most.
	idleTimeout   = 4 * time.Hour
	streamTimeout = 24 * time.Hour
)

// stream hands a request for a log, or for a connection to a container, to the worker of the pod. The query goes with it as it came.
func (h *Handler) stream(w http.ResponseWriter, req *http.Request, r request, at *located) error {
	if r.target == targetConnect && !httpstream.IsUpgradeRequest(req) {
		return apierrors.NewBadRequest("this needs a connection that is upgraded, by SPDY or WebSocket: is there a proxy on the way that takes the upgrade out?")
	}
	ctx, cancel := context.WithTimeout(req.Context(), streamTimeout)
	defer cancel()
	location := at.worker.url(nil, resourceParts(r.resource, r.namespace, r.name, r.subresource)...)
	location.RawQuery = req.URL.RawQuery
	out, err := http.NewRequestWithContext(ctx, req.Method, location.String(), req.Body)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	out.Header = workerHeader(req.Header)
	out.ContentLength = req.ContentLength
	// Empty, but there: nothing about the way of the request is added.
	out.Header["X-Forwarded-For"] = nil
	answering := responder{worker: at.worker}
	through := proxy.NewUpgradeAwareHandler(location, sanitized{at.worker}, false, r.target == targetConnect, answering)
	through.UseLocationHost = true
	through.RejectForwardingRedirects = true
	through.FlushInterval = -1
	if r.target == targetConnect {
		phase := &phase{}
		if through.UpgradeTransport, err = at.worker.upgrading(ctx, phase); err != nil {
			return err
		}
		w = hijackable{w, phase}
	}
	defer func() {
		// The proxy aborts an answer that was cut short, so that the caller notices. A caller that has left notices nothing.
		if aborted := recover(); aborted != nil && (aborted != http.ErrAbortHandler || req.Context().Err() == nil) { //nolint:errorlint // a panic's value
			panic(aborted)
		}
	}()
	through.ServeHTTP(w, out)
	return nil
}

// phase is how far a connection is: until the worker has answered it has to do so soon, afterwards it may be silent for long.
type phase struct{ upgraded atomic.Bool }

func (p *phase) limit() time.Duration {
	if p.upgraded.Load() {
		return idleTimeout
	}
	return answerTimeout
}

// hijackable notices when a connection is upgraded.
type hijackable struct {
	http.ResponseWriter

	phase *phase
}

// Hijack implements http.Hijacker.
func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h.phase.upgraded.Store(true)
	return http.NewResponseController(h.ResponseWriter).Hijack()
}

// responder answers with what went wrong on the way to a worker.
type responder struct{ worker *worker }

// Error implements proxy.ErrorResponder.
func (r responder) Error(w http.ResponseWriter, _ *http.Request, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		err = r.worker.unreachable(err)
	}
	writeError(w, err)
}

// sanitized carries requests for logs. The answer keeps nothing of the worker's headers but what kind of text it is, and that is never one that a
// browser would run.
type sanitized struct{ worker *worker }

// RoundTrip implements http.RoundTripper.
func (s sanitized) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.worker.begin(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		resp.Header = http.Header{"Content-Type": {"text/plain"}, "X-Content-Type-Options": {"nosniff"}}
		return resp, nil
	}
	defer resp.Body.Close()
	status := statusOf(s.worker.failure(resp))
	raw, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("write a status: %w", err)
	}
	return &http.Response{
		StatusCode: int(status.Code), ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {acceptJSON}},
		Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw)), Request: req,
	}, nil
}

// begin sends a request, and gives up if no answer begins in time. The answer itself may take longer.
func (w *worker) begin(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(answerTimeout, func() { cancel(context.DeadlineExceeded) })
	resp, err := w.plain.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
		if !timer.Stop() {
			return nil, w.unreachable(context.DeadlineExceeded)
		}
		return nil, w.unreachable(err)
	}
	timer.Stop()
	resp.Body = closing{resp.Body, func() { cancel(nil) }}
	return resp, nil
}

// closing calls closed when the body is closed.
type closing struct {
	io.ReadCloser

	closed func()
}

func (c closing) Close() error {
	defer c.closed()
	return c.ReadCloser.Close()
}

// upgrading makes the connection of one request that is upgraded. It has a TLS configuration of its own, speaks HTTP/1.1, and ends with the
// context, or when nothing has come for too long.
func (w *worker) upgrading(ctx context.Context, at *phase) (proxy.UpgradeRequestRoundTripper, error) {
	tlsConfig, err := rest.TLSConfigFor(w.config)
	if err != nil {
		return nil, fmt.Errorf("trust cluster %q: %w", w.name, err)
	}
	carrier := &http.Transport{
		TLSClientConfig: tlsConfig.Clone(),
		DialContext: func(dialing context.Context, network, address string) (net.Conn, error) {
			conn, err := newDialer().DialContext(dialing, network, address)
			if err != nil {
				return nil, err
			}
			return watchIdle(ctx, conn, at), nil
		},
	}
	transportConfig, err := w.config.TransportConfig()
	if err != nil {
		return nil, fmt.Errorf("reach cluster %q: %w", w.name, err)
	}
	authenticating, err := transport.HTTPWrappersForConfig(transportConfig, proxy.MirrorRequest)
	if err != nil {
		return nil, fmt.Errorf("log in to cluster %q: %w", w.name, err)
	}
	return proxy.NewUpgradeRequestRoundTripper(carrier, authenticating), nil
}

// idleConn ends with a context, and when it has carried nothing for too long.
type idleConn struct {
	net.Conn

	phase *phase
	stop  func() bool
}

func watchIdle(ctx context.Context, conn net.Conn, at *phase) net.Conn {
	return &idleConn{Conn: conn, phase: at, stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}
}

// Read implements net.Conn.
func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.phase.limit())); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn. What goes to a container counts as life for both directions.
func (c *idleConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.phase.limit())); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *idleConn) Close() error {
	c.stop()
	return c.Conn.Close()
}

// statusOf is the Status that an error is told by.
func statusOf(err error) metav1.Status {
	told := apierrors.NewInternalError(err).ErrStatus
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		told = known.Status()
	}
	told.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return told
}

// writeError answers with an error.
func writeError(w http.ResponseWriter, err error) {
	told := statusOf(err)
	raw, marshalErr := json.Marshal(told)
	if marshalErr != nil {
		raw = []byte("{}")
	}
	w.Header().Set("Content-Type", acceptJSON)
	if told.Code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(int(max(told.Code, http.StatusBadRequest)))
	_, _ = w.Write(append(bytes.TrimSpace(raw), '\n'))
}
