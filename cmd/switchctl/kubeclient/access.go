package kubeclient

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessapi "switchyard.dev/apis/access/v1alpha1"
	"switchyard.dev/worker/kube"
)

// errNoAccessAPI is what users of a hub are told that does not serve the API.
var errNoAccessAPI = errors.New("the hub does not show its users their pods: it does not serve " + accessapi.GroupVersion.String() + "; its administrators can " +
	"turn that on (chart value access.enabled=true, and \"cluster register NAME --access logs\" for each worker), or pass --worker-context or " +
	"--worker-kubeconfig of your own")

// CheckAccessAPI is nil if a hub serves the API by which users see their pods.
func CheckAccessAPI(hub *Client) error {
	_, err := hub.Kube.Discovery().ServerResourcesForGroupVersion(accessapi.GroupVersion.String())
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return errNoAccessAPI
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("the hub's API server does not reach the program that shows users their pods: try again, and see "+
			"kubectl get apiservice v1alpha1.access.switchyard.dev: %w", err)
	}
	return fmt.Errorf("ask the hub for its %s: %w", accessapi.GroupVersion, err)
}

// fleetWarnings shows what a hub says of workers that did not answer. To look at the others' pods is no failure then.
type fleetWarnings struct{ out io.Writer }

// HandleWarningHeader implements rest.WarningHandler.
func (w fleetWarnings) HandleWarningHeader(code int, _, text string) {
	if code == warnMiscellaneous && text != "" {
		_, _ = fmt.Fprintln(w.out, "warning:", kube.SanitizeForTerminal(text))
	}
}

// warnMiscellaneous is the code of every warning of an API server (RFC 7234).
const warnMiscellaneous = 299

// newFleetClient reaches the pods of a hub's jobs through the hub.
func newFleetClient(hub *Client, cluster string) (*Client, error) {
	if err := CheckAccessAPI(hub); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(hub.Config)
	config.Host = strings.TrimSuffix(config.Host, "/") + accessapi.BasePath(cluster)
	config.WarningHandler = fleetWarnings{os.Stderr}
	return newClient(config, client.Options{Scheme: Scheme()})
}

// RESTGetter reaches one cluster, and one namespace there, for code of kubectl.
type RESTGetter struct {
	*Client

	// InNamespace is the namespace where none is named.
	InNamespace string
}

// ToRESTConfig implements genericclioptions.RESTClientGetter. The configuration is for the API's group "" unless somebody sets another.
func (g RESTGetter) ToRESTConfig() (*rest.Config, error) {
	config := rest.CopyConfig(g.Config)
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return config, nil
}

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g RESTGetter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	found, err := discovery.NewDiscoveryClientForConfig(g.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", g.Config.Host, err)
	}
	return memory.NewMemCacheClient(found), nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g RESTGetter) ToRESTMapper() (meta.RESTMapper, error) {
	found, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(found), found, nil), nil
}

// ToRawKubeConfigLoader implements genericclioptions.RESTClientGetter. Only the namespace can be asked of it.
func (g RESTGetter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.InNamespace}})
}
