package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/show"
)

func (a *app) newEvents() *cobra.Command {
	c := &cobra.Command{
		Use: "events {JOB | TYPE[.GROUP]/NAME}", Short: "Show what happened to a job, on the hub and on the cluster that runs it",
		Long: `Show what happened to a job, its workload and its pods: on the hub, and on the cluster that runs it, if that can be read (see
"logs" about how).`,
		Args: cobra.ExactArgs(1),
	}
	w := newWorkerAccess(c)
	c.RunE = a.runE(func(ctx context.Context, args []string) error { return a.runEvents(ctx, args[0], w) })
	return c
}

func (a *app) runEvents(ctx context.Context, text string, w *workerAccess) error {
	hub, err := a.sites.hub()
	if err != nil {
		return err
	}
	j, err := parseJob(hub, text)
	if err != nil {
		return err
	}
	namespace, err := a.namespace()
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
	if happened["hub"], err = listEvents(ctx, hub, namespace, about); err != nil {
		return err
	}
	if wl.Status.ClusterName != nil {
		name := *wl.Status.ClusterName
		p := jobPlace{cluster: name, namespace: namespace, job: j}
		if p.kubeClient, err = a.connectWorker(ctx, hub, name, w); err == nil {
			happened[name], err = listEvents(ctx, p, namespace, about)
		}
		if err != nil {
			a.warnf("%v", p.explainDenied(err, "read events"))
		}
	}
	table := show.Events(happened, a.now())
	if len(table.Rows) == 0 {
		a.printNothingFound(namespace)
		return nil
	}
	return a.printPlainTable(table)
}

// isPartOfJob tells whether an object's name is one that the job's controllers give to its parts, pods and child jobs: the
// job's name, a dash, and more; but not that of another job, or of its parts.
func isPartOfJob(r corev1.ObjectReference, j jobRef, others []string) bool {
	return slices.Contains([]string{"Pod", "Job"}, r.Kind) && strings.HasPrefix(r.Name, j.name+"-") &&
		!slices.ContainsFunc(others, func(other string) bool { return r.Name == other || strings.HasPrefix(r.Name, other+"-") })
}

// listSimilarJobs are the other queued jobs of the namespace whose names begin like the job's and a dash.
func listSimilarJobs(ctx context.Context, hub *kubeClient, namespace string, j jobRef) ([]string, error) {
	var all kueue.WorkloadList
	if err := listObjects(ctx, hub, &all, client.InNamespace(namespace)); err != nil {
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
