package kind

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	"sigs.k8s.io/kind/pkg/exec"

	"switchyard.dev/e2e/installation"
)

//go:embed testdata/cluster.yaml
var clusterConfig string

// prefix keeps the clusters apart from a user's own.
const prefix = "switchyard-"

// kindCluster is a cluster of one node, and its administrator's clients.
type kindCluster struct {
	client.WithWatch
	// name is that of its context in the kubeconfig.
	name   string
	config *rest.Config
	kube   kubernetes.Interface
	node   nodes.Node
	// ip is the node's address, the same for as long as the node lives.
	ip string
}

// create makes a cluster and waits until its node is ready. The directory holds the audit policy and gets the kubeconfig.
// A cluster that does not come up is made once more, for it is not what is tested.
func create(provider *cluster.Provider, name, image, dir string) (*kindCluster, error) {
	kubeconfig := filepath.Join(dir, name+".kubeconfig")
	err := bootCluster(provider, name, image, kubeconfig)
	if err != nil {
		logf("%s does not come up, and is made again: %v", name, err)
		err = bootCluster(provider, name, image, kubeconfig)
	}
	if err != nil {
		return nil, err
	}
	return connectTo(provider, name, kubeconfig)
}

func bootCluster(provider *cluster.Provider, name, image, kubeconfig string) error {
	if err := provider.Delete(prefix+name, kubeconfig); err != nil { // of a run that was killed
		return fmt.Errorf("delete an old %s: %w", name, resultText(err))
	}
	options := []cluster.CreateOption{
		cluster.CreateWithRawConfig(fmt.Appendf(nil, clusterConfig, filepath.Dir(kubeconfig))),
		cluster.CreateWithKubeconfigPath(kubeconfig),
		cluster.CreateWithWaitForReady(10 * time.Minute),
	}
	if image != "" {
		options = append(options, cluster.CreateWithNodeImage(image))
	}
	if err := provider.Create(prefix+name, options...); err != nil {
		return fmt.Errorf("create %s: %w", name, resultText(err))
	}
	return nil
}

func connectTo(provider *cluster.Provider, name, kubeconfig string) (*kindCluster, error) {
	c := &kindCluster{name: name}
	all, err := provider.ListInternalNodes(prefix + name)
	if err != nil || len(all) != 1 {
		return nil, fmt.Errorf("nodes of %s: %v, %w", name, all, err)
	}
	c.node = all[0]
	if c.ip, _, err = c.node.IP(); err != nil {
		return nil, fmt.Errorf("address of %s: %w", name, resultText(err))
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	c.config.QPS, c.config.Burst = 100, 200
	if c.kube, err = kubernetes.NewForConfig(c.config); err != nil {
		return nil, fmt.Errorf("client of %s: %w", name, err)
	}
	if c.WithWatch, err = client.NewWithWatch(c.config, client.Options{Scheme: installation.Scheme()}); err != nil {
		return nil, fmt.Errorf("client of %s: %w", name, err)
	}
	return c, nil
}

// load brings an image of a tar file to the node.
func (c *kindCluster) load(file string) error {
	in, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	defer func() { _ = in.Close() }() // only read
	if err := nodeutils.LoadImageArchive(c.node, in); err != nil {
		return fmt.Errorf("load %s into %s: %w", file, c.name, resultText(err))
	}
	return nil
}

// tag gives the one image of the repository another tag.
func (c *kindCluster) tag(ctx context.Context, repository, tag string) error {
	all, err := c.run(ctx, "ctr", "--namespace=k8s.io", "images", "ls", "--quiet")
	if err != nil {
		return err
	}
	for _, image := range strings.Fields(all) {
		if strings.HasPrefix(image, repository+":") {
			_, err := c.run(ctx, "ctr", "--namespace=k8s.io", "images", "tag", image, repository+":"+tag)
			return err
		}
	}
	return fmt.Errorf("%s has no image of %s", c.name, repository)
}

// run runs a command on the node and returns what it says.
func (c *kindCluster) run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.Output(c.node.CommandContext(ctx, name, args...))
	if err != nil {
		return "", fmt.Errorf("%s on %s: %w", name, c.name, resultText(err))
	}
	return string(out), nil
}

// resultText adds what a command of kind's has said to its error.
func resultText(err error) error {
	if run := exec.RunErrorForError(err); run != nil {
		return errors.Join(err, errors.New(strings.TrimSpace(string(run.Output))))
	}
	return err
}

// mergeKubeconfigs makes one file with a context for each cluster, of its name; the first is the current one.
func mergeKubeconfigs(dir string, names ...string) (string, error) {
	all := clientcmdapi.NewConfig()
	for _, name := range names {
		one, err := clientcmd.LoadFromFile(filepath.Join(dir, name+".kubeconfig"))
		if err != nil {
			return "", fmt.Errorf("kubeconfig of %s: %w", name, err)
		}
		its := one.Contexts[one.CurrentContext]
		all.Clusters[name], all.AuthInfos[name] = one.Clusters[its.Cluster], one.AuthInfos[its.AuthInfo]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	all.CurrentContext = names[0]
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*all, file); err != nil {
		return "", fmt.Errorf("write a kubeconfig: %w", err)
	}
	return file, nil
}
