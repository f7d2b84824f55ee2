package pod

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/cmd/switchctl/workload"
)

// NewEvents is the command events: what happened to a job, on the hub and on the worker that runs it.
func NewEvents(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "events {JOB | TYPE[.GROUP]/NAME | POD}", Short: "Show what happened to a job, on the hub and on the cluster that runs it",
		Long: `Show what happened to a job, its workload and its pods: on the hub, and on the cluster that runs it, if that can be read (see
"logs" about how).`,
		Args: cobra.ExactArgs(1),
	}
	own := newWorkerAccess(c)
	c.RunE = a.RunE(func(ctx context.Context, args []string) error { return runEvents(ctx, a, args[0], own) })
	return c
}

// runEvents prints the events of the job and its Workload on the hub, and of the job and its pods on the worker, by time. What the worker
// does not tell is no error: the hub has told its part.
func runEvents(ctx context.Context, a *cli.App, text string, own *workerAccess) error {
	f, err := newFinder(a, own)
	if err != nil {
		return err
	}
	happened := map[string][]show.Event{}
	if kind, name, typed := strings.Cut(text, "/"); typed && cli.LookupKind(kind) == cli.KindPods {
		err = f.podEvents(ctx, name, happened)
	} else {
		err = f.jobEvents(ctx, text, happened)
	}
	if err != nil {
		return err
	}
	table := show.Events(happened, a.Now())
	if len(table.Rows) == 0 {
		a.PrintNothingFound(f.namespace)
		return nil
	}
	return a.PrintPlainTable(table)
}

// podEvents adds the events of one pod.
func (f finder) podEvents(ctx context.Context, name string, happened map[string][]show.Event) error {
	t, err := f.findPod(ctx, name)
	if err != nil {
		return err
	}
	where := t.cluster
	if where == "" {
		where = "hub"
	}
	happened[where], err = workload.ListEvents(ctx, t, f.namespace, func(r corev1.ObjectReference) bool { return r.Kind == "Pod" && r.Name == name })
	return err
}

// jobEvents adds the events of a job.
func (f finder) jobEvents(ctx context.Context, text string, happened map[string][]show.Event) error {
	j, err := workload.ParseJob(f.hub, text)
	if err != nil {
		return err
	}
	wl, err := workload.FindWorkloadOf(ctx, f.hub, f.namespace, j)
	if err != nil {
		return err
	}
	others, err := listSimilarJobs(ctx, f.hub, f.namespace, j)
	if err != nil {
		return err
	}
	about := func(r corev1.ObjectReference) bool {
		return r.Kind == "Workload" && r.Name == wl.Name || r.Kind == j.Kind().Kind && r.Name == j.Name() || isPartOfJob(r, j, others)
	}
	if happened["hub"], err = workload.ListEvents(ctx, f.hub, f.namespace, about); err != nil {
		return err
	}
	if wl.Status.ClusterName == nil {
		return nil
	}
	p, err := f.connect(*wl.Status.ClusterName)
	if err == nil {
		happened[p.cluster], err = workload.ListEvents(ctx, p, f.namespace, about)
	}
	if err != nil {
		f.Warnf("read events on %s: %v", p, err)
	}
	return nil
}

// isPartOfJob tells whether an object's name is one that the job's controllers give to its parts, pods and child jobs: the
// job's name, a dash, and more; but not that of another job, or of its parts.
func isPartOfJob(r corev1.ObjectReference, j workload.JobRef, others []string) bool {
	return slices.Contains([]string{"Pod", "Job"}, r.Kind) && strings.HasPrefix(r.Name, j.Name()+"-") &&
		!slices.ContainsFunc(others, func(other string) bool { return r.Name == other || strings.HasPrefix(r.Name, other+"-") })
}

// listSimilarJobs are the other queued jobs of the namespace whose names begin like the job's and a dash.
func listSimilarJobs(ctx context.Context, hub *kubeclient.Client, namespace string, j workload.JobRef) ([]string, error) {
	var all kueue.WorkloadList
	if err := kubeclient.ListObjects(ctx, hub, &all, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var names []string
	for i := range all.Items {
		for _, owner := range all.Items[i].OwnerReferences {
			if strings.HasPrefix(owner.Name, j.Name()+"-") {
				names = append(names, owner.Name)
			}
		}
	}
	return names, nil
}
