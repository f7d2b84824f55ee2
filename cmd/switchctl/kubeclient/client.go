// Package kubeclient reaches clusters: by the flags of the command line, by a context of a kubeconfig, or with the credentials
// that the hub has.
package kubeclient

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"switchyard.dev/admissioncheck/multikueue/kubeconfig"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/exit"
)

// Client is a cluster that a command works on.
type Client struct {
	client.Client
	// Kube is for what the client has no verb for: versions, discovery, logs, access reviews.
	Kube kubernetes.Interface
	// Schemas are what the API server publishes of the fields of its kinds.
	Schemas openapi.Client
	// Config is the connection.
	Config *rest.Config
}

// Getter reaches clusters. Nothing is called before a command does.
type Getter struct {
	// Hub is the cluster that the global flags lead to.
	Hub func() (*Client, error)
	// Context is the cluster of a context in a kubeconfig file; empty strings mean the usual file and its current context.
	Context func(file, context string) (*Client, error)
	// Credentials is the cluster that a kubeconfig with everything in it leads to, as a hub would use it.
	Credentials func(raw []byte) (*Client, error)
	// Fleet reaches, through the hub and as its user, the pods of the hub's jobs on a worker cluster, or on AllClusters.
	Fleet func(hub *Client, cluster string) (*Client, error)
}

// NewGetter reaches the hub that the flags of the command line lead to, and other clusters by files and credentials.
func NewGetter(flags *genericclioptions.ConfigFlags) Getter {
	return Getter{
		Hub: func() (*Client, error) {
			raw, err := loadKubeconfig(flags.ToRawKubeConfigLoader(), *flags.Context)
			if err != nil {
				return nil, err
			}
			config, err := flags.ToRESTConfig()
			if err != nil {
				return nil, exit.Usagef("find the hub in the kubeconfig: %w", err)
			}
			if isDefaultServer(config, raw, flags) {
				return nil, exit.Usagef("there is no kubeconfig, or it has no current context: set KUBECONFIG, or pass --kubeconfig or --context")
			}
			mapper, err := flags.ToRESTMapper()
			if err != nil {
				return nil, fmt.Errorf("connect to the hub: %w", err)
			}
			return newClient(config, client.Options{Scheme: Scheme(), Mapper: mapper})
		},
		Context: func(file, name string) (*Client, error) {
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = file
			loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
			if _, err := loadKubeconfig(loader, name); err != nil {
				return nil, err
			}
			config, err := loader.ClientConfig()
			if err != nil {
				return nil, exit.Usagef("find the cluster in the kubeconfig: %w", err)
			}
			return newClient(config, client.Options{Scheme: Scheme()})
		},
		Credentials: func(raw []byte) (*Client, error) {
			config, err := kubeconfig.Parse(raw)
			if err != nil {
				return nil, fmt.Errorf("read the kubeconfig that the hub has: %w", err)
			}
			return newClient(config, client.Options{Scheme: Scheme()})
		},
		Fleet: newFleetClient,
	}
}

// loadKubeconfig reads the kubeconfig, which must have the context if one is named.
func loadKubeconfig(loader clientcmd.ClientConfig, context string) (clientcmdapi.Config, error) {
	raw, err := loader.RawConfig()
	if err != nil {
		return raw, exit.Usagef("read the kubeconfig: %w", err)
	}
	if _, found := raw.Contexts[context]; context != "" && !found {
		names := slices.Sorted(maps.Keys(raw.Contexts))
		return raw, exit.Usagef("the kubeconfig has no context %q; its contexts are: %s", context, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return raw, nil
}

// isDefaultServer tells whether a connection is the one that kubectl tries when neither a kubeconfig nor a flag names a server.
func isDefaultServer(config *rest.Config, raw clientcmdapi.Config, flags *genericclioptions.ConfigFlags) bool {
	_, found := raw.Contexts[cmp.Or(*flags.Context, raw.CurrentContext)]
	return config.Host == clientcmd.ClusterDefaults.Server && os.Getenv("KUBERNETES_MASTER") == "" &&
		!found && *flags.APIServer == "" && *flags.ClusterName == ""
}

// newClient is a client with limits fit for one person. Warnings of the API server are not shown, unless the configuration says so.
func newClient(config *rest.Config, options client.Options) (*Client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "switchctl"
	config.QPS, config.Burst = 50, 100
	if config.WarningHandler == nil {
		config.WarningHandler = rest.NoWarnings{} // v1beta1 warnings of others' objects are no news here
	}
	c, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return &Client{Client: c, Kube: kube, Schemas: kube.Discovery().OpenAPIV3(), Config: config}, nil
}

// Scheme knows every kind that the commands deal with. It is made once: dozens of commands ask for it at every start.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(jobset.AddToScheme(s))
	utilruntime.Must(kueue.AddToScheme(s))
	utilruntime.Must(switchyard.AddToScheme(s))
	return s
})

// KubeconfigSecretName is the Secret that a MultiKueueCluster refers to; "" if its credentials come from elsewhere.
func KubeconfigSecretName(cluster *kueue.MultiKueueCluster) string {
	k := cluster.Spec.ClusterSource.KubeConfig
	if k == nil || k.LocationType == kueue.PathLocationType {
		return ""
	}
	return k.Location
}

// ListObjects lists page by page, so that no answer is too large. The page's size is KUEUECTL_LIST_REQUEST_LIMIT, 100 by
// default (contract: kueue-api.md 8.1).
func ListObjects(ctx context.Context, c client.Reader, list client.ObjectList, options ...client.ListOption) error {
	size, err := strconv.ParseInt(os.Getenv("KUEUECTL_LIST_REQUEST_LIMIT"), 10, 64)
	if err != nil || size < 1 {
		size = 100
	}
	empty := list.DeepCopyObject()
	var all []runtime.Object
	for next := ""; ; {
		page, ok := empty.DeepCopyObject().(client.ObjectList)
		if !ok {
			return fmt.Errorf("%T is no list", empty)
		}
		if err := c.List(ctx, page, append(slices.Clone(options), client.Limit(size), client.Continue(next))...); err != nil {
			return fmt.Errorf("list %s: %w", kindOfObject(list), err)
		}
		items, err := meta.ExtractList(page)
		if err != nil {
			return fmt.Errorf("list %s: %w", kindOfObject(list), err)
		}
		all = append(all, items...)
		if next = page.GetContinue(); next == "" {
			break
		}
	}
	if err := meta.SetList(list, all); err != nil {
		return fmt.Errorf("list %s: %w", kindOfObject(list), err)
	}
	return nil
}

// kindOfObject names a list by what is in it.
func kindOfObject(list client.ObjectList) string {
	kind, err := apiutil.GVKForObject(list, Scheme())
	if err != nil {
		return "objects"
	}
	return strings.TrimSuffix(kind.Kind, "List") + "s"
}

// GetIfAllowed reads an object that may not exist, or not for this user.
func GetIfAllowed(ctx context.Context, c client.Reader, key client.ObjectKey, into client.Object) (bool, error) {
	if key.Name == "" {
		return false, nil
	}
	switch err := c.Get(ctx, key, into); exit.Code(err) {
	case exit.OK:
		return true, nil
	case exit.NotFound, exit.Denied:
		return false, nil
	default:
		return false, fmt.Errorf("read %s: %w", key, err)
	}
}

// ObjectKey is the name of an object for messages: NAMESPACE/NAME, or NAME of one without a namespace.
func ObjectKey(obj client.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}

// ListItems are the items of a list.
func ListItems(list client.ObjectList) []client.Object {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil
	}
	var objects []client.Object
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			objects = append(objects, obj)
		}
	}
	return objects
}
