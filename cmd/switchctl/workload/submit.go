// Package workload has the commands about jobs: to submit them, to explain where they are and why they wait, and to read their
// logs and events.
package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/manifest"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/worker/job/all"
)

type submitOptions struct {
	*manifest.Files
	*cli.ChangeOptions
	queue, priority, prefer string
	anyKind                 bool
	wait                    string
	timeout                 time.Duration
}

// NewSubmit is the command submit: it creates jobs on the hub in a queue, and can wait for them.
func NewSubmit(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "submit -f MANIFEST --queue QUEUE", Short: "Submit jobs to a queue of the hub",
		Long: `Submit jobs to a LocalQueue of their namespace on the hub. The manifests may be of any kind that the hub queues; several in
one file are several jobs. A manifest that names a namespace must agree with -n, if that is given.

With --wait it returns when all jobs have ended, with code 1 if one has failed; with --wait=admitted, when all have quota and
a cluster. Code 4 says that the time was over first.`,
		Example: `  switchctl submit -f train.yaml --queue train -n vision
  switchctl submit -f train.yaml --queue train --priority urgent --wait --timeout 2h`,
		Args: cobra.NoArgs,
	}
	o := &submitOptions{Files: manifest.NewFiles(c, "The jobs"), ChangeOptions: cli.NewChangeOptions(c, "submitted")}
	f := c.Flags()
	f.StringVarP(&o.queue, "queue", "q", "", "The LocalQueue (default: the one that the manifest's label "+kueue.QueueNameLabel+" names)")
	f.StringVar(&o.priority, "priority", "", "The WorkloadPriorityClass")
	f.StringVar(&o.prefer, "prefer-clusters", "", "Worker clusters to prefer, separated by commas")
	f.BoolVar(&o.anyKind, "any-kind", false, "Submit kinds too that this version does not know to be queued")
	f.StringVar(&o.wait, "wait", "", "Wait until the jobs are finished or admitted")
	c.Flag("wait").NoOptDefVal = "finished"
	f.DurationVar(&o.timeout, "timeout", time.Hour, "How long to wait")
	_ = c.RegisterFlagCompletionFunc("queue", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return a.ListNames(cmd.Context(), &kueue.LocalQueueList{}, true, begun), cobra.ShellCompDirectiveNoFileComp
	})
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error { return runSubmit(ctx, a, o) })
	return c
}

// runSubmit checks all manifests before it creates the first job. With --wait it fails if a job does.
func runSubmit(ctx context.Context, a *cli.App, o *submitOptions) error {
	if !slices.Contains([]string{"", "finished", "admitted"}, o.wait) {
		return exit.Usagef("--wait=%s: want finished or admitted", o.wait)
	}
	documents, err := o.Read()
	if err != nil {
		return err
	}
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	for _, d := range documents { // all of them before the first is created
		if err := prepareManifest(a, d, o); err != nil {
			return err
		}
		if err := validateQueue(ctx, hub, d); err != nil {
			return err
		}
	}
	for _, d := range documents {
		if err := a.CreateObject(ctx, hub, d.Unstructured, o.ChangeOptions); err != nil {
			return fmt.Errorf("%s: %w", d.Title(), err)
		}
	}
	if o.wait == "" || o.ClientDryRun() || o.ServerDryRun() {
		return nil
	}
	return awaitJobs(ctx, a, hub, documents, o)
}

// prepareManifest checks a manifest and puts queue and namespace into it.
func prepareManifest(a *cli.App, d manifest.Document, o *submitOptions) error {
	if kinds := queuedKinds(); !o.anyKind && !slices.Contains(kinds, d.GroupVersionKind().GroupKind().String()) {
		return exit.Usagef("%s: this kind is not queued, only %s; jobs that nobody queues start at once, outside every quota. If your hub queues it, pass --any-kind",
			d.Title(), strings.Join(kinds, ", "))
	}
	namespace, explicit, err := a.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("find the namespace: %w", err)
	}
	switch d.GetNamespace() {
	case "":
		d.SetNamespace(namespace)
	case namespace:
	default:
		if explicit {
			return exit.Usagef("%s: the manifest says namespace %s, the command line %s", d.Title(), d.GetNamespace(), namespace)
		}
	}
	labels := d.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	if o.queue != "" {
		labels[kueue.QueueNameLabel] = o.queue
	}
	if labels[kueue.QueueNameLabel] == "" {
		return exit.Usagef("%s: which queue? Pass --queue, or label the manifest with %s", d.Title(), kueue.QueueNameLabel)
	}
	if o.priority != "" {
		labels[kueue.PriorityClassLabel] = o.priority
	}
	d.SetLabels(labels)
	if o.prefer != "" {
		annotations := d.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[switchyard.PreferClustersAnnotation] = o.prefer
		d.SetAnnotations(annotations)
	}
	return nil
}

// queuedKinds are the kinds of job that this version knows, as Kind.group, sorted.
func queuedKinds() []string {
	var kinds []string
	for _, kind := range all.Kinds() {
		kinds = append(kinds, kind.GVK().GroupKind().String())
	}
	slices.Sort(kinds)
	return kinds
}

// validateQueue refuses a queue that does not exist: the job would wait for ever.
func validateQueue(ctx context.Context, hub *kubeclient.Client, d manifest.Document) error {
	var queues kueue.LocalQueueList
	if err := kubeclient.ListObjects(ctx, hub, &queues, client.InNamespace(d.GetNamespace())); err != nil {
		return err
	}
	name := d.GetLabels()[kueue.QueueNameLabel]
	var names []string
	for _, q := range queues.Items {
		if q.Name == name {
			return nil
		}
		names = append(names, q.Name)
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	return exit.NotFoundf("%s: namespace %s has no LocalQueue %q; there is %s", d.Title(), d.GetNamespace(), name, strings.Join(names, ", "))
}

// awaitJobs waits for all jobs, and tells how each ended.
func awaitJobs(ctx context.Context, a *cli.App, hub *kubeclient.Client, documents []manifest.Document, o *submitOptions) error {
	told := map[string]string{}
	failed, left := 0, ""
	err := a.WaitFor(ctx, o.timeout, func(ctx context.Context) (bool, error) {
		failed, left = 0, ""
		for _, d := range documents {
			j := JobRef{kind: d.GroupVersionKind(), name: d.GetName()}
			state, done, bad, err := Progress(ctx, a, hub, d.GetNamespace(), j, o.wait)
			if err != nil {
				return false, err
			}
			if key := d.GetNamespace() + " " + j.String(); told[key] != state {
				told[key] = state
				a.Printf("%s: %s", j, state)
			}
			if bad {
				failed++
			}
			if !done {
				left = j.String() + ": " + state
			}
		}
		return left == "", nil
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && left != "":
		return exit.NotReadyf("not %s after %s: %s; \"explain\" says more", o.wait, o.timeout, left)
	case err != nil:
		return err
	case failed > 0:
		return fmt.Errorf("%d of %d jobs failed", failed, len(documents))
	}
	return nil
}

// Progress is how far a job is, in words, and whether that is what is waited for.
func Progress(ctx context.Context, a *cli.App, hub *kubeclient.Client, namespace string, j JobRef, until string) (state string, done, failed bool, err error) {
	wl, err := FindWorkloadOf(ctx, hub, namespace, j)
	if exit.Code(err) == exit.NotFound {
		return "submitted", false, false, nil
	}
	if err != nil {
		return "", false, false, err
	}
	finished := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
	switch show.WorkloadStatus(wl) {
	case show.Finished:
		failed = finished.Reason != string(kueue.ReasonSucceeded)
		return fmt.Sprintf("finished, %s: %s", finished.Reason, finished.Message), true, failed, nil
	case show.Admitted:
		state = "admitted"
		if wl.Status.ClusterName != nil {
			state = fmt.Sprintf("admitted on cluster %q", *wl.Status.ClusterName)
		}
		return state, until == "admitted", false, nil
	case show.QuotaReserved:
		return "has quota, waits for a cluster", false, false, nil
	case show.Pending:
	}
	return "waits for quota", false, false, nil
}
