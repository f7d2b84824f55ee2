package fleet

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// podKind plays a kind of job that comes and goes.
func podKind() WatchedKind {
	return WatchedKind{
		GVK:         corev1.SchemeGroupVersion.WithKind("Pod"),
		New:         func() client.Object { return &corev1.Pod{} },
		NewList:     func() client.ObjectList { return &corev1.PodList{} },
		WorkloadKey: func(o client.Object) (types.NamespacedName, bool) { return keyOf("of-" + o.GetName()), true },
	}
}

func remotePod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: keyOf(name).Namespace, Name: name, Labels: map[string]string{kueue.MultiKueueOriginLabel: "hub"}}}
}

func (w *testEnv) hasPod(cluster, name string) bool {
	obj, _ := w.fleet.Get(cluster, podKind().GVK, keyOf(name))
	return obj != nil
}

func (w *testEnv) clustersOf(name string) []string {
	return w.fleet.ClustersFor(keyOf("of-"+name), workloadGVK, podKind().GVK, keyOf(name))
}

func TestAKindThatIsAddedIsFollowedOnConnectedClustersUntilItIsRemoved(t *testing.T) {
	w := newTestEnv(t, nil, "w1", "w2")
	w.connect("w1")
	w.waitConnected("w1")
	w.create("w1", remotePod("there"))
	watches := w.servers["w1"].addWatches(0)
	if w.fleet.KnowsKind("w1", podKind().GVK) || w.hasPod("w1", "there") {
		t.Fatal("a kind is followed that nobody has added")
	}
	w.fleet.AddKind(podKind())
	w.fleet.AddKind(podKind())
	w.eventually("its objects are seen", func() bool { return w.fleet.KnowsKind("w1", podKind().GVK) && w.hasPod("w1", "there") })
	w.connect("w2")
	w.waitConnected("w2")
	w.eventually("one that is connected later is known to have none", func() bool { return w.fleet.KnowsKind("w2", podKind().GVK) })
	if got := w.clustersOf("there"); len(got) != 1 || got[0] != "w1" {
		t.Errorf("it is found on %q", got)
	}
	if got := w.servers["w1"].addWatches(0); got != watches+1 {
		t.Errorf("%d more watches for a kind that was added twice", got-watches)
	}

	session := w.fleet.lookup("w1").currentSession()
	kept := session.memoryUsage.bytes.Load()
	w.fleet.RemoveKind(podKind().GVK)
	w.fleet.RemoveKind(workloadGVK)
	w.eventually("nothing of it is left", func() bool {
		return !w.hasPod("w1", "there") && !w.fleet.KnowsKind("w1", podKind().GVK) && len(w.clustersOf("there")) == 0 && session.memoryUsage.bytes.Load() < kept
	})
	if len(w.fleet.AddedKinds()) != 0 || !w.fleet.KnowsKind("w1", workloadGVK) {
		t.Error("a kind stays that was removed, or one goes that the fleet was made with")
	}

	w.fleet.AddKind(podKind())
	w.eventually("its objects are seen again", func() bool { return w.hasPod("w1", "there") && len(w.clustersOf("there")) == 1 })
}

func TestAKindThatIsReplacedAtOnceIsFollowedAsItIsNow(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	w.create("w1", remotePod("there"))
	w.fleet.AddKind(podKind())
	w.eventually("its objects are seen", func() bool { return w.hasPod("w1", "there") })
	changed := podKind()
	changed.WorkloadKey = func(client.Object) (types.NamespacedName, bool) { return keyOf("another"), true }
	w.fleet.RemoveKind(changed.GVK)
	w.fleet.AddKind(changed)
	w.eventually("they belong to what they belong to now", func() bool {
		return len(w.fleet.ListForWorkload("w1", changed.GVK, keyOf("another"))) == 1
	})
}

func TestAKindThatIsAddedAndNotServedIsReportedUntilItIsServedOrRemoved(t *testing.T) {
	w := newTestEnv(t, func(o *Options) { o.ProbeInterval = time.Hour }, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	odd := podKind()
	odd.GVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Odd"}
	odd.Required = true
	w.fleet.AddKind(odd)
	w.eventually("it is reported, and the cluster stays", func() bool {
		s := w.state("w1")
		return s.Connected && len(s.Unserved) == 1 && s.Unserved[0].GVK == odd.GVK && w.fleet.KnowsKind("w1", odd.GVK)
	})
	w.fleet.RemoveKind(odd.GVK)
	w.eventually("it is reported no more", func() bool { return len(w.state("w1").Unserved) == 0 })
}

// brokenPods is an API server that does not answer when it is asked for Pods, until it is repaired.
type brokenPods struct {
	client.WithWatch
	repaired chan struct{}
}

func (s brokenPods) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*corev1.PodList); ok {
		select {
		case <-s.repaired:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.WithWatch.List(ctx, list, options...)
}

func TestAnAddedKindThatCannotBeListedDoesNotKeepTheOthersFromTheCluster(t *testing.T) {
	repaired := make(chan struct{})
	w := newTestEnv(t, func(o *Options) {
		o.ProbeTimeout = 200 * time.Millisecond
		dial := o.Dial
		o.Dial = func(c *rest.Config) (client.WithWatch, error) {
			server, err := dial(c)
			return brokenPods{server, repaired}, err
		}
	}, "w1")
	w.fleet.AddKind(podKind())
	w.connect("w1")
	w.waitConnected("w1")
	w.create("w1", remotePod("there"))
	if w.fleet.KnowsKind("w1", podKind().GVK) || len(w.state("w1").Unserved) > 0 {
		t.Error("more is known of the kind than was said")
	}
	close(repaired)
	w.eventually("its objects are seen at last", func() bool { return w.fleet.KnowsKind("w1", podKind().GVK) && w.hasPod("w1", "there") })
}

func TestWhereKindsAreAddedMoreMayBeKeptForEachWorkload(t *testing.T) {
	w := newTestEnv(t, func(o *Options) {
		o.ProbeInterval = time.Hour
		o.AffectedWorkloads = func(string) (seekers, others []types.NamespacedName) { return make([]types.NamespacedName, 1000), nil }
	}, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	session := w.fleet.lookup("w1").currentSession()
	limit := func() int64 {
		session.memoryUsage.limitComputedAt.Store(0)
		return session.memoryLimit()
	}
	before := limit()
	w.fleet.AddKind(podKind())
	if got, want := limit(), before+1000*memoryPerAddedKind; got != want {
		t.Errorf("%d bytes may be kept, want %d", got, want)
	}
	w.fleet.RemoveKind(podKind().GVK)
	if got := limit(); got != before {
		t.Errorf("%d bytes may be kept when it has gone, want %d", got, before)
	}
}

func TestItIsToldWhenItIsKnownOnAClusterWhatThereIsOfANewKind(t *testing.T) {
	w := newTestEnv(t, func(o *Options) { o.ProbeInterval = time.Hour }, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	w.mu.Lock()
	before := len(w.affected)
	w.mu.Unlock()
	var served, odd atomic.Int32
	kind := podKind()
	kind.OnKnown = func() {
		if w.fleet.KnowsKind("w1", kind.GVK) {
			served.Add(1)
		}
	}
	w.fleet.AddKind(kind)
	missing := podKind()
	missing.GVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Odd"}
	missing.OnKnown = func() {
		if len(w.state("w1").Unserved) == 1 {
			odd.Add(1)
		}
	}
	w.fleet.AddKind(missing)
	w.eventually("it is told, although there is no object of either", func() bool { return served.Load() == 1 && odd.Load() == 1 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.affected) != before {
		t.Error("Workloads of all kinds are looked at")
	}
}
