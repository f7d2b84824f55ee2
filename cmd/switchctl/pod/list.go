package pod

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// listTimeout is how long one worker may take to list pods: one that hangs must not hide those of the others.
const listTimeout = 20 * time.Second

// NewListPods is the command list pods: the pods of a job, on the cluster that runs it.
func NewListPods(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindPods, "--for TYPE[.GROUP]/NAME", "List the pods of a job, on the cluster that runs it")
	c.Args = cobra.NoArgs
	o, own := cli.NewOutput(c), newWorkerAccess(c)
	owner := c.Flags().String("for", "", "The job, TYPE[.GROUP]/NAME")
	_ = c.MarkFlagRequired("for")
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error { return runListPods(ctx, a, *owner, own, o) })
	return c
}

// NewPods is the command pods: those of a job, or all of the namespace's jobs, wherever they run.
func NewPods(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "pods [JOB | TYPE[.GROUP]/NAME | POD]", Aliases: []string{"pod", "po"}, Short: "List the pods of a job, or of all jobs of the namespace, on the clusters that run them",
		Long: `List the pods of a job, or of all jobs of the namespace that are on worker clusters, through the hub or by a kubeconfig of your own. A
cluster that does not answer is reported; the others are shown.`,
		Args: cobra.MaximumNArgs(1),
	}
	o, own := cli.NewOutput(c), newWorkerAccess(c)
	owner := c.Flags().String("for", "", "The job, TYPE[.GROUP]/NAME, as \"list pods\" has it")
	selector := c.Flags().StringP("selector", "l", "", "Label query, such as team=vision, for pods of all jobs")
	c.MarkFlagsMutuallyExclusive("for", "selector")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		switch {
		case len(args) > 0 && (*owner != "" || *selector != ""):
			return exit.Usagef("pass a job, --for or --selector, and only one of them")
		case len(args) > 0:
			o.Single = strings.HasPrefix(args[0], "pod/")
			return runListPods(ctx, a, args[0], own, o)
		case *owner != "":
			return runListPods(ctx, a, *owner, own, o)
		}
		query, err := labels.Parse(*selector)
		if err != nil {
			return exit.Usagef("--selector: %w", err)
		}
		return runListFleet(ctx, a, query, own, o)
	})
	return c
}

// runListPods lists the pods of a job.
func runListPods(ctx context.Context, a *cli.App, text string, own *workerAccess, o *cli.Output) error {
	f, err := newFinder(a, own)
	if err != nil {
		return err
	}
	t, err := f.find(ctx, text)
	if err != nil {
		return err
	}
	found, err := t.listPods(ctx)
	if err != nil {
		return err
	}
	return f.printPods(o, []located{{t.cluster, found}})
}

// located are pods of one cluster.
type located struct {
	cluster string
	pods    []corev1.Pod
}

// runListFleet lists the pods of all jobs of the namespace, on each cluster that has a job of it.
func runListFleet(ctx context.Context, a *cli.App, query labels.Selector, own *workerAccess, o *cli.Output) error {
	f, err := newFinder(a, own)
	if err != nil {
		return err
	}
	clusters, err := f.clustersInUse(ctx)
	if err != nil {
		return err
	}
	lists, failures := make([]located, len(clusters)), make([]error, len(clusters))
	var group sync.WaitGroup
	for i, cluster := range clusters {
		group.Go(func() { lists[i], failures[i] = f.listOn(ctx, cluster, query) })
	}
	group.Wait()
	for i, err := range failures {
		if err != nil && len(clusters) == 1 {
			return err
		}
		if err != nil {
			a.Warnf("cluster %q: %v", clusters[i], err)
		}
	}
	if err := f.printPods(o, lists); err != nil {
		return err
	}
	if failed := len(clusters) - len(slices.DeleteFunc(failures, func(err error) bool { return err != nil })); failed > 0 {
		return fmt.Errorf("%d of %d clusters could not be asked", failed, len(clusters))
	}
	return nil
}

// clustersInUse are the workers to which jobs of the namespace are bound, sorted.
func (f finder) clustersInUse(ctx context.Context) ([]string, error) {
	var all kueue.WorkloadList
	if err := kubeclient.ListObjects(ctx, f.hub, &all, client.InNamespace(f.namespace)); err != nil {
		return nil, err
	}
	var clusters []string
	for i := range all.Items {
		if name := all.Items[i].Status.ClusterName; name != nil {
			clusters = append(clusters, *name)
		}
	}
	slices.Sort(clusters)
	return slices.Compact(clusters), nil
}

// listOn lists the pods on one cluster.
func (f finder) listOn(ctx context.Context, cluster string, query labels.Selector) (located, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	p, err := f.connect(cluster)
	if err != nil {
		return located{}, err
	}
	var found corev1.PodList
	err = kubeclient.ListObjects(ctx, p, &found, client.InNamespace(f.namespace), client.MatchingLabelsSelector{Selector: query})
	slices.SortFunc(found.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return located{cluster, found.Items}, err
}

// printPods prints pods with their clusters.
func (f finder) printPods(o *cli.Output, lists []located) error {
	table, objects := show.Pods(nil, "", f.Now()), []client.Object(nil)
	for _, l := range lists {
		table.Rows = append(table.Rows, show.Pods(l.pods, l.cluster, f.Now()).Rows...)
		objects = append(objects, cli.ObjectPointers(l.pods)...)
	}
	if len(objects) == 0 && o.Tabular() {
		f.PrintNothingFound(f.namespace)
		return nil
	}
	return f.PrintObjects(o, cli.Printable{Table: table, Objects: objects})
}
