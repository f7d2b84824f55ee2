package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/podgroup"
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

// newManager makes the manager with its servers, certificates and probes, but no parts. It serves what the gatherer reads.
func newManager(
	ctx context.Context, connection *rest.Config, s Settings, scheme *runtime.Scheme, gatherer prometheus.Gatherer,
) (ctrl.Manager, error) {
	certs, self := newCertificates(s), &replica{}
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
	if err := addServers(ctx, mgr, s, certs, roleGatherer{gatherer, self}); err != nil {
		return nil, err
	}
	go self.followElection(ctx, mgr.Elected(), *s.LeaderElection.LeaderElect)
	return mgr, nil
}

// managerOptions returns the manager's options for the settings. Metrics, probes and profiles are served by addServers
// instead.
func managerOptions(s Settings, scheme *runtime.Scheme, certs *certificates) ctrl.Options {
	election := s.LeaderElection
	o := ctrl.Options{
		Scheme: scheme,
		Cache:  cacheOptions(s),
		// Objects without Go type are of kinds that are watched, like all others.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Pod{}}, Unstructured: true}},
		// What the manager would serve itself has no bounds on connections: see addServers.
		Metrics:                metricsserver.Options{BindAddress: disabled},
		HealthProbeBindAddress: disabled,
		PprofBindAddress:       disabled,
		WebhookServer:          certs.delayUntilReady(newWebhookServer(s, newRequestLimiter(scheme), certs.dir())),

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
	o.NewClient = newClient(usesLegacyReasons(s))
	if timeout := s.Controller.CacheSyncTimeout; timeout != nil {
		o.Controller.CacheSyncTimeout = timeout.Duration
	}
	return o
}

// cacheOptions keep memory and permissions small: no managed fields (nothing here reads them, and updates without them
// leave them alone), Workloads that share what they have in common, little of pods, and Secrets and Leases of the program's own
// namespace only. Pods are cached only where an integration asks the cache for them.
func cacheOptions(s Settings) cache.Options {
	workloads := view.CompactTransform()
	if usesLegacyReasons(s) {
		workloads = legacy.OwnTransform(workloads)
	}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}:        {Namespaces: map[string]cache.Config{*s.Namespace: {}}},
			&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{*s.Namespace: {}}},
			&kueue.Workload{}:       {Transform: workloads},
			&corev1.Pod{}:           podgroup.CacheOptions(podgroup.NeedsUnmarked(s.Integrations.Frameworks)),
		},
	}
}

// usesLegacyReasons tells whether Workloads are to have the reasons of old (gate UnadmittedWorkloadsObservability off).
func usesLegacyReasons(s Settings) bool {
	return !s.Gates.Enabled(features.UnadmittedWorkloadsObservability)
}

// newClient makes the manager's client. With coarse, objects that it wrote are refined as what caches show, see
// legacy.Client.
func newClient(coarse bool) client.NewClientFunc {
	return func(connection *rest.Config, options client.Options) (client.Client, error) {
		c, err := client.New(connection, options)
		if err != nil || !coarse {
			return c, err
		}
		return legacy.Client(c), nil
	}
}

// tlsConfig restricts a server as the configuration says. HTTP/2 stays off: its stream resets have repeatedly been a way
// to exhaust servers, and neither webhooks nor metrics need it.
func tlsConfig(s Settings) *tls.Config {
	c := &tls.Config{NextProtos: []string{"http/1.1"}}
	if restrictions := s.TLS.Config(); restrictions != nil {
		c.MinVersion, c.CipherSuites = restrictions.MinVersion, restrictions.CipherSuites
		c.CurvePreferences = restrictions.CurvePreferences
	}
	return c
}
