package profile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"switchyard.dev/admissioncheck/multikueue/wire"
)

// retryInterval is the least time between two runs of a program that fails, or whose credentials are refused.
const retryInterval = 2 * time.Second

// errPluginTimeout is the cause of death of a program that took too long.
var errPluginTimeout = errors.New("it took too long")

// transport makes requests with the credentials of one cluster's program. It runs the program when there is a request and
// no valid credential, one run at a time, and lets no request wait beyond its context.
type transport struct {
	plugin *plugin
	// limit is runLimit, now the time.
	limit time.Duration
	now   func() time.Time

	// tls is that of the server; never changed.
	tls *tls.Config

	mu      sync.Mutex
	running chan struct{} // closed when the present run has ended, nil when there is none
	ended   time.Time     // when the last run ended
	err     error         // why the last run failed
	current *credential
	base    *http.Transport // for the current certificate
}

// newTransport returns a transport that authenticates by a provider's program, over TLS without credentials of its own.
func newTransport(config *rest.Config) (*transport, error) {
	p, err := newPlugin(config)
	if err != nil {
		return nil, err
	}
	server := &rest.Config{Host: config.Host, TLSClientConfig: config.TLSClientConfig}
	secure, err := rest.TLSConfigFor(server)
	if err != nil {
		return nil, fmt.Errorf("trust the server: %w", err)
	}
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &transport{plugin: p, limit: runLimit, now: time.Now, tls: secure}, nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	c, base, err := t.credential(request.Context())
	if err != nil {
		if request.Body != nil {
			err = errors.Join(err, request.Body.Close())
		}
		return nil, err
	}
	if c.token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := base.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		t.onUnauthorized(c)
	}
	return response, err
}

// credential returns a valid credential and the connections that go with it, and runs the program if there is none.
func (t *transport) credential(ctx context.Context) (*credential, *http.Transport, error) {
	for first := true; ; first = false {
		t.mu.Lock()
		switch now := t.now(); {
		case t.current != nil && (t.current.expires.IsZero() || now.Before(t.current.expires)):
			c, base := t.current, t.base
			t.mu.Unlock()
			return c, base, nil
		case t.running == nil && t.err != nil && (!first || now.Sub(t.ended) < retryInterval):
			err := t.err
			t.mu.Unlock()
			return nil, nil, err
		case t.running == nil:
			t.running = make(chan struct{})
			go t.renew(t.running)
		}
		running := t.running
		t.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for the credential plugin %s: %w", t.plugin.config.Command, context.Cause(ctx))
		}
	}
}

// renew runs the program once. It depends on no request: others wait for the same answer.
func (t *transport) renew(done chan struct{}) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), t.limit, errPluginTimeout)
	defer cancel()
	c, err := t.plugin.run(ctx)
	if err == nil && !c.expires.IsZero() && !t.now().Before(c.expires) {
		err = fmt.Errorf("credential plugin %s: what it gives has expired", t.plugin.config.Command)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.err, t.running = t.now(), err, nil
	if err == nil {
		t.useCredential(c)
	}
	close(done)
}

// useCredential needs t.mu. Connections made with another certificate are left to the requests that use them.
func (t *transport) useCredential(c *credential) {
	before := t.current
	t.current = c
	if t.base != nil && before != nil && before.pem == c.pem {
		return
	}
	if t.base != nil {
		go t.base.CloseIdleConnections()
	}
	secure := t.tls.Clone()
	if c.pair != nil {
		secure.Certificates = []tls.Certificate{*c.pair}
	}
	t.base = wire.Transport(secure)
}

// onUnauthorized makes the program run again, because the server does not accept what it gave, unless it has just run.
func (t *transport) onUnauthorized(c *credential) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == c && t.now().Sub(t.ended) >= retryInterval {
		expired := *c
		expired.expires = t.ended
		t.current = &expired
	}
}
