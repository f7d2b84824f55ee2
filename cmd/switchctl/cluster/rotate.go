package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

type rotateOptions struct {
	*workerFlags
	duration time.Duration
	grace    time.Duration
	timeout  time.Duration
}

// newRotate is "cluster rotate".
func newRotate(a *cli.App) *cobra.Command {
	o := &rotateOptions{}
	c := &cobra.Command{
		Use: "rotate NAME", Short: "Give the hub a new token for a worker, and revoke the old ones",
		Long: `Give the hub a new token for a worker, and one for --access if that was granted. The hub connects with it at once; jobs go on.
Then older tokens that were issued by register or rotate are revoked, after --revoke-after. Rights are not changed: see "cluster
register".`,
		Example: "  switchctl cluster rotate w1 --context w1", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteClusters,
	}
	o.workerFlags = addWorkerFlags(a, c)
	c.Flags().DurationVar(&o.duration, "token-duration", 90*24*time.Hour, "How long the new token is good")
	c.Flags().DurationVar(&o.grace, "revoke-after", 15*time.Second, "How long older tokens stay good, for the hub to change over")
	c.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "How long to wait until the hub is connected")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error { return runRotate(ctx, a, args[0], o) })
	return c
}

// runRotate gives the hub a new token, waits until it is connected, and only then revokes the older tokens.
func runRotate(ctx context.Context, a *cli.App, name string, o *rotateOptions) error {
	hub, worker, err := connectBoth(ctx, a, o.workerFlags)
	if err != nil {
		return err
	}
	cluster := &kueue.MultiKueueCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
	}
	secretName := kubeclient.KubeconfigSecretName(cluster)
	if _, err := a.CredentialsOf(ctx, hub, cluster); err != nil {
		return err
	}
	secret := &corev1.Secret{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: a.SystemNamespace, Name: secretName}, secret); err != nil {
		return fmt.Errorf("read Secret %s: %w", secretName, err)
	}
	at := fleetSides{hub, worker}
	bound, err := rotateToken(ctx, a, at, secret, o.account(), o.duration)
	if err != nil {
		return err
	}
	others, err := rotateViewer(ctx, a, at, name, o)
	if err != nil {
		return err
	}
	if err := a.Sleep(ctx, o.grace); err != nil {
		return err
	}
	if err := waitStillConnected(ctx, a, hub, name, o.timeout); err != nil {
		return err
	}
	for _, r := range append([]rotation{{o.account(), bound}}, others...) {
		if err := revokeTokens(ctx, a, worker, r.of, r.bound); err != nil {
			return err
		}
	}
	return nil
}

// rotateToken puts a new token of an account into the Secret that has its kubeconfig, and returns what the token is bound to.
func rotateToken(ctx context.Context, a *cli.App, at fleetSides, secret *corev1.Secret, of account, lasts time.Duration) (bound string, err error) {
	fresh, bound, err := issueToken(ctx, a, at.worker, of, tokenOptions{duration: lasts})
	if err != nil {
		return "", err
	}
	raw, err := replaceToken(secret.Data[kueue.MultiKueueConfigSecretKey], fresh)
	if err != nil {
		return "", err
	}
	secret.Data[kueue.MultiKueueConfigSecretKey] = raw
	if err := at.hub.Update(ctx, secret); err != nil {
		return "", fmt.Errorf("store the new token in Secret %s: %w", secret.Name, err)
	}
	a.Printf("hub: Secret %s configured", secret.Name)
	return bound, nil
}

// replaceToken returns the old kubeconfig, whose address an administrator chose, with the new one's token.
func replaceToken(old, fresh []byte) ([]byte, error) {
	config, err := clientcmd.Load(old)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig that the hub has: %w", err)
	}
	with, err := clientcmd.Load(fresh)
	if err != nil {
		return nil, fmt.Errorf("read the new kubeconfig: %w", err)
	}
	current, source := config.Contexts[config.CurrentContext], with.Contexts[with.CurrentContext]
	if current == nil || source == nil {
		return nil, fmt.Errorf("the kubeconfig that the hub has names no current context: register the cluster again")
	}
	config.AuthInfos[current.AuthInfo] = with.AuthInfos[source.AuthInfo]
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig for the hub: %w", err)
	}
	return raw, nil
}

// waitStillConnected waits until the hub is connected; the old tokens are kept otherwise.
func waitStillConnected(ctx context.Context, a *cli.App, hub *kubeclient.Client, name string, timeout time.Duration) error {
	last, err := waitForConnection(ctx, a, hub, name, timeout)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case last.Result == show.Failed:
		return exit.NotReadyf("the hub is not connected to %q: %s; %s (older tokens were not revoked)", name, last.Detail, last.Remedy)
	}
	return err
}
