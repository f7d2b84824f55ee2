package network

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Write is a request that changes something, with the answer it got.
type Write struct {
	// Server is the name that Serve was given.
	Server string
	// Method and Path are the request's; Status is the answer's.
	Method, Path string
	Status       int

	body []byte
}

// Mentions tells whether the path or the body holds the text: a creation bears its object's name in the body only.
func (w Write) Mentions(text string) bool {
	return strings.Contains(w.Path, text) || bytes.Contains(w.body, []byte(text))
}

// String is the write without the names of namespace and object, so that writes of a kind look alike.
func (w Write) String() string {
	parts := strings.Split(strings.Trim(w.Path, "/"), "/")
	for i, part := range parts {
		if part == "namespaces" && len(parts) > i+2 {
			parts = parts[i+2:]
			break
		}
	}
	if len(parts) > 1 {
		parts[1] = "..."
	}
	return fmt.Sprintf("%s %s at %s (%d)", w.Method, strings.Join(parts, "/"), w.Server, w.Status)
}

// Checkpoint is a point that the writes of HTTPS clients to any number of servers pass one after another: while one is
// being answered none other is under way. Reads and watches pass at any time.
type Checkpoint struct {
	// Counts says which writes are looked at; the others pass like reads.
	Counts func(method, path string) bool
	// Passed is called after the server has answered a write and before the client hears of it. If it returns false the
	// client never does, and the checkpoint is closed: no write passes, here or to another server, until Open.
	Passed func(Write) bool

	mu     sync.Mutex
	closed bool
}

// Open lets writes pass again.
func (c *Checkpoint) Open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = false
}

// errClosed ends a request whose fate its client is not to learn.
var errClosed = errors.New("the checkpoint is closed")

// RoundTripper lets requests to the named server pass the checkpoint.
func (c *Checkpoint) RoundTripper(server string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if isRead(request.Method) || !c.Counts(request.Method, request.URL.Path) {
			return next.RoundTrip(request)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			return nil, errClosed
		}
		body, err := readBody(request)
		if err != nil {
			return nil, err
		}
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		w := Write{
			Server: server, Method: request.Method, Path: request.URL.Path, Status: response.StatusCode, body: body,
		}
		if c.closed = !c.Passed(w); c.closed {
			return nil, errors.Join(errClosed, response.Body.Close())
		}
		return response, nil
	})
}

// readBody returns the body of a request, which still has it.
func readBody(request *http.Request) ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(request.Body)
	if err := errors.Join(err, request.Body.Close()); err != nil {
		return nil, fmt.Errorf("reading the body of a write: %w", err)
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func isRead(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// Proxy is an HTTPS server on loopback that hands requests on.
type Proxy struct {
	listener net.Listener
	server   *http.Server
}

// Serve starts a proxy to the URL of a server, by the transport. A request that the transport fails is cut off without an
// answer.
func Serve(certificate tls.Certificate, target string, transport http.RoundTripper) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	p := &Proxy{listener: listener, server: &http.Server{
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // clients that are killed are what this is for
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		Handler: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			Transport:     transport,
			FlushInterval: -1, // watches are answers without an end
			ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
	}}
	go p.serve()
	return p, nil
}

// serve returns when the listener is closed, which is all that ever ends it.
func (p *Proxy) serve() { _ = p.server.ServeTLS(p.listener, "", "") }

// Addr is where clients connect, "127.0.0.1:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends all connections.
func (p *Proxy) Close() error {
	if err := p.server.Close(); err != nil {
		return fmt.Errorf("closing a proxy: %w", err)
	}
	return nil
}
