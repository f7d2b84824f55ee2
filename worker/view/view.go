package view

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// View is the state of one cluster's queues. New makes one, Register feeds it. It is safe for concurrent use.
type View struct {
	opts Options

	mu            sync.Mutex
	snap          *admission.Snapshot
	clusterQueues map[string]*clusterQueue
	localQueues   map[admission.Key]*localQueue
	cohorts       map[string]*kueue.Cohort
	flavors       map[string]*kueue.ResourceFlavor
	checks        map[string]*kueue.AdmissionCheck
	// topologies are the names of those that exist.
	topologies map[string]bool
	namespaces map[string]labels.Set
	// limitRanges are by namespace, those of one namespace by name.
	limitRanges    map[string][]*corev1.LimitRange
	runtimeClasses map[string]*nodev1.RuntimeClass
	// requestCache remembers what workloads ask for that share their pod sets.
	requestCache map[requestCacheKey]*requestedPodSets
	// usageTracker is nil unless recent usage counts.
	usageTracker *usageTracker
	workloads    map[admission.Key]*workload
	// workloadsByLocalQueue finds the workloads of a LocalQueue, which need not exist.
	workloadsByLocalQueue map[admission.Key]map[admission.Key]*workload
	// workloadsByRuntimeClass finds the workloads whose pods name a RuntimeClass, which need not exist.
	workloadsByRuntimeClass map[string]map[admission.Key]*workload
	// localQueuesByClusterQueue finds the LocalQueues of a ClusterQueue, which need not exist.
	localQueuesByClusterQueue map[string]map[admission.Key]*localQueue

	// cycles counts them.
	cycles       uint64
	staleReports staleReports
	// deferredEvictions are victims to be evicted as soon as the API has confirmed their admission.
	deferredEvictions map[admission.Key]*workload
	// lagging are the workloads of which the informer shows a version older than our own last write.
	lagging map[admission.Key]*workload

	subscribers []subscriber
	// batchedNotifications are changes that subscribers will be told of when the interval is over.
	batchedNotifications map[notification]bool
	// onConditionChange is called for every workload of which a condition is seen to change; nil for none.
	onConditionChange func(was, is *kueue.Workload)
	// unreportedChanges are the changes it has not been told about yet, because the mutex is held.
	unreportedChanges []workloadChange
	cycleRequests     chan struct{}
	// hasSynced is complete once Register has returned.
	hasSynced []toolscache.InformerSynced
}

// clusterQueue is a ClusterQueue and what follows from it.
type clusterQueue struct {
	obj      *kueue.ClusterQueue
	selector labels.Selector
	// selectorErr says why the selector does not parse; nil when it does.
	selectorErr error
	activity    Activity
	// inCohortCycle is set while the parents of its cohort form a cycle, of which the activity says nothing.
	inCohortCycle bool
}

// localQueue is a LocalQueue and what follows from it.
type localQueue struct {
	obj      *kueue.LocalQueue
	activity Activity
}

// workload is what the API said last about a Workload, and what this process decided since.
type workload struct {
	// obj belongs to the informer's store: it is never changed.
	obj *kueue.Workload
	// requested is what obj asks for; nil until it is first read.
	requested *requestedPodSets
	// entry is what the snapshot was told last.
	entry snapshotEntry
	// written is the resourceVersion of the answer to the last write of this process, until the informer has caught up
	// with it; empty otherwise.
	written string
	// staleVersion is the last version from the informer that was passed over as older than written, since when a cycle has known of
	// one; nil if there is none.
	staleVersion *kueue.Workload
	staleSince   time.Time
	// assumed is the write of a reservation that the snapshot has and the API has not confirmed yet; nil otherwise.
	assumed *pendingWrite
	// evicting is the eviction that a cycle decided and the API has not confirmed yet; nil otherwise.
	evicting *pendingEviction
	// reportedReason is the reason to wait that was told last, and heard the number of the cycle that told it.
	reportedReason  admission.Reason
	reportedInCycle uint64
	// retries counts the writes that the API refused for a reason other than a conflict, since the last success.
	retries int
	// retryAt keeps the workload out of the cycle after such a refusal; the zero time means no bound.
	retryAt time.Time
}

func (w *workload) key() admission.Key { return keyOf(w.obj.Namespace, w.obj.Name) }

// New returns an empty view.
func New(opts Options) *View {
	return &View{
		opts:                      opts,
		snap:                      admission.NewSnapshot(),
		clusterQueues:             map[string]*clusterQueue{},
		localQueues:               map[admission.Key]*localQueue{},
		cohorts:                   map[string]*kueue.Cohort{},
		flavors:                   map[string]*kueue.ResourceFlavor{},
		checks:                    map[string]*kueue.AdmissionCheck{},
		topologies:                map[string]bool{},
		namespaces:                map[string]labels.Set{},
		limitRanges:               map[string][]*corev1.LimitRange{},
		runtimeClasses:            map[string]*nodev1.RuntimeClass{},
		requestCache:              map[requestCacheKey]*requestedPodSets{},
		usageTracker:              newUsageTracker(opts.Usage),
		workloads:                 map[admission.Key]*workload{},
		workloadsByLocalQueue:     map[admission.Key]map[admission.Key]*workload{},
		workloadsByRuntimeClass:   map[string]map[admission.Key]*workload{},
		localQueuesByClusterQueue: map[string]map[admission.Key]*localQueue{},
		batchedNotifications:      map[notification]bool{},
		staleReports:              newStaleReports(),
		deferredEvictions:         map[admission.Key]*workload{},
		lagging:                   map[admission.Key]*workload{},
		cycleRequests:             make(chan struct{}, 1),
	}
}

// CycleRequests is signalled when something changed that could let a workload be admitted. Signals coalesce.
func (v *View) CycleRequests() <-chan struct{} { return v.cycleRequests }

func (v *View) requestCycle() {
	select {
	case v.cycleRequests <- struct{}{}:
	default:
	}
}

func keyOf(namespace, name string) admission.Key {
	return admission.Key{Namespace: namespace, Name: name}
}
