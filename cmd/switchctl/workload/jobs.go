package workload

import (
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// JobRef is a job as the user names it: TYPE[.GROUP]/NAME. A name alone is a batch Job.
type JobRef struct {
	kind schema.GroupVersionKind
	name string
}

// ParseJob reads TYPE[.GROUP]/NAME. The hub says what a type is, short names included.
func ParseJob(hub *kubeclient.Client, text string) (JobRef, error) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		kind, name = "job.batch", text
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return JobRef{}, exit.Usagef("%q names no job: want TYPE[.GROUP]/NAME, such as job/train", text)
	}
	gvk, err := parseKind(hub.RESTMapper(), kind)
	if meta.IsNoMatchError(err) {
		return JobRef{}, exit.Usagef("%q names no kind of job that the hub knows: %w", kind, err)
	}
	if err != nil {
		return JobRef{}, fmt.Errorf("ask the hub what a %q is: %w", kind, err)
	}
	return JobRef{kind: gvk, name: name}, nil
}

// parseKind resolves a resource name or a kind, with its group or without.
func parseKind(mapper meta.RESTMapper, text string) (schema.GroupVersionKind, error) {
	group := schema.ParseGroupResource(strings.ToLower(text))
	kind, err := mapper.KindFor(group.WithVersion(""))
	if err == nil || !meta.IsNoMatchError(err) {
		return kind, err
	}
	mapping, err := mapper.RESTMapping(schema.ParseGroupKind(text))
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return mapping.GroupVersionKind, nil
}

// NewBatchJob is the batch Job of that name.
func NewBatchJob(name string) JobRef {
	return JobRef{kind: batchv1.SchemeGroupVersion.WithKind("Job"), name: name}
}

// Kind is the job's kind.
func (j JobRef) Kind() schema.GroupVersionKind { return j.kind }

// Name is the job's name.
func (j JobRef) Name() string { return j.name }

// String is TYPE.GROUP/NAME.
func (j JobRef) String() string {
	kind := strings.ToLower(j.kind.Kind)
	if j.kind.Group != "" {
		kind += "." + j.kind.Group
	}
	return kind + "/" + j.name
}

// IsOwnerOf tells whether a workload was made for the job.
func (j JobRef) IsOwnerOf(wl *kueue.Workload) bool {
	for _, owner := range wl.OwnerReferences {
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err == nil && gv.Group == j.kind.Group && owner.Kind == j.kind.Kind && owner.Name == j.name {
			return true
		}
	}
	return false
}

// FindWorkloadOf is the newest workload of a job.
func FindWorkloadOf(ctx context.Context, hub *kubeclient.Client, namespace string, j JobRef) (*kueue.Workload, error) {
	var all kueue.WorkloadList
	if err := kubeclient.ListObjects(ctx, hub, &all, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var found *kueue.Workload
	for i := range all.Items {
		wl := &all.Items[i]
		if j.IsOwnerOf(wl) && (found == nil || found.CreationTimestamp.Before(&wl.CreationTimestamp)) {
			found = wl
		}
	}
	if found != nil {
		return found, nil
	}
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(j.kind)
	if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: j.name}, job); err != nil {
		return nil, fmt.Errorf("find %s in namespace %s: %w", j, namespace, err)
	}
	if job.Labels[kueue.QueueNameLabel] == "" {
		return nil, exit.NotFoundf("%s has no workload: it names no queue (label %s), so that nobody queues it; see \"submit\"", j, kueue.QueueNameLabel)
	}
	return nil, exit.NotFoundf("%s has no workload yet: does its LocalQueue %q exist, and does the hub's program run?", j, job.Labels[kueue.QueueNameLabel])
}

// FindWorkload is the workload that a user means: by its own name, or by TYPE[.GROUP]/NAME of its job; NAME alone is that of a batch
// Job if no workload is called so.
func FindWorkload(ctx context.Context, a *cli.App, hub *kubeclient.Client, text string) (*kueue.Workload, error) {
	namespace, err := a.Namespace()
	if err != nil {
		return nil, err
	}
	if kind, name, ok := strings.Cut(text, "/"); ok && !isWorkload(kind) {
		j, err := ParseJob(hub, text)
		if err != nil {
			return nil, err
		}
		return FindWorkloadOf(ctx, hub, namespace, j)
	} else if ok {
		text = name
	}
	wl := &kueue.Workload{}
	err = hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: text}, wl)
	if apierrors.IsNotFound(err) {
		var asJob error
		j := NewBatchJob(text)
		if wl, asJob = FindWorkloadOf(ctx, hub, namespace, j); !apierrors.IsNotFound(asJob) {
			return wl, asJob
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read workload %s of namespace %s (a job is named as job/NAME): %w", text, namespace, err)
	}
	return wl, nil
}

// isWorkload tells whether a word names the kind Workload.
func isWorkload(word string) bool {
	switch strings.TrimSuffix(strings.ToLower(word), "."+kueue.GroupVersion.Group) {
	case "workload", "workloads", "wl", "kwl", "kueueworkload", "kueueworkloads":
		return true
	}
	return false
}
