package resource

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// NewDelete deletes workloads with their jobs; queues and flavors are kubectl's to delete.
func NewDelete(a *cli.App) *cobra.Command {
	return cli.NewGroupCommand("delete", "Delete workloads with their jobs, queues and flavors", newDeleteWorkload(a),
		newKubectlDelete(a, cli.KindLocalQueue), newKubectlDelete(a, cli.KindClusterQueue), newKubectlDelete(a, cli.KindFlavor))
}

// newKubectlDelete passes the deletion of a kind to kubectl.
func newKubectlDelete(a *cli.App, kind cli.ResourceKind) *cobra.Command {
	c := cli.NewKindCommand(kind, "NAME... [FLAGS]", "Delete by kubectl")
	c.DisableFlagParsing = true
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.Parsed = true
		return a.Kubectl(cmd.Context(), a.IOStreams, append([]string{"delete"}, kubectlArgs(a, append([]string{string(kind)}, args...))...))
	}
	return c
}

type deleteOptions struct {
	*cli.ChangeOptions
	yes, all, allNamespaces bool
}

// newDeleteWorkload is "delete workload".
func newDeleteWorkload(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindWorkload, "NAME...", "Delete workloads and the jobs that they were made for")
	c.ValidArgsFunction = a.CompleteNames(func() client.ObjectList { return &kueue.WorkloadList{} }, true)
	o := &deleteOptions{ChangeOptions: cli.NewChangeOptions(c, "deleted")}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask")
	c.Flags().BoolVar(&o.all, "all", false, "Delete all workloads of the namespace")
	c.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "With --all, those of all namespaces")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error { return deleteWorkloads(ctx, a, args, o) })
	return c
}

// deleteWorkloads deletes the jobs of the workloads, which take their Workloads along. It lists what would go and asks,
// unless --yes was given. A Workload without a job is deleted itself.
func deleteWorkloads(ctx context.Context, a *cli.App, names []string, o *deleteOptions) error {
	if o.all == (len(names) > 0) || o.allNamespaces && !o.all {
		return exit.Usagef("give the names of workloads, or --all, with which -A is possible")
	}
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	namespace := ""
	if !o.allNamespaces {
		if namespace, err = a.Namespace(); err != nil {
			return err
		}
	}
	found, err := fetchTable(ctx, hub, &kueue.WorkloadList{}, func(l *kueue.WorkloadList) *[]kueue.Workload { return &l.Items }, names,
		[]client.ListOption{client.InNamespace(namespace)})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		a.PrintNothingFound(namespace)
		return nil
	}
	targets := deletionTargets(found)
	if !o.yes && o.DryRun == "none" {
		for _, t := range targets {
			_, _ = fmt.Fprintf(a.ErrOut, "  %s %s\n", t.GetObjectKind().GroupVersionKind().Kind, cli.PrintableLines(fmt.Sprint(kubeclient.ObjectKey(t))))
		}
		if !a.AskConfirmation("Delete these?") {
			return exit.Usagef("nothing was deleted: confirm, or pass --yes")
		}
	}
	for _, t := range targets {
		if err := deleteObject(ctx, a, hub, t, o.ChangeOptions); err != nil {
			return err
		}
	}
	return nil
}

// deletionTargets are what to delete so that workloads go: the jobs that own them, which takes them along, or else themselves.
func deletionTargets(workloads []kueue.Workload) []client.Object {
	var list []client.Object
	for i := range workloads {
		wl := &workloads[i]
		owned := false
		for _, owner := range wl.OwnerReferences {
			gv, err := schema.ParseGroupVersion(owner.APIVersion)
			if err != nil {
				continue
			}
			job := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: wl.Namespace, Name: owner.Name}}
			job.SetGroupVersionKind(gv.WithKind(owner.Kind))
			list, owned = append(list, job), true
		}
		if !owned {
			wl.SetGroupVersionKind(kueue.GroupVersion.WithKind("Workload"))
			list = append(list, wl)
		}
	}
	return list
}

// deleteObject deletes an object with what it owns, in the background. One that is gone already is no error.
func deleteObject(ctx context.Context, a *cli.App, hub *kubeclient.Client, obj client.Object, o *cli.ChangeOptions) error {
	if !o.ClientDryRun() {
		options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
		if o.ServerDryRun() {
			options = append(options, client.DryRunAll)
		}
		if err := client.IgnoreNotFound(hub.Delete(ctx, obj, options...)); err != nil {
			return fmt.Errorf("delete %s: %w", kubeclient.ObjectKey(obj), err)
		}
	}
	return a.PrintChanged(o, obj)
}
