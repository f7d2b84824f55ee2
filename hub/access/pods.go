package access

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

const (
	// podPageSize is how many whole pods a worker is asked for at a time, maxPodPage the largest page of them that is read, in bytes.
	podPageSize = 50
	maxPodPage  = 4 << 20
)

// Pods looks at the pods of Workloads on their workers for the program itself: no user asks, so nobody's rights are looked at. It has
// connections of its own, and the same account and the same idea of whose a pod is as a Handler. It is safe for concurrent use.
type Pods struct {
	handler *Handler
}

// NewPods returns the Pods of a hub. Of the Config, Reader, Live, Namespace, Origin and Jobs are needed.
func NewPods(c Config) *Pods {
	c.Declared = declaredKinds(c.Reader)
	return &Pods{handler: NewHandler(c)}
}

// podPage is what is read of a page of pods.
type podPage struct {
	Metadata listMetadata `json:"metadata"`
	Items    []struct {
		metav1.ObjectMeta `json:"metadata"`

		Status corev1.PodStatus `json:"status"`
	} `json:"items"`
}

// List returns metadata and status of the pods of a Workload on the cluster that it is bound to, of those that are selected and wanted, the
// first limit. What a worker calls a pod without giving it a pod's name is none.
func (p *Pods) List(ctx context.Context, wl *kueue.Workload, selector fields.Selector, limit int, wanted func(*corev1.Pod) bool) ([]corev1.Pod, error) {
	w, own, err := p.handler.connect(ctx, ptr.Deref(wl.Status.ClusterName, ""), wl.Namespace)
	if err != nil {
		return nil, err
	}
	own.only = wl
	query := url.Values{"limit": {strconv.Itoa(podPageSize)}}
	if !selector.Empty() {
		query.Set("fieldSelector", selector.String())
	}
	var found []corev1.Pod
	for range maxPages {
		page, err := w.podPage(ctx, query, wl.Namespace)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			pod := corev1.Pod{ObjectMeta: page.Items[i].ObjectMeta, Status: page.Items[i].Status}
			if len(validation.IsDNS1123Subdomain(pod.Name)) > 0 || !wanted(&pod) {
				continue
			}
			meta := &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}
			meta.SetGroupVersionKind(podKind)
			_, ok, err := own.workloadOf(ctx, meta)
			if err != nil {
				return nil, err
			}
			if ok {
				found = append(found, pod)
			}
			if len(found) == limit {
				return found, nil
			}
		}
		if page.Metadata.Continue == "" {
			return found, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
	return found, nil
}

func (w *worker) podPage(ctx context.Context, query url.Values, namespace string) (*podPage, error) {
	raw, release, err := w.fetch(ctx, w.url(query, resourceParts(podsV1, namespace)...), acceptJSON, maxPodPage)
	if err != nil {
		return nil, err
	}
	defer release()
	page := &podPage{}
	if err := json.Unmarshal(raw, page); err != nil {
		return nil, w.garbled(err)
	}
	return page, nil
}

// OpenLog begins to read the last lines of a container's log, of a pod that List has returned. The caller bounds what it reads, in bytes and by
// the context, and closes it.
func (p *Pods) OpenLog(ctx context.Context, wl *kueue.Workload, pod, container string, lines int) (io.ReadCloser, error) {
	if len(validation.IsDNS1123Label(container)) > 0 {
		return nil, fmt.Errorf("%.80q is no name of a container", container)
	}
	w, err := p.handler.clusters.worker(ctx, ptr.Deref(wl.Status.ClusterName, ""))
	if err != nil {
		return nil, err
	}
	query := url.Values{"container": {container}, "tailLines": {strconv.Itoa(lines)}}
	body, err := w.open(ctx, w.url(query, resourceParts(podsV1, wl.Namespace, pod, subresourceLog)...), "*/*")
	return body, err
}

// isOther tells of an owner that it has the kind of the only job that is asked for, and is another one. No job has one of its own kind above it.
func (o *ownership) isOther(kind schema.GroupKind, name string) bool {
	if o.only == nil {
		return false
	}
	job, ok := hubworkload.LookupOwner(o.only)
	return ok && kind == job.GVK.GroupKind() && name != job.Name
}
