package access

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"

	"switchyard.dev/worker/kube"
)

// Reasons of events on jobs.
const (
	reasonExec        = "PodExec"
	reasonAttach      = "PodAttach"
	reasonPortForward = "PodPortForward"
)

// maxCommand is how much of a command the audit shows, maxUser how much of a user's name an event does.
const (
	maxCommand = 256
	maxUser    = 128
)

// audit logs who wanted to connect to a container, and who was denied what. It has what the hub's API server cannot know: which pod on which
// cluster it came to.
func (h *Handler) audit(r request, who user.Info, req *http.Request, at *located, began time.Time, err error) {
	query := req.URL.Query()
	values := []any{
		"user", kube.Sanitize(who.GetName(), maxUser), "groups", who.GetGroups(), "verb", r.verb, "resource", r.resource.GroupResource().String(),
		"subresource", r.subresource, "namespace", r.namespace, "name", r.name, "from", req.RemoteAddr, "after", h.clock.Since(began).String(),
	}
	if r.target == targetConnect {
		values = append(values, "container", kube.Sanitize(query.Get("container"), maxUser),
			"command", kube.Sanitize(fmt.Sprintf("%q", query["command"]), maxCommand))
	}
	if at != nil {
		values = append(values, "cluster", at.worker.name, "workload", at.workload.String())
	}
	if err != nil {
		h.log.Info("Denied", append(values, "why", plainText(err.Error()))...)
		return
	}
	h.log.Info("Connecting to a container", values...)
}

// recordEvent says on the job, for its owners to see, who connects to its containers.
func (h *Handler) recordEvent(ctx context.Context, r request, who user.Info, at *located) {
	wl := h.workload(ctx, at.workload)
	if wl == nil {
		return
	}
	var about runtime.Object = wl
	if owner := metav1.GetControllerOf(wl); owner != nil {
		job := &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: owner.APIVersion, Kind: owner.Kind},
			ObjectMeta: metav1.ObjectMeta{Namespace: wl.Namespace, Name: owner.Name, UID: owner.UID},
		}
		about = job
	}
	reason := map[string]string{
		subresourceExec: reasonExec, subresourceAttach: reasonAttach, subresourcePortForward: reasonPortForward,
	}[r.subresource]
	kube.RecordEvents(h.recorder, about, kube.Event{Reason: reason, Note: fmt.Sprintf("%s connects to pod %s on cluster %s by %s",
		kube.Sanitize(who.GetName(), maxUser), r.name, at.worker.name, r.subresource)})
}
