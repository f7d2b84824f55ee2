package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/manifest"
)

const setupText = `Set up queues on the hub and its workers from one file, showing the difference first.

The file holds plain manifests: Namespace, LocalQueue, ClusterQueue, Cohort, ResourceFlavor, Topology, WorkloadPriorityClass,
AdmissionCheck, MultiKueueConfig. The annotation ` + targetAnnotation + ` says where each belongs:

  hub       the hub (what is meant where the annotation is missing, but for Namespaces)
  workers   every worker registered at the hub
  all       the hub and every worker (what is meant for a Namespace without it)
  w1,w2     the named ones; "hub" may be among them

A worker is reached by a context of the kubeconfig with the worker's name, or by the one that --worker NAME=CONTEXT says.
What a file does not say about an object stays as it is, and nothing is ever deleted. A server-side dry run of everything
comes before the first change, so that a file with a mistake changes nothing anywhere.`

type setupOptions struct {
	*manifest.Files
	contexts []string
	yes      bool
	dryRun   string
}

// newSetup is "queue setup".
func newSetup(a *cli.App) *cobra.Command {
	o := &setupOptions{}
	c := &cobra.Command{
		Use: "setup -f FILE", Short: "Set up queues on the hub and its workers from one file", Long: setupText, Args: cobra.NoArgs,
		Example: `  switchctl queue setup -f teams.yaml --dry-run=server
  switchctl queue setup -f teams.yaml --worker w1=kind-w1 --worker w2=kind-w2 --yes`,
	}
	o.Files = manifest.NewFiles(c, "The manifests")
	c.Flags().StringSliceVar(&o.contexts, "worker", nil, "NAME=CONTEXT: the context by which a worker is reached")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask")
	cli.AddDryRun(c, &o.dryRun, "client", "server")
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error { return runSetup(ctx, a, o) })
	return c
}

// runSetup shows the difference, asks, and makes the changes. Each API server has rehearsed its part before the first
// change is made.
func runSetup(ctx context.Context, a *cli.App, o *setupOptions) error {
	documents, err := o.Read()
	if err != nil {
		return err
	}
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	var clusters kueue.MultiKueueClusterList
	if err := kubeclient.ListObjects(ctx, hub, &clusters); err != nil {
		return err
	}
	var workers []string
	for _, c := range clusters.Items {
		workers = append(workers, c.Name)
	}
	wanted, err := targetDocuments(documents, workers)
	if err != nil {
		return err
	}
	named, err := parseContexts(o.contexts, workers)
	if err != nil {
		return err
	}
	reached, err := connectAll(a, hub, wanted, named)
	if err != nil {
		return err
	}
	steps, err := planSteps(ctx, wanted, reached)
	if err != nil {
		return err
	}
	return executeSteps(ctx, a, steps, o)
}

// executeSteps shows the steps, and takes them if it may.
func executeSteps(ctx context.Context, a *cli.App, steps []setupStep, o *setupOptions) error {
	_, _ = fmt.Fprint(a.Out, diffSteps(steps))
	todo := pendingSteps(steps)
	if len(todo) == 0 {
		a.Printf("nothing to change: %d objects are as the file says", len(steps))
		return nil
	}
	if o.dryRun == "client" {
		return nil
	}
	if err := dryRunSteps(ctx, todo); err != nil {
		return err
	}
	if o.dryRun == "server" {
		a.Printf("the API servers would accept all %d changes", len(todo))
		return nil
	}
	if !o.yes && !a.AskConfirmation("Make %d changes?", len(todo)) {
		return exit.Usagef("nothing was changed: confirm, or pass --yes")
	}
	for _, s := range todo {
		if err := s.execute(ctx); err != nil {
			return fmt.Errorf("%w (what is printed above was done; run it again when this is repaired)", err)
		}
		a.Printf("%s: %s %s %s", s.cluster, s.wanted.GetKind(), kubeclient.ObjectKey(s.wanted), s.describeDone())
	}
	return nil
}

// parseContexts are the contexts of workers, by name.
func parseContexts(pairs, workers []string) (map[string]string, error) {
	named := map[string]string{}
	for _, pair := range pairs {
		name, context, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, exit.Usagef("--worker %s: want NAME=CONTEXT", pair)
		}
		if !slices.Contains(workers, name) {
			return nil, exit.Usagef("--worker %s: the hub has no worker %q, only %s", pair, name, strings.Join(workers, ", "))
		}
		named[name] = context
	}
	return named, nil
}

// connectAll connects to every cluster for which there is something.
func connectAll(a *cli.App, hub *kubeclient.Client, wanted []targetedDocument, named map[string]string) (map[string]*kubeclient.Client, error) {
	reached := map[string]*kubeclient.Client{hubTarget: hub}
	for _, w := range wanted {
		if reached[w.cluster] != nil {
			continue
		}
		context := w.cluster
		if named[w.cluster] != "" {
			context = named[w.cluster]
		}
		worker, err := a.Clusters.Context(*a.Flags.KubeConfig, context)
		if err != nil {
			return nil, exit.Usagef("reach worker %s: %w: say which context is the worker's with --worker %s=CONTEXT", w.cluster, err, w.cluster)
		}
		reached[w.cluster] = worker
	}
	return reached, nil
}
