package guide

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"switchyard.dev/e2e/clusters"
)

// CommandEnv is what a reader of guides has before the first command.
type CommandEnv struct {
	// Contexts are the clusters that the reader administers, by the names of their contexts.
	Contexts map[string]*clusters.Cluster
	// Current is the current context; empty for none.
	Current string
	// Tree is the source tree, of which the working directory shows the entries named by Shows.
	Tree  string
	Shows []string
	// Programs are the reader's programs: paths, by the names under which they are called.
	Programs map[string]string
}

// Setup puts everything into a directory that is the reader's alone: home, working directory, kubeconfig and programs.
func (d CommandEnv) Setup(dir string) (Shell, error) {
	bin, work := filepath.Join(dir, "bin"), filepath.Join(dir, "work")
	for _, made := range []string{bin, work} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			return Shell{}, fmt.Errorf("set up the commands: %w", err)
		}
	}
	for name, path := range d.Programs {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			return Shell{}, fmt.Errorf("set up the commands: %w", err)
		}
	}
	for _, name := range d.Shows {
		if err := os.Symlink(filepath.Join(d.Tree, name), filepath.Join(work, name)); err != nil {
			return Shell{}, fmt.Errorf("set up the commands: %w", err)
		}
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := d.writeKubeconfig(kubeconfig); err != nil {
		return Shell{}, err
	}
	return Shell{Dir: work, Env: append(os.Environ(),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig, "HOME="+dir)}, nil
}

// writeKubeconfig writes a file with an administrator of every cluster.
func (d CommandEnv) writeKubeconfig(file string) error {
	all := clientcmdapi.NewConfig()
	for name, c := range d.Contexts {
		data, err := c.UserKubeconfig("administrator", "system:masters")
		if err != nil {
			return err
		}
		one, err := clientcmd.Load(data)
		if err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", name, err)
		}
		context := one.Contexts[one.CurrentContext]
		all.Clusters[name], all.AuthInfos[name] = one.Clusters[context.Cluster], one.AuthInfos[context.AuthInfo]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	all.CurrentContext = d.Current
	if err := clientcmd.WriteToFile(*all, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
