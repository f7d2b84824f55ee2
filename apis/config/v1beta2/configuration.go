package v1beta2

import (
	"crypto/tls"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	componentconfig "k8s.io/component-base/config/v1alpha1"
)

// GroupVersion names the group and version of the file.
var GroupVersion = schema.GroupVersion{Group: "config.kueue.x-k8s.io", Version: "v1beta2"}

// Kind is the only kind of the group.
const Kind = "Configuration"

// Configuration is the whole file (contract: kueue-api.md 7).
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	// Namespace is where the program runs; Secrets with kubeconfigs live there too.
	// Never nil after defaulting.
	Namespace *string `json:"namespace,omitempty"`

	// Webhook is the server of admission and conversion webhooks.
	Webhook Webhook `json:"webhook,omitempty"`
	// Metrics is what is measured and where it is served.
	Metrics Metrics `json:"metrics,omitempty"`
	// Health is the server of probes.
	Health Health `json:"health,omitempty"`
	// PprofBindAddress serves profiles; empty, none.
	PprofBindAddress string `json:"pprofBindAddress,omitempty"`
	// LeaderElection is the lease of the leader. Never nil after defaulting.
	LeaderElection *componentconfig.LeaderElectionConfiguration `json:"leaderElection,omitempty"`
	// Controller bounds the controllers. Never nil after defaulting.
	Controller *Controller `json:"controller,omitempty"`
	// TLS restricts every server of the program; nil leaves Go's defaults.
	TLS *TLS `json:"tls,omitempty"`

	// ManageJobsWithoutQueueName manages jobs that name no queue too.
	ManageJobsWithoutQueueName bool `json:"manageJobsWithoutQueueName,omitempty"`
	// ManagedJobsNamespaceSelector selects the namespaces whose jobs are managed,
	// those that name a queue included. Never nil after defaulting.
	ManagedJobsNamespaceSelector *metav1.LabelSelector `json:"managedJobsNamespaceSelector,omitempty"`

	// InternalCertManagement makes and rotates serving certificates. Never nil after defaulting.
	InternalCertManagement *InternalCertManagement `json:"internalCertManagement,omitempty"`
	// ClientConnection limits the client of the local cluster; clients of workers
	// have limits of their own. Never nil after defaulting.
	ClientConnection *ClientConnection `json:"clientConnection,omitempty"`
	// WaitForPodsReady watches over the start of jobs. Never nil after defaulting:
	// the feature is on also when the file does not name it.
	WaitForPodsReady *WaitForPodsReady `json:"waitForPodsReady,omitempty"`
	// Integrations are the kinds of job. Never nil after defaulting.
	Integrations *Integrations `json:"integrations,omitempty"`
	// MultiKueue is the dispatch to worker clusters. Never nil after defaulting.
	MultiKueue *MultiKueue `json:"multiKueue,omitempty"`
	// FairSharing turns fair sharing on by its presence.
	FairSharing *FairSharing `json:"fairSharing,omitempty"`
	// AdmissionFairSharing turns ordering by past use on by its presence.
	AdmissionFairSharing *AdmissionFairSharing `json:"admissionFairSharing,omitempty"`
	// Resources says how requests are counted; nil counts them as they are.
	Resources *Resources `json:"resources,omitempty"`
	// FeatureGates switches features by name; exclusive with the flag --feature-gates.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// ObjectRetentionPolicies says when objects are deleted; nil keeps them.
	ObjectRetentionPolicies *ObjectRetentionPolicies `json:"objectRetentionPolicies,omitempty"`
	// VisibilityServer is the server of pending workloads. Never nil after defaulting.
	VisibilityServer *VisibilityServer `json:"visibilityServer,omitempty"`
}

// Webhook is the server of admission and conversion webhooks.
type Webhook struct {
	// Port it listens on. Never nil after defaulting.
	Port *int `json:"port,omitempty"`
	// Host it listens on; empty, all.
	Host string `json:"host,omitempty"`
	// CertDir holds tls.crt and tls.key; empty, controller-runtime's default.
	CertDir string `json:"certDir,omitempty"`
}

// Health is the server of probes.
type Health struct {
	// HealthProbeBindAddress is where it listens.
	HealthProbeBindAddress string `json:"healthProbeBindAddress,omitempty"`
	// ReadinessEndpointName replaces /readyz.
	ReadinessEndpointName string `json:"readinessEndpointName,omitempty"`
	// LivenessEndpointName replaces /healthz.
	LivenessEndpointName string `json:"livenessEndpointName,omitempty"`
}

// Controller bounds the controllers.
type Controller struct {
	// GroupKindConcurrency is the number of workers for each "Kind.group"; a kind
	// of job that is not named has as many as Job.batch, any other one.
	GroupKindConcurrency map[string]int `json:"groupKindConcurrency,omitempty"`
	// CacheSyncTimeout bounds the first listing; nil, controller-runtime's default.
	CacheSyncTimeout *metav1.Duration `json:"cacheSyncTimeout,omitempty"`
}

// TLS restricts every server of the program.
type TLS struct {
	// MinVersion is VersionTLS12 or VersionTLS13.
	MinVersion string `json:"minVersion,omitempty"`
	// CipherSuites are names of Go's cipher suites; none with TLS 1.3.
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// CurvePreferences are IDs of Go's curves.
	CurvePreferences []int32 `json:"curvePreferences,omitempty"`
}

// InternalCertManagement makes and rotates serving certificates.
type InternalCertManagement struct {
	// Enable it. Never nil after defaulting.
	Enable *bool `json:"enable,omitempty"`
	// WebhookServiceName is the Service that the certificate is for. Never nil after defaulting.
	WebhookServiceName *string `json:"webhookServiceName,omitempty"`
	// WebhookSecretName is the Secret that holds it. Never nil after defaulting.
	WebhookSecretName *string `json:"webhookSecretName,omitempty"`
}

// ClientConnection limits a client.
type ClientConnection struct {
	// QPS is requests a second. Never nil after defaulting.
	QPS *float32 `json:"qps,omitempty"`
	// Burst is requests at once. Never nil after defaulting.
	Burst *int32 `json:"burst,omitempty"`
}

// VisibilityServer is the server of pending workloads.
type VisibilityServer struct {
	// BindAddress it listens on; empty, all.
	BindAddress string `json:"bindAddress,omitempty"`
	// BindPort it listens on. Never nil after defaulting.
	BindPort *int32 `json:"bindPort,omitempty"`
}

// Config returns a TLS configuration with the restrictions; nil when there are none.
// Names must have passed validation: an unknown one is left out.
func (t *TLS) Config() *tls.Config {
	if t == nil {
		return nil
	}
	config := &tls.Config{MinVersion: tlsVersions[t.MinVersion]}
	for _, name := range t.CipherSuites {
		if id, known := cipherSuite(name); known {
			config.CipherSuites = append(config.CipherSuites, id)
		}
	}
	for _, curve := range t.CurvePreferences {
		config.CurvePreferences = append(config.CurvePreferences, tls.CurveID(curve))
	}
	return config
}
