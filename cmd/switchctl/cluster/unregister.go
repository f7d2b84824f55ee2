package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

type unregisterOptions struct {
	*workerFlags
	force bool
}

// newUnregister is "cluster unregister".
func newUnregister(a *cli.App) *cobra.Command {
	o := &unregisterOptions{}
	c := &cobra.Command{
		Use: "unregister NAME", Short: "Remove a worker cluster from the hub",
		Long: `Remove a worker cluster from the hub: from the MultiKueueConfigs that list it, the MultiKueueCluster, and the kubeconfig Secrets.
With --context or --kubeconfig of the worker, the hub's accounts there and their rights go too. Refused while jobs are on it,
unless --force: drain it first.`,
		Example: "  switchctl cluster drain w1 --wait && switchctl cluster unregister w1 --context w1",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.CompleteClusters,
	}
	o.workerFlags = addWorkerFlags(a, c)
	c.Flags().BoolVar(&o.force, "force", false, "Even while jobs are bound to the cluster")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error { return runUnregister(ctx, a, args[0], o) })
	return c
}

// runUnregister removes a cluster from the hub, and the hub's account from the worker if that can be reached. It changes
// nothing while jobs are bound to the cluster, unless it is forced.
func runUnregister(ctx context.Context, a *cli.App, name string, o *unregisterOptions) error {
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	var worker *kubeclient.Client
	if o.kubeconfig != "" || o.context != "" {
		if hub, worker, err = connectBoth(ctx, a, o.workerFlags); err != nil {
			return err
		}
	}
	cluster := &kueue.MultiKueueCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
	}
	left, err := countBoundWorkloads(ctx, hub, name)
	if err != nil {
		return err
	}
	if len(left) > 0 && !o.force {
		return fmt.Errorf("%d jobs are on cluster %q, %s among them: drain it first (cluster drain %s --wait), or pass --force", len(left), name, left[0], name)
	}
	if err := removeFromConfigs(ctx, a, hub, name); err != nil {
		return err
	}
	if err := deleteIfPresent(ctx, a, hub, "hub", cluster); err != nil {
		return err
	}
	if secret := kubeclient.KubeconfigSecretName(cluster); secret != "" {
		gone := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.SystemNamespace, Name: secret}}
		if err := deleteIfPresent(ctx, a, hub, "hub", gone); err != nil {
			return err
		}
	}
	viewer := account{o.namespace, o.nameOfOrigin(viewerAccount)}
	if err := removeViewer(ctx, a, fleetSides{hub, worker}, name, viewer); err != nil {
		return err
	}
	if worker == nil {
		a.Warnf("the hub's account on the worker is still there: delete it, or run this with the worker's --context")
		return nil
	}
	return deleteAccount(ctx, a, worker, o.hubAccess())
}

// removeFromConfigs takes a cluster out of all MultiKueueConfigs. One that would be empty is not valid any more.
func removeFromConfigs(ctx context.Context, a *cli.App, hub *kubeclient.Client, cluster string) error {
	var configs kueue.MultiKueueConfigList
	if err := kubeclient.ListObjects(ctx, hub, &configs); err != nil {
		return err
	}
	for i := range configs.Items {
		c := &configs.Items[i]
		at := slices.Index(c.Spec.Clusters, cluster)
		if at >= 0 && len(c.Spec.Clusters) == 1 {
			return fmt.Errorf("MultiKueueConfig %s lists no other cluster: put one in, or delete it together with the AdmissionCheck that refers to it", c.Name)
		}
	}
	for i := range configs.Items {
		c := &configs.Items[i]
		if at := slices.Index(c.Spec.Clusters, cluster); at >= 0 {
			c.Spec.Clusters = slices.Delete(c.Spec.Clusters, at, at+1)
			if err := hub.Update(ctx, c); err != nil {
				return fmt.Errorf("take the cluster out of MultiKueueConfig %s: %w", c.Name, err)
			}
			a.Printf("hub: MultiKueueConfig %s configured", c.Name)
		}
	}
	return nil
}

// deleteAccount removes the hub's account, its tokens and rights from a worker. The namespace is the worker's own.
func deleteAccount(ctx context.Context, a *cli.App, worker *kubeclient.Client, access workeraccess.Access) error {
	if err := revokeTokens(ctx, a, worker, account{access.Namespace, access.ServiceAccount}, ""); err != nil {
		return err
	}
	objects := access.Objects()
	slices.Reverse(objects)
	for _, obj := range objects {
		if _, ok := obj.(*corev1.Namespace); ok {
			continue
		}
		if err := deleteIfPresent(ctx, a, worker, "worker", obj); err != nil {
			return err
		}
	}
	return nil
}

// deleteIfPresent deletes an object that may be gone already.
func deleteIfPresent(ctx context.Context, a *cli.App, from *kubeclient.Client, where string, obj client.Object) error {
	if err := cli.SetKind(obj); err != nil {
		return err
	}
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if err := client.IgnoreNotFound(from.Delete(ctx, obj)); err != nil {
		return fmt.Errorf("delete %s %s: %w", kind, obj.GetName(), err)
	}
	a.Printf("%s: %s %s deleted", where, kind, obj.GetName())
	return nil
}
