package main

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

	corev1 "k8s.io/api/core/v1"
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
)

// kubeClient is a cluster that a command works on.
type kubeClient struct {
	client.Client
	// kube is for what the client has no verb for: versions, discovery, logs, access reviews.
	kube kubernetes.Interface
	// schemas are what the API server publishes of the fields of its kinds.
	schemas openapi.Client
	// config is the connection.
	config *rest.Config
}

// clientGetter reaches clusters. Nothing is called before a command does.
type clientGetter struct {
	// hub is the cluster that the global flags lead to.
	hub func() (*kubeClient, error)
	// context is the cluster of a context in a kubeconfig file; empty strings mean the usual file and its current context.
	context func(file, context string) (*kubeClient, error)
	// credentials is the cluster that a kubeconfig with everything in it leads to, as a hub would use it.
	credentials func(raw []byte) (*kubeClient, error)
}

func newClientGetter(flags *genericclioptions.ConfigFlags) clientGetter {
	return clientGetter{
		hub: func() (*kubeClient, error) {
			raw, err := loadKubeconfig(flags.ToRawKubeConfigLoader(), *flags.Context)
			if err != nil {
				return nil, err
			}
			config, err := flags.ToRESTConfig()
			if err != nil {
				return nil, usagef("find the hub in the kubeconfig: %w", err)
			}
			if isDefaultServer(config, raw, flags) {
				return nil, usagef("there is no kubeconfig, or it has no current context: set KUBECONFIG, or pass --kubeconfig or --context")
			}
			mapper, err := flags.ToRESTMapper()
			if err != nil {
				return nil, fmt.Errorf("connect to the hub: %w", err)
			}
			return newKubeClient(config, client.Options{Scheme: scheme(), Mapper: mapper})
		},
		context: func(file, name string) (*kubeClient, error) {
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = file
			loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
			if _, err := loadKubeconfig(loader, name); err != nil {
				return nil, err
			}
			config, err := loader.ClientConfig()
			if err != nil {
				return nil, usagef("find the cluster in the kubeconfig: %w", err)
			}
			return newKubeClient(config, client.Options{Scheme: scheme()})
		},
		credentials: func(raw []byte) (*kubeClient, error) {
			config, err := kubeconfig.Parse(raw)
			if err != nil {
				return nil, fmt.Errorf("read the kubeconfig that the hub has: %w", err)
			}
			return newKubeClient(config, client.Options{Scheme: scheme()})
		},
	}
}

// loadKubeconfig reads the kubeconfig, which must have the context if one is named.
func loadKubeconfig(loader clientcmd.ClientConfig, context string) (clientcmdapi.Config, error) {
	raw, err := loader.RawConfig()
	if err != nil {
		return raw, usagef("read the kubeconfig: %w", err)
	}
	if _, found := raw.Contexts[context]; context != "" && !found {
		names := slices.Sorted(maps.Keys(raw.Contexts))
		return raw, usagef("the kubeconfig has no context %q; its contexts are: %s", context, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return raw, nil
}

// isDefaultServer tells whether a connection is the one that kubectl tries when neither a kubeconfig nor a flag names a server.
func isDefaultServer(config *rest.Config, raw clientcmdapi.Config, flags *genericclioptions.ConfigFlags) bool {
	_, found := raw.Contexts[cmp.Or(*flags.Context, raw.CurrentContext)]
	return config.Host == clientcmd.ClusterDefaults.Server && os.Getenv("KUBERNETES_MASTER") == "" &&
		!found && *flags.APIServer == "" && *flags.ClusterName == ""
}

func newKubeClient(config *rest.Config, options client.Options) (*kubeClient, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "switchctl"
	config.QPS, config.Burst = 50, 100
	config.WarningHandler = rest.NoWarnings{} // v1beta1 warnings of others' objects are no news here
	c, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return &kubeClient{Client: c, kube: kube, schemas: kube.Discovery().OpenAPIV3(), config: config}, nil
}

// scheme knows every kind that the commands deal with. It is made once: dozens of commands ask for it at every start.
var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(jobset.AddToScheme(s))
	utilruntime.Must(kueue.AddToScheme(s))
	utilruntime.Must(switchyard.AddToScheme(s))
	return s
})

// kubeconfigSecret is the Secret that a MultiKueueCluster refers to; "" if its credentials come from elsewhere.
func kubeconfigSecret(cluster *kueue.MultiKueueCluster) string {
	k := cluster.Spec.ClusterSource.KubeConfig
	if k == nil || k.LocationType == kueue.PathLocationType {
		return ""
	}
	return k.Location
}

// credentialsOf reads the kubeconfig that the hub has for a cluster.
func (a *app) credentialsOf(ctx context.Context, hub *kubeClient, cluster *kueue.MultiKueueCluster) ([]byte, error) {
	name := kubeconfigSecret(cluster)
	if name == "" {
		return nil, fmt.Errorf("the hub reaches cluster %q by a file or a ClusterProfile, not by a Secret: pass a kubeconfig of your own", cluster.Name)
	}
	secret := &corev1.Secret{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: a.system, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %q: %w", cluster.Name, err)
	}
	raw, ok := secret.Data[kueue.MultiKueueConfigSecretKey]
	if !ok {
		return nil, fmt.Errorf("secret %s/%s has no key %q: run \"cluster register %s\" again", a.system, name, kueue.MultiKueueConfigSecretKey, cluster.Name)
	}
	return raw, nil
}

// listObjects lists page by page, so that no answer is too large. The page's size is KUEUECTL_LIST_REQUEST_LIMIT, 100 by
// default (contract: kueue-api.md 8.1).
func listObjects(ctx context.Context, c client.Reader, list client.ObjectList, options ...client.ListOption) error {
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
	kind, err := apiutil.GVKForObject(list, scheme())
	if err != nil {
		return "objects"
	}
	return strings.TrimSuffix(kind.Kind, "List") + "s"
}
