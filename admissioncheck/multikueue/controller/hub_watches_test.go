package controller

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// startHubWatches has the reconciler told of what changes on the hub exactly as the program has: by its own wakers.
func (st *testEnv) startHubWatches(ctx context.Context, running *sync.WaitGroup) {
	wakers := st.reconciler.hubWatches()
	for _, kind := range st.reconciler.Kinds {
		wakers = append(wakers, st.reconciler.jobHubWatch(kind, false))
	}
	for _, s := range wakers {
		first, changes := st.listAndWatch(ctx, s.object)
		o := &fakeInformer{watch: s, queue: st.queue, seen: map[client.ObjectKey]client.Object{}}
		for _, obj := range first {
			o.handleEvent(ctx, watch.Added, obj, true)
		}
		running.Go(func() {
			for e := range changes.ResultChan() {
				if obj, ok := e.Object.(client.Object); ok {
					o.handleEvent(ctx, e.Type, obj, false)
				}
			}
		})
		running.Go(func() {
			<-ctx.Done()
			changes.Stop()
		})
	}
}

// listAndWatch begins to watch before it lists: what changes in between is told twice, and not lost.
func (st *testEnv) listAndWatch(ctx context.Context, of client.Object) ([]client.Object, watch.Interface) {
	gvk, err := apiutil.GVKForObject(of, st.hub.Scheme())
	if err != nil {
		st.t.Fatal(err)
	}
	made, err := st.hub.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		st.t.Fatal(err)
	}
	list, ok := made.(client.ObjectList)
	if !ok {
		st.t.Fatalf("%T is no list", made)
	}
	changes, err := st.hub.Watch(ctx, list)
	if err != nil {
		st.t.Fatal(err)
	}
	if err := st.hub.List(ctx, list); err != nil {
		st.t.Fatal(err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		st.t.Fatal(err)
	}
	var first []client.Object
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			first = append(first, obj)
		}
	}
	return first, changes
}

// fakeInformer passes changes on to a waker, each with what was seen before it, as an informer does.
type fakeInformer struct {
	watch hubWatch
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	seen  map[client.ObjectKey]client.Object
}

func (o *fakeInformer) handleEvent(ctx context.Context, change watch.EventType, obj client.Object, first bool) {
	key, tell := client.ObjectKeyFromObject(obj), handler.EnqueueRequestsFromMapFunc(o.watch.mapFunc)
	old := o.seen[key]
	obj, _ = obj.DeepCopyObject().(client.Object)
	obj.SetGeneration(generationAfter(old, obj))
	o.seen[key] = obj
	switch {
	case change == watch.Deleted:
		delete(o.seen, key)
		if e := (event.DeleteEvent{Object: obj}); o.watch.predicate.Delete(e) {
			tell.Delete(ctx, e, o.queue)
		}
	case old == nil:
		if e := (event.CreateEvent{Object: obj, IsInInitialList: first}); o.watch.predicate.Create(e) {
			tell.Create(ctx, e, o.queue)
		}
	default:
		if e := (event.UpdateEvent{ObjectOld: old, ObjectNew: obj}); o.watch.predicate.Update(e) {
			tell.Update(ctx, e, o.queue)
		}
	}
}

// generationAfter counts what API servers count and in-memory ones do not: changes of a spec, and that a deletion began.
func generationAfter(old, obj client.Object) int64 {
	switch {
	case old == nil:
		return 1
	case old.GetDeletionTimestamp().IsZero() != obj.GetDeletionTimestamp().IsZero() || !reflect.DeepEqual(specOf(old), specOf(obj)):
		return old.GetGeneration() + 1
	}
	return old.GetGeneration()
}

// specOf is what of an object is neither metadata nor status.
func specOf(obj client.Object) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		panic(err)
	}
	maps.DeleteFunc(fields, func(name string, _ any) bool { return name == "metadata" || name == "status" })
	return fields
}

func TestAJobThatBecomesIdleRequeuesItsWorkloadAndOtherCountsDoNot(t *testing.T) {
	was, ending, is := &batchv1.Job{}, &batchv1.Job{}, &batchv1.Job{}
	was.Status.Active = 1
	ending.Status.Terminating = ptr.To(int32(1))
	for _, tc := range []struct {
		name     string
		old, now *batchv1.Job
		want     bool
	}{
		{"it became idle", was, is, true},
		{"it became active", is, was, false},
		{"it stays active", was, was, false},
		{"its pods are being terminated", was, ending, false},
		{"its last pods were terminated", ending, is, true},
	} {
		if got := (&WorkloadReconciler{}).jobHubWatch(batchJobKind(t), false).predicate.Update(event.UpdateEvent{ObjectOld: tc.old, ObjectNew: tc.now}); got != tc.want {
			t.Errorf("%s: %t, want %t", tc.name, got, tc.want)
		}
	}
}
