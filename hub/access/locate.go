package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// patience is how long the answers of other workers are waited for once one has the object. Two may have pods of one name.
const patience = 250 * time.Millisecond

// located is an object on the worker that has it.
type located struct {
	worker *worker
	uid    types.UID
	// workload is the hub's Workload that it belongs to.
	workload types.NamespacedName
}

// finding is what one worker says.
type finding struct {
	cluster string
	located *located
	err     error
}

// locate finds the one object of a request on the workers to which Workloads of the namespace are bound. None waits for another, and one that
// hangs holds up the answer only if nobody else has the object.
func (h *Handler) locate(ctx context.Context, r request, only string) (*located, error) {
	names, err := h.candidates(ctx, r, only)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting := map[string]bool{}
	findings := make(chan finding, len(names))
	for _, name := range names {
		waiting[name] = true
		go func() { findings <- h.look(ctx, r, name) }()
	}
	var found []*located
	var failures []error
	var soon <-chan time.Time
	for len(waiting) > 0 {
		select {
		case f := <-findings:
			delete(waiting, f.cluster)
			if f.err != nil {
				failures = append(failures, f.err)
			}
			if f.located != nil {
				found = append(found, f.located)
				soon = time.After(patience)
			}
			continue
		case <-soon:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		break
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, ambiguous(r, found)
	case len(failures) > 0:
		return nil, failures[0]
	}
	return nil, missing(r, names)
}

// candidates are the clusters that may have the object: those of its Workloads if it is a job.
func (h *Handler) candidates(ctx context.Context, r request, only string) ([]string, error) {
	names, err := h.placement.clusters(ctx, r.namespace, only)
	kind, isJob := h.kinds.Job(r.resource)
	if err != nil || !isJob || r.name == "" {
		return names, err
	}
	var bound []string
	for _, name := range names {
		workloads, err := h.placement.boundWorkloads(ctx, r.namespace, kind, r.name, name)
		if err != nil {
			return nil, err
		}
		if len(workloads) > 0 {
			bound = append(bound, name)
		}
	}
	return bound, nil
}

// look asks one worker. What it has and is not of the hub's jobs is not there.
func (h *Handler) look(ctx context.Context, r request, cluster string) finding {
	f := finding{cluster: cluster}
	w, own, leave, err := h.beginRead(ctx, cluster, r.namespace)
	if err != nil {
		f.err = err
		return f
	}
	defer leave()
	accept := acceptMetadata
	if isEvents(r.resource) { // whose metadata does not say what they are about
		accept = acceptJSON
	}
	raw, release, err := w.fetch(ctx, w.url(nil, resourceParts(r.resource, r.namespace, r.name)...), accept, maxObject)
	if apierrors.IsNotFound(err) {
		return f
	}
	if err != nil {
		f.err = err
		return f
	}
	defer release()
	meta, err := metadataOf(raw)
	if err != nil {
		f.err = w.garbled(err)
		return f
	}
	if meta.Name != r.name {
		return f
	}
	key, ok, err := h.belongs(ctx, own, r, meta)
	if err != nil || !ok {
		f.err = err
		return f
	}
	f.located = &located{worker: w, uid: meta.UID, workload: key}
	return f
}

// beginRead is connect for a get or a list, which counts until leave is called.
func (h *Handler) beginRead(ctx context.Context, cluster, namespace string) (w *worker, own *ownership, leave func(), err error) {
	if w, own, err = h.connect(ctx, cluster, namespace); err != nil {
		return nil, nil, nil, err
	}
	if leave, err = h.limits.reads.enter(cluster); err != nil {
		return nil, nil, nil, err
	}
	return w, own, leave, nil
}

// connect returns the way to a cluster, and what tells there which objects are the hub's.
func (h *Handler) connect(ctx context.Context, cluster, namespace string) (*worker, *ownership, error) {
	w, err := h.clusters.worker(ctx, cluster)
	if err != nil {
		var none noAccessError
		if errors.As(err, &none) {
			err = newStatus(http.StatusForbidden, metav1.StatusReasonForbidden, none.Error())
		}
		return nil, nil, err
	}
	hub, err := h.identity(ctx)
	if err != nil {
		return nil, nil, err
	}
	hub.adopted = w.adopted
	return w, newOwnership(h, inNamespace{w, namespace}, hub, cluster, namespace), nil
}

// belongs tells whether an object is one that a request may see, and which Workload it belongs to. An event belongs to what it is about.
func (h *Handler) belongs(ctx context.Context, own *ownership, r request, meta *envelope) (types.NamespacedName, bool, error) {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: meta.ObjectMeta}
	if isEvents(r.resource) {
		return own.workloadOfSubject(ctx, meta.subject())
	}
	if kind, ok := h.kinds.Job(r.resource); ok {
		obj.SetGroupVersionKind(kind)
	} else {
		obj.SetGroupVersionKind(podKind)
	}
	return own.workloadOf(ctx, obj)
}

func ambiguous(r request, found []*located) error {
	var names []string
	for _, l := range found {
		names = append(names, l.worker.name)
	}
	slices.Sort(names)
	return newStatus(http.StatusConflict, metav1.StatusReasonConflict, fmt.Sprintf(
		"%s %q is on clusters %s: choose one: switchctl access kubeconfig --cluster %s", r.resource.Resource, r.name, strings.Join(names, ", "), names[0]))
}

// missing says that there is no such object among those of the hub's jobs, whatever else there may be on the workers.
func missing(r request, looked []string) error {
	err := apierrors.NewNotFound(r.resource.GroupResource(), r.name)
	if len(looked) == 0 {
		err.ErrStatus.Message += fmt.Sprintf(": no job of namespace %s that could have it has a cluster; see: switchctl list workload -n %s", r.namespace, r.namespace)
	} else {
		err.ErrStatus.Message += fmt.Sprintf(": no job of namespace %s has it on %s", r.namespace, strings.Join(looked, ", "))
	}
	return err
}
