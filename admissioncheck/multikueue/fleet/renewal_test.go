package fleet

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

var (
	flavorGVK = kueue.GroupVersion.WithKind("ResourceFlavor")
	flavorKey = types.NamespacedName{Name: "one"}
)

// renewalTimeout is how long an object counts in these tests: no step of a clock that only lets something happen comes near it.
const renewalTimeout = 1000 * time.Hour

// newRenewalEnv is a world in which queues are followed where no flavor is renewed.
func newRenewalEnv(t *testing.T) (*testEnv, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(noon)
	w := newTestEnv(t, func(o *Options) {
		flavors, stand := WatchedKind{
			GVK: flavorGVK, AllOrigins: true, WorkloadKey: noWorkload, RenewalTimeout: renewalTimeout,
			New:     func() client.Object { return &kueue.ResourceFlavor{} },
			NewList: func() client.ObjectList { return &kueue.ResourceFlavorList{} },
		}, clusterQueueKind()
		stand.FallbackFor = flavorGVK
		o.Kinds, o.Clock = append(o.Kinds, flavors, stand), clock
		o.ProbeInterval = renewalTimeout // a clock that is set forward goes through every tick
	}, "w1")
	return w, clock
}

func (w *testEnv) isWatched(kind string) bool {
	_, served := w.fleet.Get("w1", kueue.GroupVersion.WithKind(kind), types.NamespacedName{Name: "any"})
	return served
}

func newFlavor() *kueue.ResourceFlavor {
	flavor := &kueue.ResourceFlavor{}
	flavor.Name = flavorKey.Name
	return flavor
}

func TestAKindStandsInForOneOfWhichThereIsNone(t *testing.T) {
	w, clock := newRenewalEnv(t)
	w.connect("w1")
	w.waitConnected("w1")
	if !w.isWatched("ClusterQueue") {
		t.Fatal("not followed")
	}
	w.eventually("flavors are watched", func() bool { return w.servers["w1"].addWatches(0) >= 3 })
	w.create("w1", newFlavor())
	w.eventually("no longer followed", func() bool { clock.Step(time.Minute); return !w.isWatched("ClusterQueue") })
}

func TestAKindStandsInForOneThatNobodyRenews(t *testing.T) {
	w, clock := newRenewalEnv(t)
	w.create("w1", newFlavor())
	w.connect("w1")
	w.waitConnected("w1")
	w.eventually("flavors are watched", func() bool { return w.servers["w1"].addWatches(0) >= 2 })
	if w.isWatched("ClusterQueue") || w.fleet.GetFresh("w1", flavorGVK, flavorKey) == nil {
		t.Fatal("a flavor that was just seen does not count")
	}
	clock.Step(renewalTimeout)
	if w.fleet.GetFresh("w1", flavorGVK, flavorKey) != nil {
		t.Error("a flavor that nobody renews counts for ever")
	}
	if obj, _ := w.fleet.Get("w1", flavorGVK, flavorKey); obj == nil {
		t.Error("it cannot be seen any more")
	}
	w.eventually("followed", func() bool { clock.Step(time.Minute); return w.isWatched("ClusterQueue") })
	flavor := newFlavor()
	if err := w.servers["w1"].Get(context.Background(), flavorKey, flavor); err != nil {
		t.Fatal(err)
	}
	flavor.Labels = map[string]string{"renewed": "yes"}
	if err := w.servers["w1"].Update(context.Background(), flavor); err != nil {
		t.Fatal(err)
	}
	w.eventually("it counts again", func() bool { return w.fleet.GetFresh("w1", flavorGVK, flavorKey) != nil })
	w.eventually("no longer followed", func() bool { clock.Step(time.Minute); return !w.isWatched("ClusterQueue") })
}

func TestANewConnectionRenewsNothing(t *testing.T) {
	w, clock := newRenewalEnv(t)
	w.create("w1", newFlavor())
	w.connect("w1")
	w.waitConnected("w1")
	w.eventually("the flavor is seen", func() bool { return w.fleet.GetFresh("w1", flavorGVK, flavorKey) != nil })
	clock.Step(renewalTimeout)
	w.fleet.Connect("w1", Credentials{Config: &rest.Config{Host: "w1"}, Fingerprint: "another"})
	w.eventually("connected anew", func() bool {
		state := w.state("w1")
		return state.Connected && state.Fingerprint == "another"
	})
	if w.fleet.GetFresh("w1", flavorGVK, flavorKey) != nil || !w.isWatched("ClusterQueue") {
		t.Error("it counts again")
	}
}
