package v1beta1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config/v1beta2"
)

// defaultPodsReadyTimeout is how long an enabled WaitForPodsReady without timeout waits.
const defaultPodsReadyTimeout = 5 * time.Minute

// Convert turns the file into v1beta2 and leaves to that version's SetDefaults
// what both versions default alike. What v1beta2 has no word for is dropped:
// queueVisibility and podOptions.podSelector.
func (c *Configuration) Convert() *v1beta2.Configuration {
	hub := &v1beta2.Configuration{
		Namespace:                    c.Namespace,
		Webhook:                      c.Webhook,
		Health:                       c.Health,
		PprofBindAddress:             c.PprofBindAddress,
		LeaderElection:               c.LeaderElection,
		Controller:                   c.Controller,
		TLS:                          c.TLS,
		ManageJobsWithoutQueueName:   c.ManageJobsWithoutQueueName,
		ManagedJobsNamespaceSelector: c.ManagedJobsNamespaceSelector,
		InternalCertManagement:       c.InternalCertManagement,
		ClientConnection:             c.ClientConnection,
		AdmissionFairSharing:         c.AdmissionFairSharing,
		FeatureGates:                 c.FeatureGates,
		ObjectRetentionPolicies:      c.ObjectRetentionPolicies,
		Metrics:                      c.Metrics.convert(),
		WaitForPodsReady:             c.WaitForPodsReady.convert(),
		MultiKueue:                   c.MultiKueue.convert(),
		FairSharing:                  c.FairSharing.convert(),
		Resources:                    c.Resources.convert(),
	}
	c.convertIntegrations(hub)
	return hub
}

func (m *Metrics) convert() v1beta2.Metrics {
	hub := v1beta2.Metrics{
		BindAddress:                 m.BindAddress,
		EnableClusterQueueResources: m.EnableClusterQueueResources,
		LocalQueueMetrics:           m.LocalQueueMetrics,
	}
	for _, label := range m.CustomLabels {
		hub.CustomLabels = append(hub.CustomLabels, v1beta2.CustomLabel{
			Name: label.Name, SourceLabelKey: label.SourceLabelKey, SourceAnnotationKey: label.SourceAnnotationKey,
		})
	}
	return hub
}

func (m *MultiKueue) convert() *v1beta2.MultiKueue {
	if m == nil {
		return nil
	}
	return &v1beta2.MultiKueue{
		GCInterval:         m.GCInterval,
		Origin:             m.Origin,
		WorkerLostTimeout:  m.WorkerLostTimeout,
		DispatcherName:     m.DispatcherName,
		ExternalFrameworks: m.ExternalFrameworks,
	}
}

// convert keeps the stanza only when it is enabled. An enabled stanza without
// strategies had both, which v1beta2 wants to be said.
func (f *FairSharing) convert() *v1beta2.FairSharing {
	if f == nil || !f.Enable {
		return nil
	}
	strategies := f.PreemptionStrategies
	if len(strategies) == 0 {
		strategies = []v1beta2.PreemptionStrategy{v1beta2.LessThanOrEqualToFinalShare, v1beta2.LessThanInitialShare}
	}
	return &v1beta2.FairSharing{PreemptionStrategies: strategies}
}

func (r *Resources) convert() *v1beta2.Resources {
	if r == nil {
		return nil
	}
	hub := &v1beta2.Resources{
		ExcludeResourcePrefixes: r.ExcludeResourcePrefixes,
		Transformations:         r.Transformations,
	}
	for _, mapping := range r.DeviceClassMappings {
		hub.DeviceClassMappings = append(hub.DeviceClassMappings, v1beta2.DeviceClassMapping{
			Name: mapping.Name, DeviceClassNames: mapping.DeviceClassNames,
		})
	}
	return hub
}

func (c *Configuration) convertIntegrations(hub *v1beta2.Configuration) {
	if c.Integrations == nil {
		return
	}
	hub.Integrations = &v1beta2.Integrations{
		Frameworks:         c.Integrations.Frameworks,
		ExternalFrameworks: c.Integrations.ExternalFrameworks,
		LabelKeysToCopy:    c.Integrations.LabelKeysToCopy,
	}
	if pods := c.Integrations.PodOptions; pods != nil && hub.ManagedJobsNamespaceSelector == nil {
		hub.ManagedJobsNamespaceSelector = pods.NamespaceSelector
	}
}

func (w *WaitForPodsReady) convert() *v1beta2.WaitForPodsReady {
	if w == nil || !w.Enable {
		return &v1beta2.WaitForPodsReady{Disabled: true}
	}
	return &v1beta2.WaitForPodsReady{
		Timeout:           ptr.To(ptr.Deref(w.Timeout, metav1.Duration{Duration: defaultPodsReadyTimeout})),
		BlockAdmission:    ptr.To(ptr.Deref(w.BlockAdmission, true)),
		RecoveryTimeout:   w.RecoveryTimeout,
		RequeuingStrategy: w.RequeuingStrategy,
	}
}
