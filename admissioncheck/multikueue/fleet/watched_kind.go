package fleet

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WatchedKind is one kind of object that is followed on every cluster.
type WatchedKind struct {
	// GVK of the objects.
	GVK schema.GroupVersionKind
	// New returns an empty object, NewList an empty list.
	New     func() client.Object
	NewList func() client.ObjectList
	// Required makes a cluster that does not serve the kind count as not connected. Any other kind that a cluster lacks is
	// just not served there.
	Required bool
	// AllOrigins follows all objects of the kind, not only those of our origin: what a cluster has to offer is not ours.
	// Lacking such a kind is no defect of a cluster and is not reported.
	AllOrigins bool
	// RenewalTimeout, optional, is how long an object of the kind counts without a change, by our own clock: its writer
	// renews it more often. See Fleet.GetFresh.
	RenewalTimeout time.Duration
	// FallbackFor, optional, names another kind that makes this one needless: it is followed only on clusters that are known not
	// to serve the other one or, if objects of that have to be renewed, to have none that was. The other must be among the
	// Options' kinds and have no Unless itself.
	FallbackFor schema.GroupVersionKind
	// WorkloadKey names the hub Workload that an object belongs to; false if none. It depends on the object alone.
	WorkloadKey func(client.Object) (types.NamespacedName, bool)
	// RelatedWorkloads, optional, lists further hub Workloads to look at when the object changes.
	RelatedWorkloads func(client.Object) []types.NamespacedName
	// Strip removes from an object what no reader of the cache needs. It may be called more than once for one object.
	Strip func(client.Object)
	// IsUrgent tells whether a change must be looked at immediately; other changes may wait for Options.Coalesce. Old is nil for a
	// new object, now is nil for a deleted one.
	IsUrgent func(old, now client.Object) bool
	// OnKnown, optional, is for a kind that is added to the fleet. It is called when it has become known on a connected cluster what there
	// is of the kind, or that it is not served there.
	OnKnown func()

	// addition counts the kinds that were added to the fleet up to this one; zero for one that it was made with.
	addition int
}

// listWatch is what one informer lists and watches.
type listWatch struct {
	*cache.ListWatch
}

// IsWatchListSemanticsUnSupported keeps the informer to list and then watch: lists are short, because they are filtered,
// and in-memory servers know nothing else.
func (listWatch) IsWatchListSemanticsUnSupported() bool { return true }

// listWatch reads what bears the hub's label. Lists go page by page and within the limits of the connection.
func (l lister) listWatch() listWatch {
	return listWatch{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) { return l.list(ctx) },
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return l.client.Watch(ctx, l.kind.NewList(), &client.ListOptions{LabelSelector: l.selector, Raw: &raw})
		},
	}}
}

// byWorkload is the index of objects by the hub Workload that they belong to, if that has not the very same name.
const byWorkload = "workload"

// newInformer returns an informer of one kind on a cluster, with an index by Workload.
func newInformer(l lister) (cache.SharedIndexInformer, error) {
	k := l.kind
	informer := cache.NewSharedIndexInformerWithOptions(l.listWatch(), k.New(), cache.SharedIndexInformerOptions{
		ObjectDescription: k.GVK.String(),
		Indexers: cache.Indexers{byWorkload: func(obj any) ([]string, error) {
			if o := asObject(obj); o != nil {
				if key, ok := k.WorkloadKey(o); ok && key != client.ObjectKeyFromObject(o) {
					return []string{key.String()}, nil
				}
			}
			return nil, nil
		}},
	})
	err := informer.SetTransform(func(obj any) (any, error) {
		k.strip(obj)
		return obj, nil
	})
	return informer, err
}
