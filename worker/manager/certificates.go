package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// +kubebuilder:rbac:groups="",namespace=kueue-system,resources=secrets,verbs=list;watch;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=kueue-mutating-webhook-configuration,verbs=update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=kueue-validating-webhook-configuration,verbs=update
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=clusterqueues.kueue.x-k8s.io;cohorts.kueue.x-k8s.io;localqueues.kueue.x-k8s.io;multikueueclusters.kueue.x-k8s.io;workloads.kueue.x-k8s.io,verbs=update

// Names of what the certificate authority is put into.
const (
	mutatingWebhooks   = "kueue-mutating-webhook-configuration"
	validatingWebhooks = "kueue-validating-webhook-configuration"
)

// convertedKinds are the plurals of the kinds with a conversion webhook (contract: kueue-api.md 1.1).
func convertedKinds() []string {
	return []string{"clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads"}
}

var errNotReady = errors.New("certificates are not ready")

// certificates are those of the webhook server. Either the program makes and rotates them in a Secret, from which each
// replica copies them into its certificate directory, or cert-manager or an administrator puts them into that directory. In
// both cases the server notices new ones by itself.
type certificates struct {
	settings Settings
	ready    chan struct{}
}

// newCertificates is ready at once where the certificate comes from outside.
func newCertificates(s Settings) *certificates {
	c := &certificates{settings: s, ready: make(chan struct{})}
	if !c.areManaged() {
		close(c.ready)
	}
	return c
}

func (c *certificates) areManaged() bool { return *c.settings.InternalCertManagement.Enable }

func (c *certificates) areReady() bool {
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// addTo adds rotation and publication of certificates to the manager, if they are ours. Every replica does it, not only the
// leader: each serves webhooks.
func (c *certificates) addTo(mgr ctrl.Manager) error {
	if !c.areManaged() {
		return nil
	}
	management, namespace := c.settings.InternalCertManagement, *c.settings.Namespace
	service := fmt.Sprintf("%s.%s.svc", *management.WebhookServiceName, namespace)
	secret := types.NamespacedName{Namespace: namespace, Name: *management.WebhookSecretName}
	if err := addPublisher(mgr, secret, c.dir()); err != nil {
		return err
	}
	return rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:      secret,
		CertDir:        c.dir(),
		CAName:         "switchyard-ca",
		CAOrganization: "switchyard",
		DNSName:        service,
		ExtraDNSNames:  []string{service + ".cluster.local"},
		IsReady:        c.ready,
		Webhooks:       injectedWebhooks(),
		// Its controller makes no certificate while its loop makes the first one.
		EnableReadinessCheck: true,
	})
}

// injectedWebhooks lists what gets the CA of the program's own certificates: webhook configurations and conversions.
func injectedWebhooks() []rotator.WebhookInfo {
	infos := []rotator.WebhookInfo{
		{Type: rotator.Mutating, Name: mutatingWebhooks},
		{Type: rotator.Validating, Name: validatingWebhooks},
	}
	for _, plural := range convertedKinds() {
		infos = append(infos, rotator.WebhookInfo{Type: rotator.CRDConversion, Name: plural + ".kueue.x-k8s.io"})
	}
	return infos
}

// dir is the certificate directory, by default that of controller-runtime.
func (c *certificates) dir() string {
	if dir := c.settings.Webhook.CertDir; dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
}

// delayUntilReady makes a webhook server wait for its certificates, without which it cannot start.
func (c *certificates) delayUntilReady(server webhook.Server) webhook.Server {
	return gatedServer{Server: server, ready: c.ready}
}

type gatedServer struct {
	webhook.Server
	ready <-chan struct{}
}

// Start starts the server once there are certificates.
func (g gatedServer) Start(ctx context.Context) error {
	select {
	case <-g.ready:
		return g.Server.Start(ctx)
	case <-ctx.Done():
		return nil
	}
}
