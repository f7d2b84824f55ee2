package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"switchyard.dev/worker/listener"
)

const (
	// headerTimeout is how long a handshake and the head of a request may take each, idleTimeout how long a connection may be of no use.
	headerTimeout = 10 * time.Second
	idleTimeout   = 90 * time.Second
	// exchangeTimeout is how long a request and its answer may take, which is longer than any client waits for one.
	exchangeTimeout = time.Minute
	// maxHeader is the most that the head of a request may have, in bytes.
	maxHeader = 32 << 10
	// shutdownTimeout is how long requests may take that are there when the program is told to stop.
	shutdownTimeout = time.Minute
)

// Limits of each listener. API servers open a connection for each review at a time; no other client opens many.
var (
	webhookLimits = listener.Limits{Total: 2048, Remote: 1024}
	metricsLimits = listener.Limits{Total: 256, Remote: 64}
	probeLimits   = listener.Limits{Total: 128, Remote: 32}
	profileLimits = listener.Limits{Total: 32, Remote: 16}
)

var closedConnections = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "switchyard_closed_connections_total",
	Help: "Connections closed because their remote address, or all together, had too many open, by listener and reason",
}, []string{"listener", "reason"})

func init() { metrics.Registry.MustRegister(closedConnections, newBuildInfo()) }

// addServers serves metrics, probes and profiles; webhooks have the manager's own place for them.
func addServers(ctx context.Context, mgr manager.Manager, s Settings, certs *certificates, gatherer prometheus.Gatherer) error {
	if err := addMetrics(ctx, mgr, s, gatherer); err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	if err := addProbes(ctx, mgr, s, certs); err != nil {
		return fmt.Errorf("serve probes: %w", err)
	}
	if err := addProfiles(ctx, mgr, s); err != nil {
		return fmt.Errorf("serve profiles: %w", err)
	}
	return nil
}

// endpoint is an address at which the program serves something.
type endpoint struct {
	name    string
	address string
	limits  listener.Limits
	// tls is nil for plain text.
	tls *tls.Config
	// streams says that an answer takes as long as the client wants it to.
	streams bool
}

// listen opens the endpoint. What is beyond its limits is closed at once.
func (e endpoint) listen(ctx context.Context) (net.Listener, error) {
	inner, err := new(net.ListenConfig).Listen(ctx, "tcp", e.address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s for %s: %w", e.address, e.name, err)
	}
	var bounded net.Listener = listener.NewListener(inner, e.limits, func(why listener.Refusal) {
		closedConnections.WithLabelValues(e.name, string(why)).Inc()
	})
	if e.tls != nil {
		bounded = tls.NewListener(bounded, e.tls)
	}
	return bounded, nil
}

// server serves a handler at an open endpoint. The manager starts it before anything else, on every replica.
func (e endpoint) server(ctx context.Context, open net.Listener, handler http.Handler) *manager.Server {
	server := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler:           handler,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
	}
	if !e.streams {
		server.ReadTimeout, server.WriteTimeout = exchangeTimeout, exchangeTimeout
	}
	return &manager.Server{Name: e.name, Listener: open, Server: server, ShutdownTimeout: new(shutdownTimeout)}
}

// add opens the endpoint and has the manager serve it; nothing if its address is "0" or none.
func (e endpoint) add(ctx context.Context, mgr manager.Manager, handler http.Handler) error {
	if e.address == "" || e.address == disabled {
		return nil
	}
	open, err := e.listen(ctx)
	if err != nil {
		return err
	}
	return mgr.Add(e.server(ctx, open, handler))
}

// disabled is the address of what is not served.
const disabled = "0"
