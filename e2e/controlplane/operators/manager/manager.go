// Package manager makes the manager of an operator whose own main program binds fixed ports or waits for certificates that
// only a kubelet could mount: two of them could not run on one machine.
package manager

import (
	"flag"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Run parses the command line, lets add put its controllers and webhooks into a manager, and runs that until the process is
// told to end. It knows the flags --kubeconfig, --health, --webhook-port and --cert-dir. There is no leader election and
// there are no metrics. /readyz says that the webhooks are served, where there are any.
func Run(scheme *runtime.Scheme, webhooks bool, add func(manager.Manager) error) error {
	health := flag.String("health", "0", "where /readyz is served, as host:port")
	port := flag.Int("webhook-port", 0, "where webhooks are served on loopback")
	certDir := flag.String("cert-dir", "", "directory of the webhooks' tls.crt and tls.key")
	flag.Parse()
	log.SetLogger(zap.New(zap.UseDevMode(true)))

	rest, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("configuration of the client: %w", err)
	}
	rest.QPS, rest.Burst = 500, 500
	mgr, err := manager.New(rest, manager.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: *health,
		Metrics:                metrics.Options{BindAddress: "0"},
		WebhookServer:          webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certDir}),
	})
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	if err := add(mgr); err != nil {
		return err
	}
	ready := healthz.Ping
	if webhooks {
		ready = mgr.GetWebhookServer().StartedChecker()
	}
	if err := mgr.AddReadyzCheck("readyz", ready); err != nil {
		return fmt.Errorf("readiness: %w", err)
	}
	return mgr.Start(signals.SetupSignalHandler())
}
