package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// newDelete deletes workloads with their jobs; queues and flavors are kubectl's to delete.
func (a *app) newDelete() *cobra.Command {
	return newGroupCommand("delete", "Delete workloads with their jobs, queues and flavors", a.newDeleteWorkload(),
		a.newKubectlDelete(kindLocalQueue), a.newKubectlDelete(kindClusterQueue), a.newKubectlDelete(kindFlavor))
}

// newKubectlDelete passes the deletion of a kind to kubectl.
func (a *app) newKubectlDelete(kind resourceKind) *cobra.Command {
	c := newKindCommand(kind, "NAME... [FLAGS]", "Delete by kubectl")
	c.DisableFlagParsing = true
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.running = true
		return a.kubectl(cmd.Context(), a.IOStreams, append([]string{"delete"}, a.kubectlArgs(append([]string{string(kind)}, args...))...))
	}
	return c
}

type deleteOptions struct {
	*changeOptions
	yes, all, allNamespaces bool
}

func (a *app) newDeleteWorkload() *cobra.Command {
	c := newKindCommand(kindWorkload, "NAME...", "Delete workloads and the jobs that they were made for")
	c.ValidArgsFunction = a.completeNames(func() client.ObjectList { return &kueue.WorkloadList{} }, true)
	o := &deleteOptions{changeOptions: newChangeOptions(c, "deleted")}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask")
	c.Flags().BoolVar(&o.all, "all", false, "Delete all workloads of the namespace")
	c.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "With --all, those of all namespaces")
	c.RunE = a.runE(func(ctx context.Context, args []string) error { return a.deleteWorkloads(ctx, args, o) })
	return c
}

func (a *app) deleteWorkloads(ctx context.Context, names []string, o *deleteOptions) error {
	if o.all == (len(names) > 0) || o.allNamespaces && !o.all {
		return usagef("give the names of workloads, or --all, with which -A is possible")
	}
	hub, err := a.sites.hub()
	if err != nil {
		return err
	}
	namespace := ""
	if !o.allNamespaces {
		if namespace, err = a.namespace(); err != nil {
			return err
		}
	}
	found, err := fetchTable(ctx, hub, &kueue.WorkloadList{}, func(l *kueue.WorkloadList) *[]kueue.Workload { return &l.Items }, names,
		[]client.ListOption{client.InNamespace(namespace)})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		a.printNothingFound(namespace)
		return nil
	}
	targets := deletableKinds(found)
	if !o.yes && o.run == "none" {
		for _, t := range targets {
			_, _ = fmt.Fprintf(a.ErrOut, "  %s %s\n", t.GetObjectKind().GroupVersionKind().Kind, printableLines(fmt.Sprint(objectKey(t))))
		}
		if !a.askConfirmation("Delete these?") {
			return usagef("nothing was deleted: confirm, or pass --yes")
		}
	}
	for _, t := range targets {
		if err := a.deleteObject(ctx, hub, t, o.changeOptions); err != nil {
			return err
		}
	}
	return nil
}

// deletableKinds are what to delete so that workloads go: the jobs that own them, which takes them along, or else themselves.
func deletableKinds(workloads []kueue.Workload) []client.Object {
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

func (a *app) deleteObject(ctx context.Context, hub *kubeClient, obj client.Object, o *changeOptions) error {
	if !o.clientDryRun() {
		options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
		if o.serverDryRun() {
			options = append(options, client.DryRunAll)
		}
		if err := client.IgnoreNotFound(hub.Delete(ctx, obj, options...)); err != nil {
			return fmt.Errorf("delete %s: %w", objectKey(obj), err)
		}
	}
	return a.printChanged(o, obj)
}
