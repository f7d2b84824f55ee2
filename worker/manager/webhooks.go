package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

var errNotServing = errors.New("webhooks are not served yet")

// webhookServer serves webhooks to all clients, with bounds on their connections and bodies. Of the server that it is made of
// it takes only what counts requests: that one would open a listener without bounds.
type webhookServer struct {
	webhook.Server
	limiter  *requestLimiter
	endpoint endpoint
	// certificates is the directory of tls.crt and tls.key; changes are noticed.
	certificates string
	mux          *http.ServeMux
	serving      *atomic.Pointer[net.Addr]
}

// newWebhookServer returns the server of the webhooks. It reads the certificates when it starts.
func newWebhookServer(s Settings, b *requestLimiter, certificates string) webhookServer {
	mux := http.NewServeMux()
	return webhookServer{
		Server:  webhook.NewServer(webhook.Options{WebhookMux: mux}),
		limiter: b,
		endpoint: endpoint{
			name: "webhook", address: net.JoinHostPort(s.Webhook.Host, strconv.Itoa(*s.Webhook.Port)), limits: webhookLimits,
			tls: tlsConfig(s),
		},
		certificates: certificates,
		mux:          mux,
		serving:      new(atomic.Pointer[net.Addr]),
	}
}

// Register implements webhook.Server.
func (s webhookServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, s.limiter.limit(path, hook))
}

// WebhookMux implements webhook.Server.
func (s webhookServer) WebhookMux() *http.ServeMux { return s.mux }

// Start serves until the context ends.
func (s webhookServer) Start(ctx context.Context) error {
	watcher, err := certwatcher.New(filepath.Join(s.certificates, "tls.crt"), filepath.Join(s.certificates, "tls.key"))
	if err != nil {
		return fmt.Errorf("read the certificate of webhooks: %w", err)
	}
	go func() {
		if err := watcher.Start(ctx); err != nil {
			ctrl.Log.WithName("certwatcher").Error(err, "The certificate of webhooks is not watched")
		}
	}()
	s.endpoint.tls.GetCertificate = watcher.GetCertificate
	open, err := s.endpoint.listen(ctx)
	if err != nil {
		return err
	}
	s.serving.Store(new(open.Addr()))
	return s.endpoint.server(ctx, open, s.mux).Start(ctx)
}

// StartedChecker tells whether the port answers.
func (s webhookServer) StartedChecker() healthz.Checker {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{InsecureSkipVerify: true}}
	return func(r *http.Request) error {
		address := s.serving.Load()
		if address == nil {
			return errNotServing
		}
		c, err := dialer.DialContext(r.Context(), "tcp", (*address).String())
		if err != nil {
			return fmt.Errorf("the webhooks' port does not answer: %w", err)
		}
		return c.Close()
	}
}
