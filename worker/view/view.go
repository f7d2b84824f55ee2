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

	mu      sync.Mutex
	snap    *admission.Snapshot
	queues  map[string]*clusterQueue
	locals  map[admission.Key]*localQueue
	cohorts map[string]*kueue.Cohort
	flavors map[string]*kueue.ResourceFlavor
	checks  map[string]*kueue.AdmissionCheck
	// topologies are the names of those that exist.
	topologies map[string]bool
	namespaces map[string]labels.Set
	// limitRanges are by namespace, those of one namespace by name.
	limitRanges    map[string][]*corev1.LimitRange
	runtimeClasses map[string]*nodev1.RuntimeClass
	// asks remembers what workloads ask for that share their pod sets.
	asks map[template]*asked
	// books is nil unless recent usage counts.
	books     *books
	workloads map[admission.Key]*workload
	// byLocal finds the workloads of a LocalQueue, which need not exist.
	byLocal map[admission.Key]map[admission.Key]*workload
	// byClass finds the workloads whose pods name a RuntimeClass, which need not exist.
	byClass map[string]map[admission.Key]*workload
	// byQueue finds the LocalQueues of a ClusterQueue, which need not exist.
	byQueue map[string]map[admission.Key]*localQueue

	// cycles counts them.
	cycles  uint64
	unheard unheard
	// due are victims to be evicted as soon as the API has confirmed their admission.
	due map[admission.Key]*workload
	// late are the workloads of which the informer shows a version older than our own last write.
	late map[admission.Key]*workload

	subscribers []subscriber
	// gathered are changes that subscribers will be told of when the interval is over.
	gathered map[news]bool
	// tell is told about every workload of which a condition is seen to change; nil for nobody.
	tell func(was, is *kueue.Workload)
	// untold are the changes it has not been told about yet, because the mutex is held.
	untold []change
	wake   chan struct{}
	// synced is complete once Register has returned.
	synced []toolscache.InformerSynced
}

// clusterQueue is a ClusterQueue and what follows from it.
type clusterQueue struct {
	obj      *kueue.ClusterQueue
	selector labels.Selector
	// broken says why the selector does not parse; nil when it does.
	broken   error
	activity Activity
	// cyclic is set while the parents of its cohort form a cycle, of which the activity says nothing.
	cyclic bool
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
	// asked is what obj asks for; nil until somebody wants to know.
	asked *asked
	// place is what the snapshot was told last.
	place place
	// written is the resourceVersion of the answer to the last write of this process, until the informer has caught up
	// with it; empty otherwise.
	written string
	// hidden is the last version from the informer that was passed over as older than written, since when a cycle has known of
	// one; nil if there is none.
	hidden      *kueue.Workload
	hiddenSince time.Time
	// assumed is the write of a reservation that the snapshot has and the API has not confirmed yet; nil otherwise.
	assumed *attempt
	// evicting is the eviction that a cycle decided and the API has not confirmed yet; nil otherwise.
	evicting *eviction
	// told is the reason to wait that was told last, and heard the number of the cycle that told it.
	told  admission.Reason
	heard uint64
	// retries counts the writes that the API refused for a reason other than a conflict, since the last success.
	retries int
	// retryAt keeps the workload out of the cycle after such a refusal; the zero time means no bound.
	retryAt time.Time
}

func (w *workload) key() admission.Key { return keyOf(w.obj.Namespace, w.obj.Name) }

// New returns an empty view.
func New(opts Options) *View {
	return &View{
		opts:           opts,
		snap:           admission.NewSnapshot(),
		queues:         map[string]*clusterQueue{},
		locals:         map[admission.Key]*localQueue{},
		cohorts:        map[string]*kueue.Cohort{},
		flavors:        map[string]*kueue.ResourceFlavor{},
		checks:         map[string]*kueue.AdmissionCheck{},
		topologies:     map[string]bool{},
		namespaces:     map[string]labels.Set{},
		limitRanges:    map[string][]*corev1.LimitRange{},
		runtimeClasses: map[string]*nodev1.RuntimeClass{},
		asks:           map[template]*asked{},
		books:          newBooks(opts.Usage),
		workloads:      map[admission.Key]*workload{},
		byLocal:        map[admission.Key]map[admission.Key]*workload{},
		byClass:        map[string]map[admission.Key]*workload{},
		byQueue:        map[string]map[admission.Key]*localQueue{},
		gathered:       map[news]bool{},
		unheard:        newUnheard(),
		due:            map[admission.Key]*workload{},
		late:           map[admission.Key]*workload{},
		wake:           make(chan struct{}, 1),
	}
}

// Wake is signalled when something changed that could let a workload be admitted. Signals coalesce.
func (v *View) Wake() <-chan struct{} { return v.wake }

func (v *View) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

func keyOf(namespace, name string) admission.Key {
	return admission.Key{Namespace: namespace, Name: name}
}
