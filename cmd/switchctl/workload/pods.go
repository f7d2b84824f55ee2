package workload

import (
	"context"
	"fmt"

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

// podLabels are the labels by which the pods of a kind of job are found, by the kind's group and name.
var podLabels = map[string]string{
	"batch/Job":                                "batch.kubernetes.io/job-name",
	"jobset.x-k8s.io/JobSet":                   "jobset.sigs.k8s.io/jobset-name",
	"trainer.kubeflow.org/TrainJob":            "jobset.sigs.k8s.io/jobset-name",
	"kubeflow.org/MPIJob":                      "training.kubeflow.org/job-name",
	"kubeflow.org/PyTorchJob":                  "training.kubeflow.org/job-name",
	"kubeflow.org/TFJob":                       "training.kubeflow.org/job-name",
	"kubeflow.org/XGBoostJob":                  "training.kubeflow.org/job-name",
	"kubeflow.org/PaddleJob":                   "training.kubeflow.org/job-name",
	"kubeflow.org/JAXJob":                      "training.kubeflow.org/job-name",
	"ray.io/RayCluster":                        "ray.io/cluster",
	"leaderworkerset.x-k8s.io/LeaderWorkerSet": "leaderworkerset.sigs.k8s.io/name",
}

// workerAccess is how "logs", "events" and "list pods" get to the cluster that runs a job.
type workerAccess struct{ kubeconfig, context string }

// newWorkerAccess adds the flags by which users reach the worker with credentials of their own.
func newWorkerAccess(c *cobra.Command) *workerAccess {
	w := &workerAccess{}
	c.Flags().StringVar(&w.kubeconfig, "worker-kubeconfig", "", "Your own kubeconfig file of the worker, instead of the hub's kubeconfig Secret")
	c.Flags().StringVar(&w.context, "worker-context", "", "Your own context of the worker, instead of the hub's kubeconfig Secret")
	return w
}

// jobPlace is where a job runs.
type jobPlace struct {
	*kubeclient.Client
	// cluster is the worker's name; empty if the job runs on the hub itself.
	cluster   string
	namespace string
	job       JobRef
	// ended tells that the job has finished, with which a hub takes it and its pods away from the worker.
	ended bool
}

// String names the cluster for messages.
func (p jobPlace) String() string {
	if p.cluster == "" {
		return "the hub"
	}
	return fmt.Sprintf("cluster %q", p.cluster)
}

// findJobPlace finds the cluster that runs a job, and connects to it.
func findJobPlace(ctx context.Context, a *cli.App, text string, w *workerAccess) (jobPlace, error) {
	hub, err := a.Clusters.Hub()
	if err != nil {
		return jobPlace{}, err
	}
	j, err := ParseJob(hub, text)
	if err != nil {
		return jobPlace{}, err
	}
	namespace, err := a.Namespace()
	if err != nil {
		return jobPlace{}, err
	}
	wl, err := findWorkloadOf(ctx, hub, namespace, j)
	if err != nil {
		return jobPlace{}, err
	}
	p := jobPlace{namespace: namespace, job: j, ended: show.WorkloadStatus(wl) == show.Finished}
	if wl.Status.ClusterName == nil {
		if len(wl.Status.AdmissionChecks) == 0 && show.WorkloadStatus(wl) == show.Admitted {
			p.Client = hub // a queue without workers
			return p, nil
		}
		return jobPlace{}, exit.NotReadyf("%s has no cluster (%s): %s; see \"explain %s\"", j, show.WorkloadStatus(wl), show.PendingReason(wl), j)
	}
	p.cluster = *wl.Status.ClusterName
	p.Client, err = connectWorker(ctx, a, hub, p.cluster, w)
	return p, err
}

// connectWorker connects to a worker, as the user says or else as the hub does.
func connectWorker(ctx context.Context, a *cli.App, hub *kubeclient.Client, name string, w *workerAccess) (*kubeclient.Client, error) {
	if w.kubeconfig != "" || w.context != "" {
		return a.Clusters.Context(w.kubeconfig, w.context)
	}
	cluster := &kueue.MultiKueueCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return nil, fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
	}
	raw, err := a.CredentialsOf(ctx, hub, cluster)
	if err != nil {
		return nil, fmt.Errorf("%w (or pass --worker-kubeconfig or --worker-context of your own)", err)
	}
	return a.Clusters.Credentials(raw)
}

// listPods are those of the job on its cluster.
func (p jobPlace) listPods(ctx context.Context) ([]corev1.Pod, error) {
	label, ok := podLabels[p.job.kind.Group+"/"+p.job.kind.Kind]
	if !ok {
		return nil, exit.Usagef("how to find the pods of a %s is not known: look for them on %s with kubectl", p.job.kind.Kind, p)
	}
	var found corev1.PodList
	selector := labels.SelectorFromSet(labels.Set{label: p.job.name})
	if err := p.List(ctx, &found, client.InNamespace(p.namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, p.explainDenied(err, "list the pods of "+p.job.String())
	}
	return found.Items, nil
}

// explainDenied says what to do when the hub's account may not look at pods, as it may not by default.
func (p jobPlace) explainDenied(err error, what string) error {
	if exit.Code(err) == exit.Denied && p.cluster != "" {
		return fmt.Errorf("%s on %s: %w\npass --worker-context or --worker-kubeconfig of your own, or let the hub's account do it: cluster register %s --allow-logs",
			what, p, err, p.cluster)
	}
	return fmt.Errorf("%s on %s: %w", what, p, err)
}

// NewListPods is the command list pods: the pods of a job, on the cluster that runs it.
func NewListPods(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindPods, "--for TYPE[.GROUP]/NAME", "List the pods of a job, on the cluster that runs it")
	c.Args = cobra.NoArgs
	o, w := cli.NewOutput(c), newWorkerAccess(c)
	owner := c.Flags().String("for", "", "The job, TYPE[.GROUP]/NAME")
	_ = c.MarkFlagRequired("for")
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error {
		p, err := findJobPlace(ctx, a, *owner, w)
		if err != nil {
			return err
		}
		found, err := p.listPods(ctx)
		if err != nil {
			return err
		}
		if len(found) == 0 && o.Tabular() {
			a.PrintNothingFound(p.namespace)
			return nil
		}
		return a.PrintObjects(o, cli.Printable{Table: show.Pods(found, p.cluster, a.Now()), Objects: cli.ObjectPointers(found)})
	})
	return c
}
