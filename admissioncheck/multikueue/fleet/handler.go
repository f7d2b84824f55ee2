package fleet

import (
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// handler tells the hub what an informer sees, and remembers what goes.
type handler struct {
	session *session
	kind    Kind
}

// OnAdd implements cache.ResourceEventHandler.
func (h *handler) OnAdd(now any, _ bool) { h.tell(nil, object(now)) }

// OnUpdate implements cache.ResourceEventHandler.
func (h *handler) OnUpdate(old, now any) { h.tell(object(old), object(now)) }

// OnDelete implements cache.ResourceEventHandler. An object that a relist found missing was not watched going.
func (h *handler) OnDelete(old any) {
	last := object(old)
	if last == nil {
		return
	}
	if key, ok := h.kind.Key(last); ok {
		_, missed := old.(cache.DeletedFinalStateUnknown)
		h.session.memory.add(key, h.kind.GVK, Gone{Last: last, Watched: !missed})
	}
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
	key, ok := h.kind.Key(present)
	if !ok {
		return
	}
	h.session.lanes.changed(key)
	delay := h.session.options.Coalesce
	if h.kind.Soon == nil || h.kind.Soon(old, now) {
		delay = 0
	}
	h.session.signal.Send(key, delay)
}

func object(obj any) client.Object {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, _ := obj.(client.Object)
	return o
}
