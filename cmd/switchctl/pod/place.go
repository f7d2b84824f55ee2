// Package pod has the commands about the pods of a job, on whichever cluster they are: list them, read their logs and events, get
// into them. A user reaches a worker through the hub, as the hub's user, or else with credentials of their own for the worker.
package pod

import (
	"fmt"

	"github.com/spf13/cobra"

	accessapi "switchyard.dev/apis/access/v1alpha1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/cmd/switchctl/workload"
)

// workerAccess is how users get to a worker: through the hub, or with credentials of their own.
type workerAccess struct{ kubeconfig, context, cluster string }

// newWorkerAccess adds the flags by which users say how to reach the worker.
func newWorkerAccess(c *cobra.Command) *workerAccess {
	w := &workerAccess{}
	c.Flags().StringVar(&w.kubeconfig, "worker-kubeconfig", "", "Your own kubeconfig file of the worker, instead of the way through the hub")
	c.Flags().StringVar(&w.context, "worker-context", "", "Your own context of the worker, instead of the way through the hub")
	c.Flags().StringVar(&w.cluster, "cluster-name", "", "The worker cluster, where several have a pod of that name")
	return w
}

// place is where pods are looked for.
type place struct {
	*kubeclient.Client

	// cluster is the worker's name, accessapi.AllClusters if any worker may have the pods; empty for the hub itself.
	cluster   string
	namespace string
}

// String names the place for messages.
func (p place) String() string {
	switch p.cluster {
	case "":
		return "the hub"
	case accessapi.AllClusters:
		return "the workers"
	}
	return fmt.Sprintf("cluster %q", p.cluster)
}

// getter leads kubectl's code to the place.
func (p place) getter() kubeclient.RESTGetter {
	return kubeclient.RESTGetter{Client: p.Client, InNamespace: p.namespace}
}

// finder finds the places of pods that a command line names.
type finder struct {
	*cli.App

	hub       *kubeclient.Client
	namespace string
	own       *workerAccess
}

func newFinder(a *cli.App, own *workerAccess) (finder, error) {
	hub, err := a.Clusters.Hub()
	if err != nil {
		return finder{}, err
	}
	namespace, err := a.Namespace()
	return finder{a, hub, namespace, own}, err
}

// connect connects to a worker, as the user says or else through the hub.
func (f finder) connect(cluster string) (place, error) {
	p := place{cluster: cluster, namespace: f.namespace}
	var err error
	if f.own.kubeconfig != "" || f.own.context != "" {
		p.Client, err = f.Clusters.Context(f.own.kubeconfig, f.own.context)
	} else {
		p.Client, err = f.Clusters.Fleet(f.hub, cluster)
	}
	return p, err
}

// placeOf is where a job's pods are, by its Workload.
func (f finder) placeOf(j workload.JobRef, wl *kueue.Workload) (place, error) {
	if wl.Status.ClusterName != nil {
		return f.connect(*wl.Status.ClusterName)
	}
	if len(wl.Status.AdmissionChecks) == 0 && show.WorkloadStatus(wl) == show.Admitted {
		return place{Client: f.hub, namespace: f.namespace}, nil // a queue without workers
	}
	return place{}, exit.NotReadyf("%s has no cluster (%s): %s; see \"explain %s\"", j, show.WorkloadStatus(wl), show.PendingReason(wl), j)
}
