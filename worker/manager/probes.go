package manager

import (
	"context"
	"net/http"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// addProbes makes the program live as soon as it answers, and ready once certificates are there and webhooks are served.
func addProbes(ctx context.Context, mgr manager.Manager, s Settings, certs *certificates) error {
	serving := mgr.GetWebhookServer().StartedChecker()
	ready := &healthz.Handler{Checks: map[string]healthz.Checker{"readyz": func(r *http.Request) error {
		if !certs.areReady() {
			return errNotReady
		}
		return serving(r)
	}}}
	alive := &healthz.Handler{Checks: map[string]healthz.Checker{"healthz": healthz.Ping}}
	probes := endpoint{name: "health", address: s.Health.HealthProbeBindAddress, limits: probeLimits}
	return probes.add(ctx, mgr, probePaths{
		{orDefault(s.Health.ReadinessEndpointName, "/readyz"), ready},
		{orDefault(s.Health.LivenessEndpointName, "/healthz"), alive},
	})
}

// probePaths are handlers of a path and of all below it, which they see without the path. Unlike a ServeMux they bear any text.
type probePaths []struct {
	path    string
	handler http.Handler
}

// ServeHTTP implements http.Handler.
func (p probePaths) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, of := range p {
		if r.URL.Path == of.path || strings.HasPrefix(r.URL.Path, of.path+"/") {
			http.StripPrefix(of.path, of.handler).ServeHTTP(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

func orDefault(path, otherwise string) string {
	if path == "" {
		return otherwise
	}
	return path
}
