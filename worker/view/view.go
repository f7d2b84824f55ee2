package view

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// View is the state of one cluster's queues. New makes one, Register feeds it. It is safe for concurrent use.
//
// The indexes have what the API said last. Reports answers questions. The View itself has the law of assumptions: it decides where a
// workload belongs in the snapshot, by the indexes and by what this process has written and the API has not shown yet.
type View struct {
	opts Options

	mu   sync.Mutex
	snap *admission.Snapshot
	*objectIndex
	*workloadIndex
	*Reports
	*broadcaster
	requests *requestCalculator
	// usageTracker is nil unless recent usage counts.
	usageTracker *usageTracker
	staleReports *staleReports
	// deferredEvictions are victims to be evicted as soon as the API has confirmed their admission.
	deferredEvictions map[admission.Key]*workload
	// lagging are the workloads of which the informer shows a version older than our own last write.
	lagging map[admission.Key]*workload

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
	v := &View{
		opts:              opts,
		snap:              admission.NewSnapshot(),
		objectIndex:       newObjectIndex(opts),
		workloadIndex:     newWorkloadIndex(),
		requests:          newRequestCalculator(opts),
		usageTracker:      newUsageTracker(opts.Usage),
		deferredEvictions: map[admission.Key]*workload{},
		lagging:           map[admission.Key]*workload{},
		cycleRequests:     make(chan struct{}, 1),
	}
	v.staleReports = newStaleReports(v.objectIndex, v.workloadIndex, v.snap)
	v.broadcaster = &broadcaster{mu: &v.mu, objects: v.objectIndex, snap: v.snap, batchedNotifications: map[notification]bool{}}
	v.Reports = &Reports{
		mu: &v.mu, opts: opts, objects: v.objectIndex, index: v.workloadIndex, snap: v.snap, usageTracker: v.usageTracker,
	}
	return v
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
