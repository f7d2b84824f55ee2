package job

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Options is what the composition root tells every kind of job. Feature gates arrive here as plain booleans.
type Options struct {
	// ManageJobsWithoutQueueName makes jobs without a queue name managed too.
	ManageJobsWithoutQueueName bool
	// Namespaces selects by their labels the namespaces whose jobs are managed; nil selects all (contract:
	// managedJobsNamespaceSelector).
	Namespaces labels.Selector
	// LabelKeysToCopy are the keys of job labels to copy to the Workload.
	LabelKeysToCopy []string
	// AnnotationKeysToCopy are the keys of job annotations to copy to the Workload.
	AnnotationKeysToCopy []string
	// WaitForPodsReady makes the reconciler report the PodsReady condition.
	WaitForPodsReady bool
	// PodsOfOthersOnly tells that pods are served for integrations that have pods wait in place of what made them, and not because the
	// configuration names pods (contract: job-kinds.md 1.11, implied).
	PodsOfOthersOnly bool
	// KeepDeactivated is how long a job is kept whose Workload the system has deactivated; nil for ever (contract:
	// objectRetentionPolicies.workloads.afterDeactivatedByKueue).
	KeepDeactivated *time.Duration
	// Kinds are the enabled integrations, for finding managed ancestors of a job.
	Kinds []Integration
	// Known are integrations that are compiled in, enabled or not: the way up to a managed ancestor may lead over jobs of them.
	Known []Integration
	// ExternalFrameworks are kinds that other programs manage; their children are left alone.
	ExternalFrameworks []schema.GroupVersionKind
	// Concurrency is how many jobs of a kind, by its "Kind.group", are reconciled at a time; see Workers.
	Concurrency map[string]int
	// Gates are the feature gates that matter here.
	Gates Gates
	// Created, when not nil, is told how long a new job of the kind has waited for its Workload.
	Created func(kind string, latency time.Duration)
	// Follow, when not nil, is called with a kind whose jobs the manager's cache is about to show, before it does.
	Follow func(client.FieldIndexer, Integration) error
	// Stale, when not nil, says why a new job that a hub made for the Workload of that name comes too late; nil if it does not.
	Stale func(ctx context.Context, job client.Object, workload string) *field.Error
	// Ungated, optional, is told of each scheduling gate that is taken off a pod of an admitted Workload.
	Ungated func(wl *kueue.Workload, gate string, now time.Time)
	// ElasticPods are the pods of elastic jobs; nil where they are not looked at.
	ElasticPods ElasticPods
	// Dispatches is set where the multikueue dispatcher of this very program answers for jobs that run on other clusters: the quota
	// of one that is evicted is then released when the dispatcher has taken its binding back (contract: multikueue.md 4 case 6b).
	Dispatches bool
	// Clock is the source of now; nil is the machine's.
	Clock clock.PassiveClock
}

// ElasticPods are the pods of elastic jobs, which wait for their gate until there is quota for them. A job is known by its UID.
type ElasticPods interface {
	// Running counts a job's pods, by pod set, that no gate holds back and that are not gone.
	Running(ctx context.Context, namespace string, job types.UID) (map[string]int32, error)
	// Trust says by which slice the pods of its job may be let go. Any other that claims to be the job's may be forged.
	Trust(ctx context.Context, slice *kueue.Workload)
}

// Workers are how many jobs of the kind are reconciled at a time: as many as batch Jobs if nothing says, and one at least.
func (o *Options) Workers(kind schema.GroupKind) int {
	return max(cmp.Or(o.Concurrency[kind.String()], o.Concurrency["Job.batch"]), 1)
}

// Gates are the feature gates of the public Configuration that change how jobs are treated (contract: kueue-api.md 6).
type Gates struct {
	PartialAdmission              bool
	ReclaimablePods               bool
	AdmissionGatedBy              bool
	AssignQueueLabelsForPods      bool
	WorkloadIdentifierAnnotations bool
	WorkloadPriorityClassDefault  bool
	ShortWorkloadNames            bool
	FinishOrphanedWorkloads       bool
	ReleasesPodsForGood           bool
	FastQuotaRelease              bool
	ValidateGroupOwner            bool
	ElasticJobs                   bool
	Topology                      bool
	MultiLayerTopology            bool
	ValidateRayAndSparkUpdates    bool
	ImmutableGroupSize            bool
	DeferRayServiceFinalization   bool
}

// DefaultGates returns the gates as the contract has them without configuration.
func DefaultGates() Gates {
	return Gates{
		PartialAdmission: true, ReclaimablePods: true, AdmissionGatedBy: true, AssignQueueLabelsForPods: true,
		WorkloadIdentifierAnnotations: true, WorkloadPriorityClassDefault: true,
		FinishOrphanedWorkloads: true, ReleasesPodsForGood: true, ValidateGroupOwner: true, ElasticJobs: true, Topology: true, MultiLayerTopology: true,
		ValidateRayAndSparkUpdates: true, ImmutableGroupSize: true, DeferRayServiceFinalization: true,
	}
}
