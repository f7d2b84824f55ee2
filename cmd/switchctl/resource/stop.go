package resource

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
)

// NewStop stops workloads and queues, as kueuectl does (contract: kueue-api.md 8.1).
func NewStop(a *cli.App) *cobra.Command {
	return cli.NewGroupCommand("stop", "Stop workloads and queues",
		newSwitchCommand(a, cli.KindWorkload, "Stop workloads: they are evicted and not queued again until resumed", "stopped",
			func(obj client.Object, _ bool) { obj.(*kueue.Workload).Spec.Active = ptr.To(false) }),
		newSwitchCommand(a, cli.KindLocalQueue, "Stop LocalQueues: nothing is admitted through them any more", "stopped", setStopPolicy(true)),
		newSwitchCommand(a, cli.KindClusterQueue, "Stop ClusterQueues: nothing is admitted by them any more", "stopped", setStopPolicy(true)))
}

// NewResume takes back what stop did.
func NewResume(a *cli.App) *cobra.Command {
	return cli.NewGroupCommand("resume", "Resume workloads and queues",
		newSwitchCommand(a, cli.KindWorkload, "Resume workloads that were stopped", "resumed",
			func(obj client.Object, _ bool) { obj.(*kueue.Workload).Spec.Active = ptr.To(true) }),
		newSwitchCommand(a, cli.KindLocalQueue, "Resume LocalQueues that were stopped", "resumed", setStopPolicy(false)),
		newSwitchCommand(a, cli.KindClusterQueue, "Resume ClusterQueues that were stopped", "resumed", setStopPolicy(false)))
}

// setStopPolicy stops a queue, and evicts what runs unless that is to be kept; or lets it go on.
func setStopPolicy(stop bool) func(client.Object, bool) {
	return func(obj client.Object, keep bool) {
		policy := kueue.None
		switch {
		case stop && keep:
			policy = kueue.Hold
		case stop:
			policy = kueue.HoldAndDrain
		}
		switch q := obj.(type) {
		case *kueue.LocalQueue:
			q.Spec.StopPolicy = policy
		case *kueue.ClusterQueue:
			q.Spec.StopPolicy = policy
		}
	}
}

// newStoppable is an empty object of one of our kinds that can be stopped, and an empty list.
func newStoppable(kind cli.ResourceKind) (client.Object, func() client.ObjectList) {
	switch kind {
	case cli.KindLocalQueue:
		return &kueue.LocalQueue{}, func() client.ObjectList { return &kueue.LocalQueueList{} }
	case cli.KindClusterQueue:
		return &kueue.ClusterQueue{}, func() client.ObjectList { return &kueue.ClusterQueueList{} }
	default:
		return &kueue.Workload{}, func() client.ObjectList { return &kueue.WorkloadList{} }
	}
}

// newSwitchCommand is a command that changes objects of a kind.
func newSwitchCommand(a *cli.App, kind cli.ResourceKind, short, done string, edit func(obj client.Object, keep bool)) *cobra.Command {
	c := cli.NewKindCommand(kind, "NAME...", short)
	_, list := newStoppable(kind)
	c.Args, c.ValidArgsFunction = cobra.MinimumNArgs(1), a.CompleteNames(list, namespacedKind(kind))
	o := cli.NewChangeOptions(c, done)
	keep := false
	if done == "stopped" && kind != cli.KindWorkload {
		c.Flags().BoolVar(&keep, "keep-already-running", false, "Let what is admitted go on; without it, it is evicted")
	}
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		hub, err := a.Clusters.Hub()
		if err != nil {
			return err
		}
		namespace, err := a.Namespace()
		if err != nil {
			return err
		}
		if !namespacedKind(kind) {
			namespace = ""
		}
		for _, name := range args {
			obj, _ := newStoppable(kind)
			if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
				return fmt.Errorf("read %s %s: %w", kind, name, err)
			}
			if err := a.PatchObject(ctx, hub, obj, o, func() { edit(obj, keep) }); err != nil {
				return err
			}
		}
		return nil
	})
	return c
}
