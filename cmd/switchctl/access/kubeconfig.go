// Package access has the commands by which other programs reach, through the hub, the pods of its jobs.
package access

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	accessapi "switchyard.dev/apis/access/v1alpha1"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// NewCommand is the family of commands about the way through the hub.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroupCommand("access", "Reach the pods of the hub's jobs with kubectl and other programs", newKubeconfig(a))
}

type kubeconfigOptions struct {
	cluster string
	merge   bool
}

// newKubeconfig is "access kubeconfig".
func newKubeconfig(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "kubeconfig", Short: "Print a kubeconfig whose cluster is all workers, seen through the hub",
		Long: `Print a kubeconfig with one context, CONTEXT-fleet: to kubectl, k9s and other programs the hub then looks like a cluster that has the
pods, logs, events and jobs of one namespace, wherever they run. Credentials are those of the current context, and stay yours:
the hub decides by them what you may see.

With --server (and --certificate-authority) it leads to the hub's own port for this, where the hub's API server cannot serve the API. That
port takes tokens, and no client certificates.`,
		Example: `  switchctl access kubeconfig -n vision > fleet.yaml
  KUBECONFIG=fleet.yaml kubectl logs -f job/train
  switchctl access kubeconfig -n vision --merge && kubectl --context hub-fleet get pods`,
		Args: cobra.NoArgs,
	}
	o := &kubeconfigOptions{}
	c.Flags().StringVar(&o.cluster, "cluster", "", "Only this worker cluster; the context is CONTEXT-CLUSTER")
	_ = c.RegisterFlagCompletionFunc("cluster", a.CompleteClusters)
	c.Flags().BoolVar(&o.merge, "merge", false, "Put the context into your own kubeconfig instead, with the user that is there; the current context stays")
	c.RunE = a.RunE(func(context.Context, []string) error { return runKubeconfig(a, o) })
	return c
}

// runKubeconfig prints the kubeconfig, or puts its context into the caller's.
func runKubeconfig(a *cli.App, o *kubeconfigOptions) error {
	if problems := validation.IsDNS1123Subdomain(o.cluster); o.cluster != "" && len(problems) > 0 {
		return exit.Usagef("--cluster: %q cannot be a cluster's name: %s", o.cluster, problems[0])
	}
	hub, err := currentHub(a)
	if err != nil {
		return err
	}
	hub.checkServed(a)
	name := hub.context + "-" + cmp.Or(o.cluster, "fleet")
	server, err := accessURL(hub.cluster.Server, cmp.Or(o.cluster, accessapi.AllClusters))
	if err != nil {
		return err
	}
	hub.cluster.Server = server
	if o.merge {
		return hub.merge(a, name)
	}
	return hub.print(a, name)
}

// way is how the caller reaches the hub.
type way struct {
	context   string
	namespace string
	cluster   *clientcmdapi.Cluster
	userName  string
	user      *clientcmdapi.AuthInfo
	// ownUser tells that the command line has credentials, which the kubeconfig does not have.
	ownUser bool
}

// currentHub is the way that the global flags say. Files are named by absolute paths.
func currentHub(a *cli.App) (*way, error) {
	if _, err := a.Clusters.Hub(); err != nil { // says what is missing
		return nil, err
	}
	raw, err := a.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, exit.Usagef("read the kubeconfig: %w", err)
	}
	f := a.Flags
	w := &way{context: cmp.Or(*f.Context, raw.CurrentContext, "hub"), cluster: clientcmdapi.NewCluster(), user: clientcmdapi.NewAuthInfo()}
	current := raw.Contexts[cmp.Or(*f.Context, raw.CurrentContext)]
	if current == nil {
		current = clientcmdapi.NewContext()
	}
	if found := raw.Clusters[current.Cluster]; found != nil {
		w.cluster = found.DeepCopy()
	}
	w.userName = cmp.Or(*f.AuthInfoName, current.AuthInfo, "user")
	if found := raw.AuthInfos[w.userName]; found != nil {
		w.user = found.DeepCopy()
	}
	if err := w.override(a); err != nil {
		return nil, err
	}
	w.namespace, err = a.Namespace()
	return w, err
}

// override takes server and credentials that the global flags say. What is said of one server does not hold for another, but for its
// authority.
func (w *way) override(a *cli.App) error {
	f := a.Flags
	if *f.APIServer != "" {
		w.cluster.Server, w.cluster.TLSServerName = *f.APIServer, ""
	}
	w.cluster.TLSServerName = cmp.Or(*f.TLSServerName, w.cluster.TLSServerName)
	w.cluster.InsecureSkipTLSVerify = w.cluster.InsecureSkipTLSVerify || *f.Insecure
	w.ownUser = *f.BearerToken != "" || *f.CertFile != "" || *f.KeyFile != "" || *f.Impersonate != ""
	if *f.BearerToken != "" {
		w.user.Token, w.user.TokenFile = *f.BearerToken, ""
	}
	if *f.Impersonate != "" {
		w.user.Impersonate, w.user.ImpersonateUID, w.user.ImpersonateGroups = *f.Impersonate, *f.ImpersonateUID, *f.ImpersonateGroup
	}
	for _, file := range []struct {
		flag string
		path *string
		data *[]byte
	}{
		{*f.CAFile, &w.cluster.CertificateAuthority, &w.cluster.CertificateAuthorityData},
		{*f.CertFile, &w.user.ClientCertificate, &w.user.ClientCertificateData},
		{*f.KeyFile, &w.user.ClientKey, &w.user.ClientKeyData},
	} {
		if err := overrideFile(file.flag, file.path, file.data); err != nil {
			return err
		}
	}
	if w.cluster.InsecureSkipTLSVerify { // with an authority as well, no client takes it
		w.cluster.CertificateAuthority, w.cluster.CertificateAuthorityData = "", nil
	}
	return nil
}

// overrideFile takes the file that a flag says, if it says one. Of a kubeconfig with a file and its content, the content counts.
func overrideFile(flag string, path *string, data *[]byte) error {
	switch {
	case flag != "":
		absolute, err := filepath.Abs(flag)
		if err != nil {
			return fmt.Errorf("find %s: %w", flag, err)
		}
		*path, *data = absolute, nil
	case len(*data) > 0:
		*path = ""
	}
	return nil
}

// checkServed warns of what will not work. It is no failure: the API may be turned on later.
func (w *way) checkServed(a *cli.App) {
	switch hub, err := a.Clusters.Hub(); {
	case *a.Flags.APIServer != "" && w.user.Token == "" && w.user.TokenFile == "" && w.user.Exec == nil && w.user.AuthProvider == nil:
		a.Warnf("user %q has no token: the hub's own port takes no client certificates and no passwords", w.userName)
	case *a.Flags.APIServer == "" && err == nil:
		if err := kubeclient.CheckAccessAPI(hub); err != nil {
			a.Warnf("%v", err)
		}
	}
}

// accessURL is the base path on a server, below whatever path that has itself.
func accessURL(server, cluster string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", exit.Usagef("%q is no server's URL: want https://HOST:PORT", server)
	}
	if strings.Contains(u.Path, "/apis/"+accessapi.GroupVersion.String()) {
		return "", exit.Usagef("the context leads through a hub already (%s): choose the hub's own with --context", server)
	}
	return u.JoinPath(accessapi.BasePath(cluster)).String(), nil
}

// config is the kubeconfig with that one context.
func (w *way) config(name string) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[name], config.AuthInfos[w.userName], config.CurrentContext = w.cluster, w.user, name
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: w.userName, Namespace: w.namespace}
	return config
}

// print prints the kubeconfig with everything in it, so that it can be put anywhere.
func (w *way) print(a *cli.App, name string) error {
	config := w.config(name)
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return exit.Usagef("read what the kubeconfig names: %w", err)
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	_, err = a.Out.Write(text)
	return err
}

// merge puts cluster and context into the caller's kubeconfig. The user is the one that is there: its credentials are not copied.
func (w *way) merge(a *cli.App, name string) error {
	if w.ownUser {
		return exit.Usagef("--merge takes the user of the kubeconfig, and no credentials of the command line")
	}
	access := a.Flags.ToRawKubeConfigLoader().ConfigAccess()
	config, err := access.GetStartingConfig()
	if err != nil {
		return exit.Usagef("read the kubeconfig: %w", err)
	}
	if config.AuthInfos[w.userName] == nil {
		return exit.Usagef("the kubeconfig has no user %q: print one instead of --merge", w.userName)
	}
	made := w.config(name)
	config.Clusters[name], config.Contexts[name] = made.Clusters[name], made.Contexts[name]
	if err := clientcmd.ModifyConfig(access, *config, true); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	a.Printf("context %s: kubectl --context %s get pods", name, name)
	return nil
}
