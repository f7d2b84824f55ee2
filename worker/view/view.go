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
// The indexes have what the API said last, and the assumptions what this process has decided and the API has not confirmed. From both
// follows where a workload belongs in the snapshot. Reports answers questions. The View itself takes the events in.
type View struct {
	opts Options

	mu   sync.Mutex
	snap *admission.Snapshot
	*objectIndex
	*workloadIndex
	*Reports
	*broadcaster
	*snapshotWriter
	*assumptions
	requests     *requestCalculator
	staleReports *staleReports

	// onConditionChange is called for every workload of which a condition is seen to change; nil for none.
	onConditionChange func(was, is *kueue.Workload)
	// unreportedChanges are the changes it has not been told about yet, because the mutex is held.
	unreportedChanges []workloadChange
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
		opts:          opts,
		snap:          admission.NewSnapshot(),
		objectIndex:   newObjectIndex(opts),
		workloadIndex: newWorkloadIndex(opts),
		requests:      newRequestCalculator(opts),
	}
	usage := newUsageTracker(opts.Usage)
	v.staleReports = newStaleReports(v.objectIndex, v.workloadIndex, v.snap)
	v.broadcaster = &broadcaster{mu: &v.mu, objects: v.objectIndex, snap: v.snap, batchedNotifications: map[notification]bool{}}
	v.snapshotWriter = &snapshotWriter{
		opts: opts, snap: v.snap, objects: v.objectIndex, index: v.workloadIndex, requests: v.requests, broadcaster: v.broadcaster,
		staleReports: v.staleReports, usageTracker: usage, cycleRequests: make(chan struct{}, 1),
	}
	v.assumptions = &assumptions{
		snap: v.snap, index: v.workloadIndex, broadcaster: v.broadcaster, writer: v.snapshotWriter,
		deferredEvictions: map[admission.Key]*workload{}, lagging: map[admission.Key]*workload{},
	}
	v.Reports = &Reports{
		mu: &v.mu, opts: opts, objects: v.objectIndex, index: v.workloadIndex, snap: v.snap, usageTracker: usage,
	}
	return v
}

func keyOf(namespace, name string) admission.Key {
	return admission.Key{Namespace: namespace, Name: name}
}

func (s *snapshotWriter) requestCycle() {
	select {
	case s.cycleRequests <- struct{}{}:
	default:
	}
}

// CycleRequests is signalled when something changed that could let a workload be admitted. Signals coalesce.
func (s *snapshotWriter) CycleRequests() <-chan struct{} { return s.cycleRequests }
