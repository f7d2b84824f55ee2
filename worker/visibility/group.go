package visibility

import (
	"context"
	"net/url"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/apis/visibility/v1beta1"
	visibility "switchyard.dev/apis/visibility/v1beta2"
	"switchyard.dev/worker/apiserver"
	"switchyard.dev/worker/view"
)

// NewGroup serves what waits in the queues of a view, in both versions, which have one implementation.
func NewGroup(v *view.View, c clock.WithDelayedExecution) apiserver.NewGroup {
	return func(context.Context, ctrl.Manager) (apiserver.Group, error) {
		scheme, err := newScheme()
		if err != nil {
			return apiserver.Group{}, err
		}
		info := genericapiserver.NewDefaultAPIGroupInfo(
			visibility.GroupName, scheme, runtime.NewParameterCodec(scheme), serializer.NewCodecFactory(scheme))
		resources := newResources(v, c)
		for _, version := range info.PrioritizedVersions {
			info.VersionedResourcesStorageMap[version.Version] = resources
		}
		return apiserver.Group{APIGroupInfo: &info, Definitions: definitions}, nil
	}
}

func newResources(v *view.View, c clock.WithDelayedExecution) map[string]rest.Storage {
	p := newPositions(v, c)
	ofClusterQueue := pendingWorkloads{table: table{c}, synced: v.HasSynced, find: p.ofClusterQueue, resource: "clusterqueue"}
	ofLocalQueue := pendingWorkloads{table: table{c}, synced: v.HasSynced, find: p.ofLocalQueue, resource: "localqueue"}
	return map[string]rest.Storage{
		"clusterqueues":                  queues{newObject: func() runtime.Object { return &visibility.ClusterQueue{} }, singular: "clusterqueue"},
		"clusterqueues/pendingworkloads": ofClusterQueue,
		"localqueues": queues{
			newObject: func() runtime.Object { return &visibility.LocalQueue{} }, singular: "localqueue", namespaced: true,
		},
		"localqueues/pendingworkloads": ofLocalQueue,
	}
}

// newScheme knows both versions, the newer one first.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	apiserver.AddToScheme(scheme)
	if err := visibility.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1beta1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := scheme.SetVersionPriority(visibility.GroupVersion, v1beta1.GroupVersion); err != nil {
		return nil, err
	}
	err := scheme.AddConversionFunc((*url.Values)(nil), (*visibility.PendingWorkloadOptions)(nil), readOptions)
	return scheme, err
}

// readOptions reads the options of a request from its query.
func readOptions(from, to any, s conversion.Scope) error {
	query, o := *from.(*url.Values), to.(*visibility.PendingWorkloadOptions)
	for name, into := range map[string]*int64{"offset": &o.Offset, "limit": &o.Limit} {
		if values := query[name]; len(values) > 0 {
			if err := runtime.Convert_Slice_string_To_int64(&values, into, s); err != nil {
				return err
			}
		}
	}
	return nil
}
