package resource

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/pod"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/cmd/switchctl/workload"
)

// NewList is the family of commands that list; names and flags are kueuectl's (contract: kueue-api.md 8.1), --cluster ours.
func NewList(a *cli.App) *cobra.Command {
	c := cli.NewGroupCommand("list", "List workloads, queues, flavors and pods, with the clusters they are on",
		newListWorkload(a), newListLocalQueue(a), newListClusterQueue(a), newListFlavor(a), pod.NewListPods(a))
	c.Aliases = []string{"ls"}
	return c
}

// selection is what all lists have in common.
type selection struct {
	*cli.Output
	label, field  string
	allNamespaces bool
}

// newSelection adds the flags that select objects; -A only for kinds that have namespaces.
func newSelection(c *cobra.Command, namespaced bool) *selection {
	s := &selection{Output: cli.NewOutput(c), allNamespaces: !namespaced}
	c.Flags().StringVarP(&s.label, "selector", "l", "", "Label query, such as team=vision")
	c.Flags().StringVar(&s.field, "field-selector", "", "Field query, such as metadata.name=train")
	if namespaced {
		c.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "List those of all namespaces")
	}
	return s
}

// listOptions are the selection as a client has it; the namespace is empty for all.
func listOptions(a *cli.App, s *selection) (options []client.ListOption, namespace string, err error) {
	if !s.allNamespaces {
		if namespace, err = a.Namespace(); err != nil {
			return nil, "", err
		}
		options = append(options, client.InNamespace(namespace))
	}
	if s.label != "" {
		selector, err := labels.Parse(s.label)
		if err != nil {
			return nil, "", exit.Usagef("--selector: %w", err)
		}
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	if s.field != "" {
		selector, err := fields.ParseSelector(s.field)
		if err != nil {
			return nil, "", exit.Usagef("--field-selector: %w", err)
		}
		options = append(options, client.MatchingFieldsSelector{Selector: selector})
	}
	return options, namespace, nil
}

// listSelected fills a list with what the hub has of the selection. The namespace is empty for all.
func listSelected(ctx context.Context, a *cli.App, s *selection, list client.ObjectList) (hub *kubeclient.Client, namespace string, err error) {
	if hub, err = a.Clusters.Hub(); err != nil {
		return nil, "", err
	}
	options, namespace, err := listOptions(a, s)
	if err != nil {
		return nil, "", err
	}
	return hub, namespace, kubeclient.ListObjects(ctx, hub, list, options...)
}

type workloadFilter struct {
	*selection
	clusterQueue, localQueue, cluster, owner string
	status                                   []string
}

// newListWorkload is "list workload".
func newListWorkload(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindWorkload, "", "List workloads")
	c.Args = cobra.NoArgs
	c.Example = `  switchctl list workload -A --status pending -o wide
  switchctl list workload --for job/train`
	f := &workloadFilter{selection: newSelection(c, true)}
	c.Flags().StringVarP(&f.clusterQueue, "clusterqueue", "c", "", "Only those of a ClusterQueue")
	c.Flags().StringVarP(&f.localQueue, "localqueue", "q", "", "Only those of a LocalQueue")
	c.Flags().StringVar(&f.cluster, "cluster-name", "", "Only those on a worker cluster")
	c.Flags().StringVar(&f.owner, "for", "", "Only those of a job, TYPE[.GROUP]/NAME")
	c.Flags().StringArrayVar(&f.status, "status", nil, "Only those of a status, which can be given several times: all, pending, quotareserved, admitted, finished")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{"all", "pending", "quotareserved", "admitted", "finished"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("cluster-name", a.CompleteClusters)
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error { return listWorkloads(ctx, a, f) })
	return c
}

// listWorkloads filters by queue, status and job after the list: the API server selects by labels and names only.
func listWorkloads(ctx context.Context, a *cli.App, f *workloadFilter) error {
	for _, s := range f.status {
		if !slices.Contains([]string{"all", "pending", "quotareserved", "admitted", "finished"}, strings.ToLower(s)) {
			return exit.Usagef("--status %s: want all, pending, quotareserved, admitted or finished", s)
		}
	}
	var found kueue.WorkloadList
	hub, namespace, err := listSelected(ctx, a, f.selection, &found)
	if err != nil {
		return err
	}
	queues, err := readQueues(ctx, hub, namespace)
	if err != nil {
		return err
	}
	keep, err := f.buildFilter(hub, queues)
	if err != nil {
		return err
	}
	found.Items = slices.DeleteFunc(found.Items, func(wl kueue.Workload) bool { return !keep(&wl) })
	return showWorkloads(ctx, a, hub, f.Output, found.Items, queues, namespace)
}

// buildFilter is the filter as a function.
func (f *workloadFilter) buildFilter(hub *kubeclient.Client, queues show.Queues) (func(*kueue.Workload) bool, error) {
	var job *workload.JobRef
	if f.owner != "" {
		parsed, err := workload.ParseJob(hub, f.owner)
		if err != nil {
			return nil, err
		}
		job = &parsed
	}
	return func(wl *kueue.Workload) bool {
		status := slices.ContainsFunc(f.status, func(s string) bool {
			return strings.EqualFold(s, "all") || strings.EqualFold(s, string(show.WorkloadStatus(wl)))
		})
		return (len(f.status) == 0 || status) &&
			(f.clusterQueue == "" || queues.ClusterQueueFor(wl) == f.clusterQueue) &&
			(f.localQueue == "" || string(wl.Spec.QueueName) == f.localQueue) &&
			(f.cluster == "" || wl.Status.ClusterName != nil && *wl.Status.ClusterName == f.cluster) &&
			(job == nil || job.IsOwnerOf(wl))
	}, nil
}

// readQueues tells which ClusterQueue the LocalQueues of a namespace lead to; of all for "".
func readQueues(ctx context.Context, hub *kubeclient.Client, namespace string) (show.Queues, error) {
	var locals kueue.LocalQueueList
	if err := kubeclient.ListObjects(ctx, hub, &locals, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	queues := show.Queues{}
	for _, q := range locals.Items {
		queues[q.Namespace+"/"+q.Name] = string(q.Spec.ClusterQueue)
	}
	return queues, nil
}

// showWorkloads prints workloads. Their positions in the queues are asked for only where a table shows them.
func showWorkloads(ctx context.Context, a *cli.App, hub *kubeclient.Client, o *cli.Output, found []kueue.Workload, queues show.Queues, namespace string) error {
	if len(found) == 0 && o.Tabular() {
		a.PrintNothingFound(namespace)
		return nil
	}
	var positions map[string]int
	if o.Tabular() {
		positions = readPositions(ctx, a, hub, found, queues)
	}
	return a.PrintObjects(o, cli.Printable{
		Table: show.Workloads(found, queues, positions, namespace != "", a.Now()), Objects: cli.ObjectPointers(found),
	})
}

// newListLocalQueue is "list localqueue".
func newListLocalQueue(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindLocalQueue, "", "List LocalQueues")
	c.Args = cobra.NoArgs
	s := newSelection(c, true)
	queue := c.Flags().StringP("clusterqueue", "c", "", "Only those that lead to a ClusterQueue")
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error {
		var found kueue.LocalQueueList
		hub, namespace, err := listSelected(ctx, a, s, &found)
		if err != nil {
			return err
		}
		found.Items = slices.DeleteFunc(found.Items, func(q kueue.LocalQueue) bool {
			return *queue != "" && string(q.Spec.ClusterQueue) != *queue
		})
		return showLocalQueues(ctx, a, hub, s.Output, found.Items, namespace)
	})
	return c
}

// showLocalQueues prints LocalQueues. The table counts the workloads of each, for which they are listed once.
func showLocalQueues(ctx context.Context, a *cli.App, hub *kubeclient.Client, o *cli.Output, found []kueue.LocalQueue, namespace string) error {
	if len(found) == 0 && o.Tabular() {
		a.PrintNothingFound(namespace)
		return nil
	}
	var workloads kueue.WorkloadList
	if o.Tabular() {
		if err := kubeclient.ListObjects(ctx, hub, &workloads, client.InNamespace(namespace)); err != nil {
			return err
		}
	}
	return a.PrintObjects(o, cli.Printable{Table: show.LocalQueues(found, workloads.Items, namespace != "", a.Now()), Objects: cli.ObjectPointers(found)})
}

// newListClusterQueue is "list clusterqueue".
func newListClusterQueue(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindClusterQueue, "", "List ClusterQueues")
	c.Args = cobra.NoArgs
	s := newSelection(c, false)
	active := c.Flags().StringSlice("active", nil, "Only those that are active (true), or are not (false)")
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error {
		for _, text := range *active {
			if text != "true" && text != "false" {
				return exit.Usagef("--active %s: want true or false", text)
			}
		}
		var found kueue.ClusterQueueList
		hub, _, err := listSelected(ctx, a, s, &found)
		if err != nil {
			return err
		}
		found.Items = slices.DeleteFunc(found.Items, func(q kueue.ClusterQueue) bool {
			is := "false"
			if meta.IsStatusConditionTrue(q.Status.Conditions, kueue.ClusterQueueActive) {
				is = "true"
			}
			return len(*active) > 0 && !slices.Contains(*active, is)
		})
		return showClusterQueues(ctx, a, hub, s.Output, found.Items)
	})
	return c
}

// showClusterQueues prints ClusterQueues. The table counts the workloads of each over all namespaces.
func showClusterQueues(ctx context.Context, a *cli.App, hub *kubeclient.Client, o *cli.Output, found []kueue.ClusterQueue) error {
	if len(found) == 0 && o.Tabular() {
		a.PrintNothingFound("")
		return nil
	}
	var workloads kueue.WorkloadList
	if o.Tabular() {
		if err := kubeclient.ListObjects(ctx, hub, &workloads); err != nil {
			return err
		}
	}
	return a.PrintObjects(o, cli.Printable{Table: show.ClusterQueues(found, workloads.Items, a.Now()), Objects: cli.ObjectPointers(found)})
}

// newListFlavor is "list resourceflavor".
func newListFlavor(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindFlavor, "", "List ResourceFlavors")
	c.Args = cobra.NoArgs
	s := newSelection(c, false)
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error {
		var found kueue.ResourceFlavorList
		if _, _, err := listSelected(ctx, a, s, &found); err != nil {
			return err
		}
		if len(found.Items) == 0 && s.Tabular() {
			a.PrintNothingFound("")
			return nil
		}
		return a.PrintObjects(s.Output, cli.Printable{Table: show.ResourceFlavors(found.Items, a.Now()), Objects: cli.ObjectPointers(found.Items)})
	})
	return c
}
