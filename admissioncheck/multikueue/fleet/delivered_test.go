package fleet

import (
	"testing"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An informer takes an object out of its store before it calls the handlers: a reader in between shall see the object, or
// what is remembered of it.
func TestWhatGoesIsSeenUntilItIsRemembered(t *testing.T) {
	told, goOn := make(chan struct{}), make(chan struct{})
	w := newTestEnv(t, func(o *Options) {
		o.Kinds[0].IsUrgent = func(_, now client.Object) bool {
			if now != nil && now.GetName() == "blocker" {
				close(told)
				<-goOn
			}
			return true
		}
	}, "w1")
	w.create("w1", remoteWorkload("going", "hub"))
	w.connect("w1")
	w.waitConnected("w1")
	w.create("w1", remoteWorkload("blocker", "hub"))
	<-told
	if err := w.servers["w1"].Delete(t.Context(), remoteWorkload("going", "hub")); err != nil {
		t.Fatal(err)
	}
	store := w.fleet.lookup("w1").informerFor(workloadGVK).informer.GetStore()
	w.eventually("gone from the store", func() bool {
		_, found, _ := store.GetByKey(cache.NewObjectName("ns", "going").String())
		return !found
	})
	if _, remembered := w.fleet.LastDeleted("w1", workloadGVK, keyOf("going")); remembered || !w.hasWorkload("w1", "going") {
		t.Errorf("remembered %t, seen %t before anybody was told", remembered, w.hasWorkload("w1", "going"))
	}
	close(goOn)
	w.eventually("gone", func() bool { return !w.hasWorkload("w1", "going") })
	if gone, remembered := w.fleet.LastDeleted("w1", workloadGVK, keyOf("going")); !remembered || !gone.DeletionObserved {
		t.Errorf("it went without a memory: %+v, %t", gone, remembered)
	}
}
