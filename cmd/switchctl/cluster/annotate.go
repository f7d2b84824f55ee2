package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// newCordon is "cluster cordon": it sets an annotation of the MultiKueueCluster, which the hub's program acts on.
func newCordon(a *cli.App) *cobra.Command {
	return newAnnotateCommand(a, "cordon NAME", "Offer nothing new to a cluster",
		`Offer nothing new to a cluster. Offers that it has not admitted yet are withdrawn; jobs that run there go on.`,
		"cordoned", map[string]string{switchyard.CordonedAnnotation: "true"})
}

// newUncordon is "cluster uncordon": it takes the annotations of cordon, drain and gone away.
func newUncordon(a *cli.App) *cobra.Command {
	return newAnnotateCommand(a, "uncordon NAME", "Use a cluster again that was cordoned, drained or declared gone",
		`Use a cluster again: what cordon, drain and gone have said is taken back.`,
		"uncordoned", map[string]string{switchyard.CordonedAnnotation: "", switchyard.DrainAnnotation: "", switchyard.GoneAnnotation: ""})
}

// newGone is "cluster gone". It asks first, because jobs run twice if the declaration is wrong.
func newGone(a *cli.App) *cobra.Command {
	c := newAnnotateCommand(a, "gone NAME", "Declare that nothing runs on a cluster any more",
		`Declare that a cluster is gone for good and nothing of it runs any more: what is held because it might is free at once, and
runs elsewhere. If jobs do still run there, they run twice. It has no effect while the hub reaches the cluster.`,
		"declared gone", map[string]string{switchyard.GoneAnnotation: "true"})
	yes := false
	c.Flags().BoolVarP(&yes, "yes", "y", false, "Do not ask")
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !yes && !a.AskConfirmation("Does nothing run on cluster %q any more, for certain?", args[0]) {
			a.Parsed = true
			return exit.Usagef("nothing was changed: confirm, or pass --yes")
		}
		return run(cmd, args)
	}
	return c
}

// newDrain is "cluster drain". With --wait it ends when no Workload is bound to the cluster any more.
func newDrain(a *cli.App) *cobra.Command {
	c := newAnnotateCommand(a, "drain NAME", "Move the jobs of a cluster elsewhere",
		`Offer nothing new to a cluster and move the jobs that run there to others, one after another. A job that no other cluster may
take stays. With --wait it returns when no job is left there.`,
		"draining", map[string]string{switchyard.DrainAnnotation: "true"})
	var until bool
	var timeout time.Duration
	c.Flags().BoolVar(&until, "wait", false, "Wait until no job is bound to the cluster")
	c.Flags().DurationVar(&timeout, "timeout", 30*time.Minute, "How long to wait")
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dry := cmd.Flag("dry-run").Value.String() != "none"
		if err := run(cmd, args); err != nil || !until || dry {
			return err
		}
		return awaitDrained(cmd.Context(), a, args[0], timeout)
	}
	return c
}

// newAnnotateCommand is a command that sets annotations on a cluster; an empty value removes one.
func newAnnotateCommand(a *cli.App, use, short, long, done string, marks map[string]string) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.ExactArgs(1)}
	return completeAnnotateCommand(a, c, done, func([]string, map[string]string) map[string]string { return marks })
}

// completeAnnotateCommand completes a command whose first argument is a cluster: it sets annotations on that, which follow from the arguments and
// from those that it has. An empty value removes one.
func completeAnnotateCommand(a *cli.App, c *cobra.Command, done string, marksOf func(args []string, had map[string]string) map[string]string) *cobra.Command {
	c.ValidArgsFunction = a.CompleteClusters
	o := cli.NewChangeOptions(c, done)
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		hub, err := a.Clusters.Hub()
		if err != nil {
			return err
		}
		cluster := &kueue.MultiKueueCluster{}
		if err := hub.Get(ctx, client.ObjectKey{Name: args[0]}, cluster); err != nil {
			return fmt.Errorf("read MultiKueueCluster %s: %w", args[0], err)
		}
		return a.PatchObject(ctx, hub, cluster, o, func() {
			annotations := map[string]string{}
			for key, value := range cluster.Annotations {
				annotations[key] = value
			}
			for key, value := range marksOf(args, cluster.Annotations) {
				if value == "" {
					delete(annotations, key)
				} else {
					annotations[key] = value
				}
			}
			cluster.Annotations = annotations
		})
	})
	return c
}

// awaitDrained waits until no workload is bound to the cluster.
func awaitDrained(ctx context.Context, a *cli.App, name string, timeout time.Duration) error {
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	left := []string{}
	err = a.WaitFor(ctx, timeout, func(ctx context.Context) (bool, error) {
		left, err = countBoundWorkloads(ctx, hub, name)
		return len(left) == 0, err
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && len(left) > 0:
		return exit.NotReadyf("%d jobs are still on cluster %q after %s, %s among them; \"explain\" says why one cannot go elsewhere", len(left), name, timeout, left[0])
	case err != nil:
		return err
	}
	a.Printf("no job is left on cluster %q", name)
	return nil
}

// countBoundWorkloads are the unfinished workloads on a cluster, as namespace/name.
func countBoundWorkloads(ctx context.Context, hub *kubeclient.Client, cluster string) ([]string, error) {
	var workloads kueue.WorkloadList
	if err := kubeclient.ListObjects(ctx, hub, &workloads); err != nil {
		return nil, err
	}
	var names []string
	for i := range workloads.Items {
		wl := &workloads.Items[i]
		finished := meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished)
		if !finished && wl.Status.ClusterName != nil && *wl.Status.ClusterName == cluster {
			names = append(names, wl.Namespace+"/"+wl.Name)
		}
	}
	return names, nil
}
