package program

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/legacy"
	"switchyard.dev/worker/stream"
	"switchyard.dev/worker/view"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kueue-system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=kueue-system,resources=events,verbs=create

// stopGrace is how long parts may take to end after the program was told to stop.
const stopGrace = 20 * time.Second

// newManager makes the manager with its servers, certificates and probes, but no parts.
func newManager(ctx context.Context, connection *rest.Config, s Settings, scheme *runtime.Scheme) (ctrl.Manager, error) {
	certs := newCertificates(s)
	exposeRole()
	options := managerOptions(s, scheme, certs)
	var err error
	if options.Cache.NewInformer, err = stream.Informers(connection, scheme); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	mgr, err := ctrl.NewManager(connection, options)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := certs.addTo(mgr); err != nil {
		return nil, fmt.Errorf("manage certificates: %w", err)
	}
	if err := addProbes(mgr, certs); err != nil {
		return nil, fmt.Errorf("add probes: %w", err)
	}
	go followElection(ctx, mgr.Elected(), *s.LeaderElection.LeaderElect)
	return mgr, nil
}

func managerOptions(s Settings, scheme *runtime.Scheme, certs *certificates) ctrl.Options {
	election := s.LeaderElection
	o := ctrl.Options{
		Scheme:  scheme,
		Cache:   cacheOptions(s),
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Pod{}}}},
		Metrics: metricsOptions(s),
		WebhookServer: certs.gate(boundedServer{bodies: newBodies(scheme), Server: webhook.NewServer(webhook.Options{
			Host: s.Webhook.Host, Port: *s.Webhook.Port, CertDir: s.Webhook.CertDir, TLSOpts: tlsOptions(s),
		})}),
		HealthProbeBindAddress: s.Health.HealthProbeBindAddress,
		ReadinessEndpointName:  s.Health.ReadinessEndpointName,
		LivenessEndpointName:   s.Health.LivenessEndpointName,
		PprofBindAddress:       s.PprofBindAddress,

		LeaderElection:                *election.LeaderElect,
		LeaderElectionResourceLock:    election.ResourceLock,
		LeaderElectionNamespace:       election.ResourceNamespace,
		LeaderElectionID:              election.ResourceName,
		LeaderElectionReleaseOnCancel: true, // nothing of a program outlives its manager
		LeaseDuration:                 &election.LeaseDuration.Duration,
		RenewDeadline:                 &election.RenewDeadline.Duration,
		RetryPeriod:                   &election.RetryPeriod.Duration,
		GracefulShutdownTimeout:       new(stopGrace),
		Controller:                    ctrlconfig.Controller{GroupKindConcurrency: s.Controller.GroupKindConcurrency},
	}
	if o.LeaderElectionNamespace == "" {
		o.LeaderElectionNamespace = *s.Namespace
	}
	o.NewClient = newClient(speaksCoarsely(s))
	if timeout := s.Controller.CacheSyncTimeout; timeout != nil {
		o.Controller.CacheSyncTimeout = timeout.Duration
	}
	return o
}

// cacheOptions keep memory and permissions small: no managed fields (nothing here reads them, and updates without them
// leave them alone), Workloads that share what they have in common, and Secrets and Leases of the program's own namespace
// only.
func cacheOptions(s Settings) cache.Options {
	workloads := view.Slim()
	if speaksCoarsely(s) {
		workloads = legacy.Transform(workloads)
	}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}:        {Namespaces: map[string]cache.Config{*s.Namespace: {}}},
			&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{*s.Namespace: {}}},
			&kueue.Workload{}:       {Transform: workloads},
		},
	}
}

// speaksCoarsely tells whether Workloads are to have the reasons of old (gate UnadmittedWorkloadsObservability off).
func speaksCoarsely(s Settings) bool {
	return !s.Gates.Enabled(features.UnadmittedWorkloadsObservability)
}

func newClient(coarse bool) client.NewClientFunc {
	return func(connection *rest.Config, options client.Options) (client.Client, error) {
		general, err := client.New(connection, options)
		if err != nil {
			return nil, err
		}
		c, err := stream.Client(general, connection)
		if err != nil || !coarse {
			return c, err
		}
		return legacy.Client(c), nil
	}
}

// metricsOptions serve metrics with TLS to whom the API server allows to read them; in plain text and to everybody when
// the address is a loopback address, which only this machine can reach.
func metricsOptions(s Settings) metricsserver.Options {
	o := metricsserver.Options{BindAddress: s.Metrics.BindAddress, TLSOpts: tlsOptions(s)}
	if isLoopback(s.Metrics.BindAddress) {
		o.FilterProvider = func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
			return func(_ logr.Logger, next http.Handler) (http.Handler, error) { return withoutBody(next), nil }, nil
		}
		return o
	}
	o.SecureServing = true
	o.FilterProvider = func(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
		allowed, err := filters.WithAuthenticationAndAuthorization(config, client)
		if err != nil {
			return nil, err
		}
		return func(log logr.Logger, next http.Handler) (http.Handler, error) {
			handler, err := allowed(log, next)
			return withoutBody(handler), err
		}, nil
	}
	return o
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// tlsOptions restrict a server as the configuration says. HTTP/2 stays off: its stream resets have repeatedly been a way
// to exhaust servers, and neither webhooks nor metrics need it.
func tlsOptions(s Settings) []func(*tls.Config) {
	restrictions := s.TLS.Config()
	return []func(*tls.Config){func(c *tls.Config) {
		c.NextProtos = []string{"http/1.1"}
		if restrictions != nil {
			c.MinVersion, c.CipherSuites = restrictions.MinVersion, restrictions.CipherSuites
			c.CurvePreferences = restrictions.CurvePreferences
		}
	}}
}

// addProbes makes the program live as soon as it answers, and ready once certificates are there and webhooks are served.
func addProbes(mgr ctrl.Manager, certs *certificates) error {
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	serving := mgr.GetWebhookServer().StartedChecker()
	return mgr.AddReadyzCheck("readyz", func(r *http.Request) error {
		if !certs.areReady() {
			return errNotReady
		}
		return serving(r)
	})
}
