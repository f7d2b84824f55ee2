package stream

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// NewInformer makes informers of a cache; it is what cache.Options.NewInformer asks for.
type NewInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// Informers returns the constructor of the informers of a cache of all namespaces, without selectors on Workloads. The informer of
// Workloads watches as this package does, and lists as it would anyway. Informers of kinds that others bring see their objects go with
// the CRD.
func Informers(connection *rest.Config, scheme *runtime.Scheme) (NewInformer, error) {
	c, err := restClient(connection, scheme)
	if err != nil {
		return nil, fmt.Errorf("connect to watch workloads: %w", err)
	}
	api, err := discovery.NewDiscoveryClientForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("connect to look for kinds: %w", err)
	}
	return func(lw toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		general, ok := lw.(*toolscache.ListWatch)
		_, workloads := of.(*kueue.Workload)
		kind := kindOf(of, scheme)
		switch {
		case !ok:
		case workloads:
			lw = &toolscache.ListWatch{ListWithContextFunc: general.ListWithContextFunc, WatchFuncWithContext: watcher(c)}
		case isBroughtByOthers(kind.Group):
			list := kindLister{list: general.ListWithContextFunc, kind: kind, api: api}.List
			lw = &toolscache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: general.WatchFuncWithContext}
		}
		return toolscache.NewSharedIndexInformer(lw, of, resync, indexers)
	}, nil
}

// restClient returns a client that decodes with negotiated.
func restClient(connection *rest.Config, scheme *runtime.Scheme) (rest.Interface, error) {
	own := rest.CopyConfig(connection)
	own.APIPath, own.GroupVersion = "/apis", &kueue.GroupVersion
	own.ContentType, own.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	own.NegotiatedSerializer = newNegotiated(scheme)
	return rest.RESTClientFor(own)
}

func watcher(c rest.Interface) toolscache.WatchFuncWithContext {
	return func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.Watch, o.AllowWatchBookmarks = true, true
		return c.Get().Resource("workloads").VersionedParams(&o, metav1.ParameterCodec).Watch(ctx)
	}
}
