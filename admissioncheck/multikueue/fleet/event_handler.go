package fleet

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eventHandler tells the hub what an informer sees, and remembers what goes.
type eventHandler struct {
	session   *session
	kind      WatchedKind
	delivered *deliveredObjects
}

// OnAdd implements cache.ResourceEventHandler. What the first list of a session has is told once the hub sees that session
// (session.workloads): earlier nothing could be done about it.
func (h *eventHandler) OnAdd(now any, first bool) {
	obj := asObject(now)
	if obj == nil {
		return
	}
	h.recordObject(obj)
	if !first || h.session.supervisor.currentSession() == h.session {
		h.notifyHub(nil, obj)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *eventHandler) OnUpdate(old, now any) {
	if obj := asObject(now); obj != nil {
		h.recordObject(obj)
		h.notifyHub(asObject(old), obj)
	}
}

// recordObject shows an object, and notes that it was renewed.
func (h *eventHandler) recordObject(obj client.Object) {
	h.delivered.put(obj)
	if h.kind.RenewalTimeout > 0 {
		h.session.supervisor.renewals.record(h.kind.GVK, obj, h.session.options.Clock.Now())
	}
}

// OnDelete implements cache.ResourceEventHandler. An object that a relist found missing was not watched going.
func (h *eventHandler) OnDelete(old any) {
	last := asObject(old)
	if last == nil {
		return
	}
	if key, ok := h.kind.WorkloadKey(last); ok && h.session.options.OwnsWorkload(key) {
		_, missed := old.(cache.DeletedFinalStateUnknown)
		h.session.deletedObjects.add(key, h.kind.GVK, DeletedObject{LastState: last, DeletionObserved: !missed})
	}
	h.delivered.remove(last) // remembered first: see find
	h.session.supervisor.renewals.forget(h.kind.GVK, last)
	h.notifyHub(last, nil)
}

// notifyHub requeues the Workloads that a change of an object concerns; old or now is nil at its creation or deletion.
func (h *eventHandler) notifyHub(old, now client.Object) {
	present := now
	if present == nil {
		present = old
	}
	if present == nil {
		return
	}
	delay := h.session.options.Coalesce
	if h.kind.IsUrgent == nil || h.kind.IsUrgent(old, now) {
		delay = 0
	}
	for _, key := range h.affectedWorkloads(present) {
		h.session.actionQueues.recordEvent(key, now == nil, h.session.options.Clock.Now())
		if now != nil || !h.session.supervisor.forgetOrphan(key, h.session) {
			h.session.supervisor.requeueWorkload(key, delay)
		}
	}
}

// affectedWorkloads returns the Workload that an object belongs to, and others that its name may matter to.
func (h *eventHandler) affectedWorkloads(obj client.Object) []types.NamespacedName {
	var keys []types.NamespacedName
	if h.kind.RelatedWorkloads != nil {
		keys = h.kind.RelatedWorkloads(obj)
	}
	if key, ok := h.kind.WorkloadKey(obj); ok && !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return keys
}

// asObject unwraps what an informer hands out. Of a deletion that the watch has missed it is the last state that was seen.
func asObject(obj any) client.Object {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, _ := obj.(client.Object)
	return o
}
