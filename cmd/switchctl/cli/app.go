// Package cli is what the commands of switchctl have in common: the run of the program, its output, its questions, its waits, and
// the flags that several commands have.
package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// DefaultSystemNamespace is where the programs are installed by default.
const DefaultSystemNamespace = "kueue-system"

// App is one run of the program: where it reads and writes, and how it reaches clusters. Tests replace the functions.
type App struct {
	genericiooptions.IOStreams
	// Flags are kubectl's global flags; they lead to the hub.
	Flags *genericclioptions.ConfigFlags
	// SystemNamespace is the namespace of the hub's program, in which kubeconfig Secrets are.
	SystemNamespace string
	// Clusters reaches clusters.
	Clusters kubeclient.Getter
	// Kubectl runs kubectl with arguments.
	Kubectl func(ctx context.Context, streams genericiooptions.IOStreams, args []string) error
	// PendingWorkloads asks the hub for the pending workloads of a queue, in order.
	PendingWorkloads func(ctx context.Context, hub *kubeclient.Client, path ...string) ([]byte, error)
	// Now is the clock, poll how often a state that is waited for is looked at.
	Now          func() time.Time
	PollInterval time.Duration

	// Warnings are findings that the user was told of.
	Warnings []show.Finding
	// Parsed is set once the command line was understood: errors before that are the user's.
	Parsed bool
}

// NewApp is a run that reads and writes these streams and reaches clusters as kubectl does.
func NewApp(streams genericiooptions.IOStreams) *App {
	flags := genericclioptions.NewConfigFlags(true)
	return &App{
		IOStreams: streams, Flags: flags, SystemNamespace: DefaultSystemNamespace,
		Clusters: kubeclient.NewGetter(flags), Kubectl: RunKubectl,
		PendingWorkloads: kubeclient.RequestPendingWorkloads, Now: time.Now, PollInterval: time.Second,
	}
}

// RunE is a command's RunE: from here on, errors are not about the command line.
func (a *App) RunE(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.Parsed = true
		return run(cmd.Context(), args)
	}
}

// Namespace is the one that -n or the context names.
func (a *App) Namespace() (string, error) {
	name, _, err := a.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("find the namespace: %w", err)
	}
	return name, nil
}

// NewGroupCommand is a command that only has others below it.
func NewGroupCommand(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return cmd.Help()
		},
	}
	c.AddCommand(commands...)
	return c
}

// CredentialsOf reads the kubeconfig that the hub has for a cluster.
func (a *App) CredentialsOf(ctx context.Context, hub *kubeclient.Client, cluster *kueue.MultiKueueCluster) ([]byte, error) {
	name := kubeclient.KubeconfigSecretName(cluster)
	if name == "" {
		return nil, fmt.Errorf("the hub reaches cluster %q by a file or a ClusterProfile, not by a Secret: pass a kubeconfig of your own", cluster.Name)
	}
	secret := &corev1.Secret{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: a.SystemNamespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %q: %w", cluster.Name, err)
	}
	raw, ok := secret.Data[kueue.MultiKueueConfigSecretKey]
	if !ok {
		return nil, fmt.Errorf("secret %s/%s has no key %q: run \"cluster register %s\" again", a.SystemNamespace, name, kueue.MultiKueueConfigSecretKey, cluster.Name)
	}
	return raw, nil
}
