package fleet

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// handler tells the hub what an informer sees, and remembers what goes.
type handler struct {
	session *session
	kind    Kind
	shown   *shown
}

// OnAdd implements cache.ResourceEventHandler. What the first list of a session has is told once the hub sees that session
// (session.workloads): earlier nothing could be done about it.
func (h *handler) OnAdd(now any, first bool) {
	obj := object(now)
	if obj == nil {
		return
	}
	h.put(obj)
	if !first || h.session.owner.present() == h.session {
		h.tell(nil, obj)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *handler) OnUpdate(old, now any) {
	if obj := object(now); obj != nil {
		h.put(obj)
		h.tell(object(old), obj)
	}
}

// put shows an object, and notes that it was renewed.
func (h *handler) put(obj client.Object) {
	h.shown.put(obj)
	if h.kind.Renewed > 0 {
		h.session.owner.renewals.note(h.kind.GVK, obj, h.session.options.Clock.Now())
	}
}

// OnDelete implements cache.ResourceEventHandler. An object that a relist found missing was not watched going.
func (h *handler) OnDelete(old any) {
	last := object(old)
	if last == nil {
		return
	}
	if key, ok := h.kind.Key(last); ok && h.session.options.Owned(key) {
		_, missed := old.(cache.DeletedFinalStateUnknown)
		h.session.memory.add(key, h.kind.GVK, Gone{Last: last, Watched: !missed})
	}
	h.shown.drop(last) // remembered first: see find
	h.session.owner.renewals.drop(h.kind.GVK, last)
	h.tell(last, nil)
}

func (h *handler) tell(old, now client.Object) {
	present := now
	if present == nil {
		present = old
	}
	if present == nil {
		return
	}
	delay := h.session.options.Coalesce
	if h.kind.Soon == nil || h.kind.Soon(old, now) {
		delay = 0
	}
	for _, key := range h.concerned(present) {
		h.session.lanes.changed(key, now == nil, h.session.options.Clock.Now())
		if now != nil || !h.session.owner.bury(key, h.session) {
			h.session.owner.look(key, delay)
		}
	}
}

func (h *handler) concerned(obj client.Object) []types.NamespacedName {
	var keys []types.NamespacedName
	if h.kind.Also != nil {
		keys = h.kind.Also(obj)
	}
	if key, ok := h.kind.Key(obj); ok && !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return keys
}

func object(obj any) client.Object {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, _ := obj.(client.Object)
	return o
}
