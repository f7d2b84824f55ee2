package serving_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/worker/job/serving"
)

// delays is a work queue that notes what is to be added later.
type delays struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	later map[string]time.Duration
}

func (d *delays) AddAfter(req reconcile.Request, after time.Duration) { d.later[req.Name] = after }

func TestEventsAboutPodsAreGathered(t *testing.T) {
	h := serving.Batched(func(obj client.Object) (types.NamespacedName, bool) {
		return types.NamespacedName{Name: obj.GetLabels()["of"]}, obj.GetLabels()["of"] != ""
	})
	pod := func(of string) client.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"of": of}}}
	}
	q := &delays{later: map[string]time.Duration{}}
	h.Create(context.Background(), event.CreateEvent{Object: pod("created")}, q)
	h.Update(context.Background(), event.UpdateEvent{ObjectOld: pod(""), ObjectNew: pod("updated")}, q)
	h.Delete(context.Background(), event.DeleteEvent{Object: pod("deleted")}, q)
	h.Create(context.Background(), event.CreateEvent{Object: pod("")}, q)
	for _, name := range []string{"created", "updated", "deleted"} {
		if q.later[name] != time.Second {
			t.Errorf("%s: looked at after %v", name, q.later[name])
		}
	}
	if len(q.later) != 3 {
		t.Errorf("looks at %v", q.later)
	}
}
