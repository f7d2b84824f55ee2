package v1beta2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
)

// Integrations are the kinds of job.
type Integrations struct {
	// Frameworks that are managed, by the names of contract: kueue-api.md 3.2.
	Frameworks []string `json:"frameworks,omitempty"`
	// ExternalFrameworks, as Kind.version.group, are managed by others: what they
	// own is left alone.
	ExternalFrameworks []string `json:"externalFrameworks,omitempty"`
	// LabelKeysToCopy are labels copied from a job to its Workload.
	LabelKeysToCopy []string `json:"labelKeysToCopy,omitempty"`
}

// MultiKueue is the dispatch to worker clusters.
type MultiKueue struct {
	// GCInterval between sweeps for orphaned remote objects; 0 for none. Never nil
	// after defaulting.
	GCInterval *metav1.Duration `json:"gcInterval,omitempty"`
	// Origin marks the remote objects of this hub; a label value. Never nil nor
	// empty after defaulting.
	Origin *string `json:"origin,omitempty"`
	// WorkerLostTimeout is how long a workload stays with a cluster that cannot be
	// reached. Never nil after defaulting.
	WorkerLostTimeout *metav1.Duration `json:"workerLostTimeout,omitempty"`
	// DispatcherName says which dispatcher nominates clusters; a name that is not built in leaves it to another program.
	// Never nil after defaulting.
	DispatcherName *string `json:"dispatcherName,omitempty"`
	// IncrementalDispatcherConfig belongs to the incremental dispatcher; never nil
	// after defaulting when that is chosen, else nil.
	IncrementalDispatcherConfig *IncrementalDispatcherConfig `json:"incrementalDispatcherConfig,omitempty"`
	// ExternalFrameworks are kinds of job that are mirrored without being compiled in.
	ExternalFrameworks []MultiKueueExternalFramework `json:"externalFrameworks,omitempty"`
	// ClusterProfile says how clusters known by profile are reached.
	ClusterProfile *ClusterProfile `json:"clusterProfile,omitempty"`
	// Access is how people look after their jobs on workers, by the API access.switchyard.dev. Never nil after defaulting.
	Access *MultiKueueAccess `json:"access,omitempty"`
	// ObjectRetentionPolicies say how long what the hub has made on the clusters stays there; nil as with empty ones.
	ObjectRetentionPolicies *MultiKueueObjectRetentionPolicies `json:"objectRetentionPolicies,omitempty"`
}

// MultiKueueAccess is how people look after their jobs on workers.
type MultiKueueAccess struct {
	// Enable serves the API; true by default. Without an APIService it is reached on the port of visibilityServer only, and without an
	// account of its own on a worker nothing there. Never nil after defaulting.
	Enable *bool `json:"enable,omitempty"`
	// LogTails keep on the hub how the logs of failed jobs end, independently of Enable; nil keeps none.
	LogTails *MultiKueueLogTails `json:"logTails,omitempty"`
}

// MultiKueueObjectRetentionPolicies say how long what the hub has made on the clusters stays there.
type MultiKueueObjectRetentionPolicies struct {
	// RemoteObjects are jobs and copies of Workloads; nil as with an empty policy.
	RemoteObjects *RemoteObjectRetentionPolicy `json:"remoteObjects,omitempty"`
}

// RemoteObjectRetentionPolicy says how long a job that the hub has made on a cluster stays there, with its pods and the copy of its
// Workload.
type RemoteObjectRetentionPolicy struct {
	// AfterFinished is the time from the end of the hub's Workload. Nil and 0 remove the job as soon as that is stored. What becomes
	// of a Workload that the hub deletes earlier goes with it.
	AfterFinished *metav1.Duration `json:"afterFinished,omitempty"`
}

// RetainFinished is how long the remote objects of a finished Workload stay. If that is not said it is 0, or 30 s where the ends of logs are
// kept: so long at least the pods have to be there.
func (m *MultiKueue) RetainFinished() time.Duration {
	var said, least time.Duration
	if p := m.ObjectRetentionPolicies; p != nil && p.RemoteObjects != nil && p.RemoteObjects.AfterFinished != nil {
		said = p.RemoteObjects.AfterFinished.Duration
	}
	if m.KeepsLogTails() {
		least = logTailRetention
	}
	return max(said, least)
}

// MultiKueueLogTails say how much is kept of the logs of jobs that have failed on workers, in ConfigMaps of their namespaces.
type MultiKueueLogTails struct {
	// MaxJobs is of how many jobs at most, 1 to 5000. Never nil after defaulting.
	MaxJobs *int32 `json:"maxJobs,omitempty"`
	// MaxAge is for how long, at most 30 days. Never nil after defaulting.
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
}

// KeepsLogTails tells whether the ends of the logs of failed jobs are kept on the hub.
func (m *MultiKueue) KeepsLogTails() bool { return m.Access != nil && m.Access.LogTails != nil }

// logTailRetention is how long finished jobs stay on the clusters at least where the ends of their logs are fetched from there.
const logTailRetention = 30 * time.Second

// IncrementalDispatcherConfig belongs to the incremental dispatcher.
type IncrementalDispatcherConfig struct {
	// StepSize is the number of clusters nominated in each round. Never nil after defaulting.
	StepSize *int32 `json:"stepSize,omitempty"`
}

// MultiKueueExternalFramework is a kind of job that is mirrored without being compiled in.
type MultiKueueExternalFramework struct {
	// Name is Kind.version.group.
	Name string `json:"name"`
}

// ClusterProfile says how clusters known by profile are reached.
type ClusterProfile struct {
	// AccessProviders give credentials.
	AccessProviders []ClusterProfileAccessProvider `json:"accessProviders,omitempty"`
	// CredentialsProviders is the deprecated spelling of AccessProviders.
	CredentialsProviders []ClusterProfileAccessProvider `json:"credentialsProviders,omitempty"`
}

// ClusterProfileAccessProvider gives credentials by running a program.
type ClusterProfileAccessProvider struct {
	// Name by which profiles refer to it.
	Name string `json:"name"`
	// ExecConfig is the program.
	ExecConfig clientcmd.ExecConfig `json:"execConfig"`
}

// Providers are those of either spelling; at most one is used.
func (p *ClusterProfile) Providers() []ClusterProfileAccessProvider {
	if p == nil {
		return nil
	}
	if len(p.AccessProviders) > 0 {
		return p.AccessProviders
	}
	return p.CredentialsProviders
}
