package visibility

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	visibility "switchyard.dev/apis/visibility/v1beta2"
	"switchyard.dev/worker/admission"
)

// queues is the storage of a kind of queue, which is there for its subresource only.
type queues struct {
	newObject  func() runtime.Object
	singular   string
	namespaced bool
}

var (
	_ rest.Storage              = queues{}
	_ rest.Scoper               = queues{}
	_ rest.SingularNameProvider = queues{}
	_ rest.GetterWithOptions    = pendingWorkloads{}
	_ rest.TableConvertor       = pendingWorkloads{}
)

// New implements rest.Storage.
func (q queues) New() runtime.Object { return q.newObject() }

// Destroy implements rest.Storage.
func (queues) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (q queues) NamespaceScoped() bool { return q.namespaced }

// GetSingularName implements rest.SingularNameProvider.
func (q queues) GetSingularName() string { return q.singular }

// pendingWorkloads is the subresource of that name.
type pendingWorkloads struct {
	table
	// synced tells whether the program knows all queues and workloads yet.
	synced func() bool
	// find returns the page of a queue that the options ask for; false if there is no such queue.
	find func(name types.NamespacedName, o *visibility.PendingWorkloadOptions) (*visibility.PendingWorkloadsSummary, bool)
	// resource names the kind of queue in errors.
	resource string
}

// New implements rest.Storage.
func (pendingWorkloads) New() runtime.Object { return &visibility.PendingWorkloadsSummary{} }

// Destroy implements rest.Storage.
func (pendingWorkloads) Destroy() {}

// NewGetOptions implements rest.GetterWithOptions.
func (pendingWorkloads) NewGetOptions() (options runtime.Object, withPath bool, pathParameter string) {
	return &visibility.PendingWorkloadOptions{}, false, ""
}

// Get implements rest.GetterWithOptions.
func (p pendingWorkloads) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	o := &visibility.PendingWorkloadOptions{}
	if given, ok := options.(*visibility.PendingWorkloadOptions); ok {
		*o = *given
	}
	o.SetDefaults()
	if !p.synced() {
		return nil, apierrors.NewServiceUnavailable("the queues are not known yet: the program has just started")
	}
	namespace, _ := apirequest.NamespaceFrom(ctx)
	summary, found := p.find(types.NamespacedName{Namespace: namespace, Name: name}, o)
	if !found {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: visibility.GroupName, Resource: p.resource}, name)
	}
	return summary, nil
}

// ofClusterQueue returns a page of what waits in a ClusterQueue.
func (p *positions) ofClusterQueue(
	name types.NamespacedName, o *visibility.PendingWorkloadOptions,
) (*visibility.PendingWorkloadsSummary, bool) {
	if !p.view.HasClusterQueue(name.Name) {
		return nil, false
	}
	return clusterQueueSummary(p.view, p.of(name.Name), o), true
}

// ofLocalQueue returns a page of what waits in a LocalQueue: nothing if its ClusterQueue is not there.
func (p *positions) ofLocalQueue(
	name types.NamespacedName, o *visibility.PendingWorkloadOptions,
) (*visibility.PendingWorkloadsSummary, bool) {
	queue, open := p.view.OpenLocalQueue(name)
	if !open {
		return nil, false
	}
	l := newList(&admission.PendingList{})
	if p.view.HasClusterQueue(queue) {
		l = p.of(queue)
	}
	return localQueueSummary(p.view, l, admission.Key{Namespace: name.Namespace, Name: name.Name}, o), true
}
