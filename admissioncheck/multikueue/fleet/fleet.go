package fleet

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/wire"
	"switchyard.dev/worker/jsonweight"
)

// Fleet holds the supervisors of all worker clusters. It is a Runnable of the hub's manager, on the leader only; its
// other methods never block and never call a cluster.
type Fleet struct {
	options          Options
	workloadRequests RequestSource
	clusterRequests  RequestSource
	index            *clusterIndex
	listLimiter      listLimiter
	weights          jsonweight.Weights
	rates            *wire.Rates

	mu          sync.RWMutex
	ctx         context.Context //nolint:containedctx // the life of the Runnable, from which every supervisor's derives
	supervisors map[string]*supervisor
	// sorted are the members by name; it is replaced, never changed.
	sorted  []*supervisor
	running sync.WaitGroup
}

// New makes an empty fleet.
func New(options Options) *Fleet {
	return &Fleet{
		options: options.withDefaults(), supervisors: map[string]*supervisor{}, index: newClusterIndex(), listLimiter: newListLimiter(),
		weights: objectWeights(options.Kinds), rates: wire.NewRates(),
	}
}

// objectWeights are those of all that is read from a cluster.
func objectWeights(kinds []WatchedKind) jsonweight.Weights {
	read := []any{
		coordinationv1.Lease{}, corev1.Namespace{}, metav1.APIResourceList{}, metav1.APIGroupList{}, apidiscovery.APIGroupDiscoveryList{},
	}
	for _, k := range kinds {
		read = append(read, k.New(), k.NewList())
	}
	return jsonweight.Measure(read...)
}

// shutdownTimeout is how long the end of the program waits for supervisors; a call without a context may outlast it.
const shutdownTimeout = 3 * time.Second

// Start implements manager.Runnable: it lets the supervisors run until ctx ends, and waits for them a little.
func (f *Fleet) Start(ctx context.Context) error {
	f.mu.Lock()
	f.ctx = ctx
	for _, name := range slices.Sorted(maps.Keys(f.supervisors)) {
		f.startSupervisor(f.supervisors[name])
	}
	f.mu.Unlock()
	<-ctx.Done()
	ended := make(chan struct{})
	go func() { f.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(shutdownTimeout):
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (f *Fleet) NeedLeaderElection() bool { return true }

// startSupervisor needs f.mu.
func (f *Fleet) startSupervisor(s *supervisor) {
	ctx, stop := context.WithCancel(f.ctx)
	s.stop = stop
	f.running.Go(func() { s.run(ctx) })
}

// Connect makes the cluster be reached with the given credentials. Equal credentials change nothing; new ones end the
// present connection and are tried at once.
func (f *Fleet) Connect(cluster string, c Credentials) {
	f.ensureSupervisor(cluster).setCredentials(&c, nil)
}

// Disconnect ends the connection because there are no credentials that can be used. The cluster counts as lost from the
// moment contact ended.
func (f *Fleet) Disconnect(cluster string, reason error) {
	f.ensureSupervisor(cluster).setCredentials(nil, reason)
}

// ensureSupervisor returns the supervisor of a cluster, and starts one if there is none and the fleet runs.
func (f *Fleet) ensureSupervisor(cluster string) *supervisor {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.supervisors[cluster]
	if s == nil {
		s = newSupervisor(cluster, f)
		f.supervisors[cluster] = s
		f.sortSupervisors()
		if f.ctx != nil {
			f.startSupervisor(s)
		}
	}
	return s
}

// sortSupervisors needs f.mu.
func (f *Fleet) sortSupervisors() {
	f.sorted = slices.SortedFunc(maps.Values(f.supervisors), func(a, b *supervisor) int { return strings.Compare(a.name, b.name) })
}

// listSupervisors are the supervisors by the names of their clusters; not to be changed.
func (f *Fleet) listSupervisors() []*supervisor {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.sorted
}

// Remove ends the cluster's supervisor and drops all it knew.
func (f *Fleet) Remove(cluster string) {
	f.mu.Lock()
	s := f.supervisors[cluster]
	delete(f.supervisors, cluster)
	f.sortSupervisors()
	if s != nil && s.stop != nil {
		s.stop()
	}
	f.mu.Unlock()
	if s != nil {
		f.index.removeCluster(s)
		s.orphans.clear()
		s.requeueAffected()
	}
	if s != nil && f.options.OnRemoved != nil {
		f.options.OnRemoved(cluster)
	}
}

// WorkloadRequests is the signal for the controller of Workloads: something happened on a cluster, or an action has an answer.
func (f *Fleet) WorkloadRequests() *RequestSource { return &f.workloadRequests }

// ClusterRequests is the signal for the controller of MultiKueueClusters: a connection's state has changed.
func (f *Fleet) ClusterRequests() *RequestSource { return &f.clusterRequests }

// States returns the state of every cluster, by name.
func (f *Fleet) States() []State {
	members := f.listSupervisors()
	states := make([]State, 0, len(members))
	for _, s := range members {
		states = append(states, s.State())
	}
	return states
}

// lookup returns the supervisor of a cluster; nil for one that the fleet does not have.
func (f *Fleet) lookup(cluster string) *supervisor {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.supervisors[cluster]
}

// State returns the state of one cluster; false if there is no such cluster.
func (f *Fleet) State(cluster string) (State, bool) {
	s := f.lookup(cluster)
	if s == nil {
		return State{}, false
	}
	return s.State(), true
}

// Get returns an object as it was last seen on a cluster, nil if none was seen. Objects without our origin label are
// never seen. Served is false while the cluster does not serve the kind to us, or its objects are not all known yet;
// absence then means nothing. The object is shared: do not change it.
func (f *Fleet) Get(cluster string, gvk schema.GroupVersionKind, key types.NamespacedName) (obj client.Object, served bool) {
	s := f.lookup(cluster)
	if s == nil {
		return nil, false
	}
	return s.get(gvk, storeKey(key))
}

// ClustersFor names the clusters, in order, on which anything is seen or remembered of a Workload or its job, or is to be done for
// it. An empty GVK means that it has no job. It looks at what was announced: what an informer has that it did not tell of
// yet is not there.
func (f *Fleet) ClustersFor(workload types.NamespacedName, own, gvk schema.GroupVersionKind, job types.NamespacedName) []string {
	key := storeKey(workload)
	// What goes is remembered before it is seen no more, so seeing comes first.
	at := []indexKey{{f.options.kinds.number(own), key}, {deletedObjectKind, key}, {actionQueueKind, key}}
	if !gvk.Empty() {
		at = slices.Insert(at, 0, indexKey{f.options.kinds.number(gvk), storeKey(job)})
	}
	found := f.index.lookup(at...)
	names := make([]string, 0, len(found))
	for _, s := range found {
		names = append(names, s.name)
	}
	return names
}

// ClearActions empties what is to be done for a Workload on all clusters but the given ones.
func (f *Fleet) ClearActions(workload types.NamespacedName, but func(cluster string) bool) {
	for _, s := range f.index.lookup(indexKey{actionQueueKind, storeKey(workload)}) {
		if !but(s.name) {
			s.setActions(workload, nil)
		}
	}
}

// List returns all objects of a kind seen on a cluster, sorted by namespace and name. They are shared.
func (f *Fleet) List(cluster string, gvk schema.GroupVersionKind) []client.Object {
	s := f.lookup(cluster)
	if s == nil {
		return nil
	}
	informer := s.informerFor(gvk).informer
	if informer == nil || !informer.HasSynced() {
		return nil
	}
	keys := informer.GetStore().ListKeys()
	slices.Sort(keys)
	objects := make([]client.Object, 0, len(keys))
	for _, key := range keys {
		if item, ok, _ := informer.GetStore().GetByKey(key); ok {
			objects = append(objects, asObject(item))
		}
	}
	return objects
}

// AnyMatch tells whether an object of a kind that is, or was, seen on a cluster satisfies the condition.
func (f *Fleet) AnyMatch(cluster string, gvk schema.GroupVersionKind, condition func(client.Object) bool) bool {
	s := f.lookup(cluster)
	if s == nil {
		return false
	}
	informer := s.informerFor(gvk).informer
	if informer == nil {
		return false
	}
	return slices.ContainsFunc(informer.GetStore().List(), func(item any) bool { return condition(asObject(item)) })
}

// ListForWorkload returns the objects of a kind on a cluster that belong to a Workload, sorted by name. They are shared.
func (f *Fleet) ListForWorkload(cluster string, gvk schema.GroupVersionKind, workload types.NamespacedName) []client.Object {
	s := f.lookup(cluster)
	if s == nil {
		return nil
	}
	objects := s.informerFor(gvk).listForWorkload(workload)
	slices.SortFunc(objects, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objects
}

// LastDeleted returns the object of a kind that belonged to a Workload and is no more, the latest; false if none was seen to go.
func (f *Fleet) LastDeleted(cluster string, gvk schema.GroupVersionKind, workload types.NamespacedName) (DeletedObject, bool) {
	s := f.lookup(cluster)
	if s == nil {
		return DeletedObject{}, false
	}
	return s.deletedObjects.get(workload, gvk)
}

// SetActions replaces what is left to do on a cluster for a Workload; what is running is not interrupted. Nothing is kept for a
// cluster that is not connected: it is asked anew when it is back.
func (f *Fleet) SetActions(cluster string, workload types.NamespacedName, actions []Action) {
	if s := f.lookup(cluster); s != nil {
		s.setActions(workload, actions)
	}
}

// ActionResults returns what came of the actions for a Workload on a cluster, by ID.
func (f *Fleet) ActionResults(cluster string, workload types.NamespacedName) []ActionResult {
	s := f.lookup(cluster)
	if s == nil {
		return nil
	}
	return s.actionQueues.results(workload)
}

// ForgetWorkload drops what is remembered of a Workload that is no more.
func (f *Fleet) ForgetWorkload(workload types.NamespacedName) {
	key := storeKey(workload)
	for _, s := range f.index.lookup(indexKey{actionQueueKind, key}, indexKey{deletedObjectKind, key}) {
		s.actionQueues.forget(workload)
		s.deletedObjects.forget(workload)
	}
}
