package v1beta2

import (
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentconfig "k8s.io/component-base/config/v1alpha1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Defaults of contract: kueue-api.md 7.
const (
	DefaultNamespace                = "kueue-system"
	DefaultWebhookPort              = 9443
	DefaultMetricsBindAddress       = ":8443"
	DefaultHealthProbeBindAddress   = ":8081"
	DefaultWebhookServiceName       = "kueue-webhook-service"
	DefaultWebhookSecretName        = "kueue-webhook-server-cert"
	DefaultClientConnectionQPS      = 300
	DefaultClientConnectionBurst    = 500
	DefaultPodsReadyTimeout         = 30 * time.Minute
	DefaultRequeuingBackoffBase     = 60
	DefaultRequeuingBackoffMax      = 3600
	DefaultFramework                = "batch/job"
	DefaultMultiKueueGCInterval     = time.Minute
	DefaultMultiKueueOrigin         = "multikueue"
	DefaultMultiKueueLostTimeout    = 15 * time.Minute
	DefaultIncrementalStepSize      = 3
	DefaultLogTailJobs              = 500
	DefaultLogTailAge               = 24 * time.Hour
	DefaultAFSUsageSamplingInterval = 5 * time.Minute
	DefaultVisibilityBindPort       = 8082
)

// serviceAccountNamespaceFile names the namespace of the pod that the program runs in.
const serviceAccountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Default returns the configuration of an empty file. The namespace is that of
// the pod where there is one, else DefaultNamespace.
func Default() *Configuration {
	c := &Configuration{}
	c.SetDefaults()
	return c
}

// SetDefaults fills every field that has a default and is not set.
func (c *Configuration) SetDefaults() {
	c.TypeMeta = metav1.TypeMeta{APIVersion: GroupVersion.String(), Kind: Kind}
	if c.Namespace == nil || *c.Namespace == "" {
		c.Namespace = ptr.To(namespaceFrom(serviceAccountNamespaceFile))
	}
	c.defaultServers()
	c.defaultControl()
	if c.ManagedJobsNamespaceSelector == nil {
		c.ManagedJobsNamespaceSelector = allBut("kube-system", *c.Namespace)
	}
	fill(&c.WaitForPodsReady).setDefaults()
	if fill(&c.Integrations).Frameworks == nil {
		c.Integrations.Frameworks = []string{DefaultFramework}
	}
	fill(&c.MultiKueue).setDefaults()
	c.defaultResources()
}

func (c *Configuration) defaultServers() {
	set(&c.Webhook.Port, DefaultWebhookPort)
	setString(&c.Metrics.BindAddress, DefaultMetricsBindAddress)
	set(&fill(&c.Metrics.LocalQueueMetrics).Enable, true)
	for i := range c.Metrics.CustomLabels {
		setString(&c.Metrics.CustomLabels[i].SourceKind, SourceKindClusterQueue)
	}
	setString(&c.Health.HealthProbeBindAddress, DefaultHealthProbeBindAddress)
	set(&fill(&c.VisibilityServer).BindPort, DefaultVisibilityBindPort)
	certs := fill(&c.InternalCertManagement)
	set(&certs.Enable, true)
	set(&certs.WebhookServiceName, DefaultWebhookServiceName)
	set(&certs.WebhookSecretName, DefaultWebhookSecretName)
}

func (c *Configuration) defaultControl() {
	election := fill(&c.LeaderElection)
	setString(&election.ResourceName, kueue.LeaderElectionID)
	setString(&election.ResourceLock, "leases") // the library's own default is a lock that no longer exists
	componentconfig.RecommendedDefaultLeaderElectionConfiguration(election)
	if fill(&c.Controller).GroupKindConcurrency == nil {
		c.Controller.GroupKindConcurrency = map[string]int{
			"Job.batch": 5, "Pod": 5,
			"Workload.kueue.x-k8s.io": 10, "LocalQueue.kueue.x-k8s.io": 5, "Cohort.kueue.x-k8s.io": 1,
			"ClusterQueue.kueue.x-k8s.io": 5, "ResourceFlavor.kueue.x-k8s.io": 1,
		}
	}
	connection := fill(&c.ClientConnection)
	set(&connection.QPS, DefaultClientConnectionQPS)
	set(&connection.Burst, DefaultClientConnectionBurst)
}

func (c *Configuration) defaultResources() {
	if afs := c.AdmissionFairSharing; afs != nil && afs.UsageSamplingInterval.Duration == 0 {
		afs.UsageSamplingInterval.Duration = DefaultAFSUsageSamplingInterval
	}
	if c.Resources == nil {
		return
	}
	setString(&c.Resources.QuotaCheckStrategy, BlockUndeclared)
	for i := range c.Resources.Transformations {
		set(&c.Resources.Transformations[i].Strategy, Retain)
	}
}

func (w *WaitForPodsReady) setDefaults() {
	set(&w.Timeout, metav1.Duration{Duration: DefaultPodsReadyTimeout})
	set(&w.BlockAdmission, false)
	set(&w.RecoveryTimeout, *w.Timeout)
	strategy := fill(&w.RequeuingStrategy)
	set(&strategy.Timestamp, EvictionTimestamp)
	set(&strategy.BackoffBaseSeconds, DefaultRequeuingBackoffBase)
	set(&strategy.BackoffMaxSeconds, DefaultRequeuingBackoffMax)
}

func (m *MultiKueue) setDefaults() {
	set(&m.GCInterval, metav1.Duration{Duration: DefaultMultiKueueGCInterval})
	if m.Origin == nil || *m.Origin == "" {
		m.Origin = ptr.To(DefaultMultiKueueOrigin)
	}
	set(&m.WorkerLostTimeout, metav1.Duration{Duration: DefaultMultiKueueLostTimeout})
	set(&fill(&m.Access).Enable, true)
	if tails := m.Access.LogTails; tails != nil {
		set(&tails.MaxJobs, DefaultLogTailJobs)
		set(&tails.MaxAge, metav1.Duration{Duration: DefaultLogTailAge})
	}
	set(&m.DispatcherName, kueue.AllAtOnceDispatcherName)
	if *m.DispatcherName == kueue.IncrementalDispatcherName {
		set(&fill(&m.IncrementalDispatcherConfig).StepSize, DefaultIncrementalStepSize)
	}
}

// namespaceFrom reads the namespace of the pod; outside of a pod there is no such file.
func namespaceFrom(file string) string {
	content, err := os.ReadFile(file)
	if namespace := strings.TrimSpace(string(content)); err == nil && namespace != "" {
		return namespace
	}
	return DefaultNamespace
}

func allBut(namespaces ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: namespaces,
	}}}
}

// fill makes sure that a stanza is there, and returns it.
func fill[T any](stanza **T) *T {
	if *stanza == nil {
		*stanza = new(T)
	}
	return *stanza
}

func set[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setString[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
