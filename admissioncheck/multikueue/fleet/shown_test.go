package fleet

import (
	"testing"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An informer takes an object out of its store before it tells anybody: who looks in between shall see the object, or what is
// remembered of it.
func TestWhatGoesIsSeenUntilItIsRemembered(t *testing.T) {
	told, goOn := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(o *Options) {
		o.Kinds[0].Soon = func(_, now client.Object) bool {
			if now != nil && now.GetName() == "blocker" {
				close(told)
				<-goOn
			}
			return true
		}
	}, "w1")
	w.make("w1", remoteWorkload("going", "hub"))
	w.connect("w1")
	w.connected("w1")
	w.make("w1", remoteWorkload("blocker", "hub"))
	<-told
	if err := w.servers["w1"].Delete(t.Context(), remoteWorkload("going", "hub")); err != nil {
		t.Fatal(err)
	}
	store := w.fleet.lookup("w1").follows(workloadKind).informer.GetStore()
	w.eventually("gone from the store", func() bool {
		_, found, _ := store.GetByKey(cache.NewObjectName("ns", "going").String())
		return !found
	})
	if _, remembered := w.fleet.Gone("w1", workloadKind, keyOf("going")); remembered || !w.sees("w1", "going") {
		t.Errorf("remembered %t, seen %t before anybody was told", remembered, w.sees("w1", "going"))
	}
	close(goOn)
	w.eventually("gone", func() bool { return !w.sees("w1", "going") })
	if gone, remembered := w.fleet.Gone("w1", workloadKind, keyOf("going")); !remembered || !gone.Watched {
		t.Errorf("it went without a memory: %+v, %t", gone, remembered)
	}
}
