package access

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessapi "switchyard.dev/apis/access/v1alpha1"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/apiserver"
)

// NewGroup returns what makes the API group by which a Handler is reached. Configure is called with the program's manager.
func NewGroup(configure func(ctrl.Manager) (Config, error)) apiserver.NewGroup {
	return func(_ context.Context, mgr ctrl.Manager) (apiserver.Group, error) {
		c, err := configure(mgr)
		if err != nil {
			return apiserver.Group{}, err
		}
		c.Declared = declaredKinds(mgr.GetClient())
		return newGroup(NewHandler(c))
	}
}

// declaredTimeout is how long the cache of JobKinds may take to be filled, when the program starts.
const declaredTimeout = 2 * time.Second

// declaredKinds returns what reads the kinds that JobKinds declare, from the program's cache.
func declaredKinds(reader client.Reader) func() []schema.GroupVersionKind {
	return func() []schema.GroupVersionKind {
		ctx, cancel := context.WithTimeout(context.Background(), declaredTimeout)
		defer cancel()
		list := &switchyard.JobKindList{}
		if err := reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil // the cache is not filled yet
		}
		var kinds []schema.GroupVersionKind
		for i := range list.Items {
			of := list.Items[i].Spec
			kinds = append(kinds, schema.GroupVersionKind{Group: of.Group, Version: of.Version, Kind: of.Kind})
		}
		return kinds
	}
}

func newGroup(h *Handler) (apiserver.Group, error) {
	scheme := runtime.NewScheme()
	apiserver.AddToScheme(scheme)
	if err := accessapi.AddToScheme(scheme); err != nil {
		return apiserver.Group{}, err
	}
	info := genericapiserver.NewDefaultAPIGroupInfo(accessapi.GroupVersion.Group, scheme, runtime.NewParameterCodec(scheme), serializer.NewCodecFactory(scheme))
	info.VersionedResourcesStorageMap[accessapi.GroupVersion.Version] = map[string]rest.Storage{
		"clusters": clusterStorage{}, "clusters/proxy": proxyStorage{handler: h},
	}
	return apiserver.Group{APIGroupInfo: &info, Definitions: definitions}, nil
}

// definitions describe the kinds for OpenAPI.
func definitions(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	name := "switchyard.dev/apis/access/v1alpha1.Cluster"
	return map[string]common.OpenAPIDefinition{name: {Schema: spec.Schema{SchemaProps: spec.SchemaProps{
		Description: "Cluster is a worker of the hub.", Type: []string{"object"},
	}}}}
}

// clusterStorage is that of clusters, which can be neither read nor written.
type clusterStorage struct{}

var (
	_ rest.Scoper               = clusterStorage{}
	_ rest.SingularNameProvider = clusterStorage{}
)

// New implements rest.Storage.
func (clusterStorage) New() runtime.Object { return &accessapi.Cluster{} }

// Destroy implements rest.Storage.
func (clusterStorage) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (clusterStorage) NamespaceScoped() bool { return false }

// GetSingularName implements rest.SingularNameProvider.
func (clusterStorage) GetSingularName() string { return "cluster" }

// proxyStorage passes requests on to the Handler.
type proxyStorage struct {
	clusterStorage

	handler *Handler
}

var (
	_ rest.Connecter       = proxyStorage{}
	_ rest.StorageMetadata = proxyStorage{}
)

// ConnectMethods implements rest.Connecter.
func (proxyStorage) ConnectMethods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost}
}

// NewConnectOptions implements rest.Connecter: there are none, and the path goes on.
func (proxyStorage) NewConnectOptions() (options runtime.Object, subpath bool, subpathParameter string) {
	return nil, true, ""
}

// ProducesMIMETypes implements rest.StorageMetadata.
func (proxyStorage) ProducesMIMETypes(string) []string { return []string{"*/*"} }

// ProducesObject implements rest.StorageMetadata.
func (proxyStorage) ProducesObject(string) any { return "" }

// Connect implements rest.Connecter.
func (p proxyStorage) Connect(_ context.Context, cluster string, _ runtime.Object, _ rest.Responder) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		below, ok := strings.CutPrefix(req.URL.Path, accessapi.BasePath(cluster))
		if !ok {
			writeError(w, notServed("the path has no cluster's name that can be read"))
			return
		}
		p.handler.serve(w, req, cluster, below)
	}), nil
}
