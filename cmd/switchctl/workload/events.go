package workload

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
)

// NewEvents is the command events: what happened to a job, on the hub and on the worker that runs it.
func NewEvents(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "events {JOB | TYPE[.GROUP]/NAME}", Short: "Show what happened to a job, on the hub and on the cluster that runs it",
		Long: `Show what happened to a job, its workload and its pods: on the hub, and on the cluster that runs it, if that can be read (see
"logs" about how).`,
		Args: cobra.ExactArgs(1),
	}
	w := newWorkerAccess(c)
	c.RunE = a.RunE(func(ctx context.Context, args []string) error { return runEvents(ctx, a, args[0], w) })
	return c
}

// runEvents prints the events of the job and its Workload on the hub, and of the job and its pods on the worker, by time.
func runEvents(ctx context.Context, a *cli.App, text string, w *workerAccess) error {
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	j, err := ParseJob(hub, text)
	if err != nil {
		return err
	}
	namespace, err := a.Namespace()
	if err != nil {
		return err
	}
	wl, err := findWorkloadOf(ctx, hub, namespace, j)
	if err != nil {
		return err
	}
	others, err := listSimilarJobs(ctx, hub, namespace, j)
	if err != nil {
		return err
	}
	about := func(r corev1.ObjectReference) bool {
		return r.Kind == "Workload" && r.Name == wl.Name || r.Kind == j.kind.Kind && r.Name == j.name || isPartOfJob(r, j, others)
	}
	happened := map[string][]show.Event{}
	if happened["hub"], err = ListEvents(ctx, hub, namespace, about); err != nil {
		return err
	}
	if wl.Status.ClusterName != nil {
		name := *wl.Status.ClusterName
		p := jobPlace{cluster: name, namespace: namespace, job: j}
		if p.Client, err = connectWorker(ctx, a, hub, name, w); err == nil {
			happened[name], err = ListEvents(ctx, p, namespace, about)
		}
		if err != nil {
			a.Warnf("%v", p.explainDenied(err, "read events"))
		}
	}
	table := show.Events(happened, a.Now())
	if len(table.Rows) == 0 {
		a.PrintNothingFound(namespace)
		return nil
	}
	return a.PrintPlainTable(table)
}

// isPartOfJob tells whether an object's name is one that the job's controllers give to its parts, pods and child jobs: the
// job's name, a dash, and more; but not that of another job, or of its parts.
func isPartOfJob(r corev1.ObjectReference, j JobRef, others []string) bool {
	return slices.Contains([]string{"Pod", "Job"}, r.Kind) && strings.HasPrefix(r.Name, j.name+"-") &&
		!slices.ContainsFunc(others, func(other string) bool { return r.Name == other || strings.HasPrefix(r.Name, other+"-") })
}

// listSimilarJobs are the other queued jobs of the namespace whose names begin like the job's and a dash.
func listSimilarJobs(ctx context.Context, hub *kubeclient.Client, namespace string, j JobRef) ([]string, error) {
	var all kueue.WorkloadList
	if err := kubeclient.ListObjects(ctx, hub, &all, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var names []string
	for i := range all.Items {
		for _, owner := range all.Items[i].OwnerReferences {
			if strings.HasPrefix(owner.Name, j.name+"-") {
				names = append(names, owner.Name)
			}
		}
	}
	return names, nil
}
