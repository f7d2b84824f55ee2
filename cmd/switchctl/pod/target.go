package pod

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessapi "switchyard.dev/apis/access/v1alpha1"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/cmd/switchctl/workload"
)

// target is what a command line names: the pods of a job, or one pod.
type target struct {
	place

	// job is nil if a pod is named.
	job *workload.JobRef
	// names are the pods, if those are known by name: the one that is named, or those that the hub itself has of the job.
	names []string
	// ended tells that the job has finished, with which a hub takes it and its pods away from the worker.
	ended bool
	// workload is that of the job; empty if it is not there.
	workload types.UID
}

// String is what the target is called.
func (t target) String() string {
	if t.job == nil {
		return "pod/" + t.names[0]
	}
	return t.job.String()
}

// find finds what is named by TYPE[.GROUP]/NAME. A name alone is that of a batch Job, or else of a pod.
func (f finder) find(ctx context.Context, text string) (target, error) {
	kind, name, typed := strings.Cut(text, "/")
	switch {
	case typed && cli.LookupKind(kind) == cli.KindPods && name != "":
		return f.findPod(ctx, name)
	case typed:
		j, err := workload.ParseJob(f.hub, text)
		if err != nil {
			return target{}, err
		}
		return f.findJob(ctx, j)
	}
	found, err := f.findJob(ctx, workload.NewBatchJob(text))
	if exit.Code(err) != exit.NotFound {
		return found, err
	}
	pod, podErr := f.findPod(ctx, text)
	if podErr == nil {
		_, podErr = pod.listPods(ctx)
	}
	switch {
	case podErr == nil:
		return pod, nil
	case exit.Code(podErr) == exit.NotFound:
		return found, err
	}
	return found, fmt.Errorf("%w; whether it is a pod is not known: %v", err, podErr) //nolint:errorlint // the first one has the code
}

// findPod finds one pod: on the hub if a node there has it, else on whichever worker.
func (f finder) findPod(ctx context.Context, name string) (target, error) {
	t := target{names: []string{name}, place: place{Client: f.hub, namespace: f.namespace}}
	onHub := &corev1.Pod{}
	found, err := kubeclient.GetIfAllowed(ctx, f.hub, client.ObjectKey{Namespace: f.namespace, Name: name}, onHub)
	if err != nil || found && onHub.Spec.NodeName != "" && f.own.cluster == "" {
		return t, err
	}
	t.place, err = f.connect(cmp.Or(f.own.cluster, accessapi.AllClusters))
	return t, err
}

// findJob finds a job's pods. What has no Workload of its own, such as a Deployment, waits pod by pod: the hub has its pods, each with a
// Workload, and workers have pods of the same names.
func (f finder) findJob(ctx context.Context, j workload.JobRef) (target, error) {
	t := target{job: &j}
	wl, err := workload.FindWorkloadOf(ctx, f.hub, f.namespace, j)
	if err == nil {
		t.ended, t.workload = show.WorkloadStatus(wl) == show.Finished, wl.UID
		t.place, err = f.placeOf(j, wl)
		return t, err
	}
	if exit.Code(err) != exit.NotFound {
		return t, err
	}
	t.place = place{Client: f.hub, namespace: f.namespace}
	pods, podsErr := t.listOwned(ctx)
	if podsErr != nil || len(pods) == 0 {
		return t, err // which says why the job has no Workload
	}
	if slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName != "" }) {
		return t, nil
	}
	for i := range pods {
		t.names = append(t.names, pods[i].Name)
	}
	t.place, err = f.connect(accessapi.AllClusters)
	return t, err
}

// podLabels are the labels by which the pods of a kind of job are found, by the kind's group and name. Pods of other kinds are found by
// their owners, which takes a look at every pod of the namespace.
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

// listPods are the target's pods, by name. A pod that is named and does not exist is an error.
func (t target) listPods(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := t.lookForPods(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for the pods of %s on %s: %w", t, t.place, err)
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

func (t target) lookForPods(ctx context.Context) ([]corev1.Pod, error) {
	if t.job == nil {
		var one corev1.Pod
		err := t.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.names[0]}, &one)
		return []corev1.Pod{one}, err
	}
	kind := t.job.Kind()
	label, labelled := podLabels[kind.Group+"/"+kind.Kind]
	if len(t.names) == 0 && !labelled {
		return t.listOwned(ctx)
	}
	var found corev1.PodList
	options := []client.ListOption{client.InNamespace(t.namespace)}
	if labelled {
		options = append(options, client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(labels.Set{label: t.job.Name()})})
	}
	err := kubeclient.ListObjects(ctx, t, &found, options...)
	return slices.DeleteFunc(found.Items, func(p corev1.Pod) bool { return len(t.names) > 0 && !slices.Contains(t.names, p.Name) }), err
}

// requirePods are the target's pods, of which there has to be one.
func (t target) requirePods(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := t.listPods(ctx)
	if err == nil && len(pods) == 0 {
		return nil, t.noPods()
	}
	return pods, err
}

// noPods says why a job has no pods.
func (t target) noPods() error {
	if t.ended && t.cluster != "" {
		return exit.NotFoundf("%s has finished: its pods on %s went with it, and their logs; read logs with -f while a job runs, or "+
			"collect them on the worker", t, t.place)
	}
	return exit.NotReadyf("%s has no pods on %s yet; see \"events %s\"", t, t.place, t)
}
