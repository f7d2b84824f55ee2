package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func noWorkload(client.Object) (types.NamespacedName, bool) { return types.NamespacedName{}, false }

var clusterQueueGVK = kueue.GroupVersion.WithKind("ClusterQueue")

func clusterQueueKind() WatchedKind {
	return WatchedKind{
		GVK: clusterQueueGVK, AllOrigins: true, WorkloadKey: noWorkload,
		New:     func() client.Object { return &kueue.ClusterQueue{} },
		NewList: func() client.ObjectList { return &kueue.ClusterQueueList{} },
	}
}

func TestAKindOfAllOriginsIsSeenWhateverItsOrigin(t *testing.T) {
	w := newTestEnv(t, func(o *Options) { o.Kinds = append(o.Kinds, clusterQueueKind()) }, "w1")
	queue := &kueue.ClusterQueue{}
	queue.Name = "theirs"
	w.create("w1", queue)
	w.create("w1", remoteWorkload("foreign", "other"))
	w.connect("w1")
	w.waitConnected("w1")
	w.eventually("the queue is seen", func() bool { return len(w.fleet.List("w1", clusterQueueGVK)) == 1 })
	if w.hasWorkload("w1", "foreign") {
		t.Error("another kind is not filtered by origin any more")
	}
}

func TestAKindIsNotFollowedWhereTheOneItStandsInForIsServed(t *testing.T) {
	needless := clusterQueueKind()
	needless.FallbackFor = workloadGVK
	w := newTestEnv(t, func(o *Options) { o.Kinds = append(o.Kinds, needless) }, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	if _, served := w.fleet.Get("w1", clusterQueueGVK, types.NamespacedName{Name: "any"}); served {
		t.Error("followed")
	}
	if got := w.state("w1").Unserved; len(got) != 0 {
		t.Errorf("reported as not served: %+v", got)
	}
}

func TestAKindStandsInForOneThatIsNotServed(t *testing.T) {
	reports, stand := clusterQueueKind(), clusterQueueKind()
	reports.GVK.Kind = "Nothing"
	stand.FallbackFor = reports.GVK
	w := newTestEnv(t, func(o *Options) { o.Kinds = append(o.Kinds, reports, stand) }, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	if _, served := w.fleet.Get("w1", clusterQueueGVK, types.NamespacedName{Name: "any"}); !served {
		t.Error("not followed")
	}
	if got := w.state("w1").Unserved; len(got) != 0 {
		t.Errorf("reported as not served: %+v", got)
	}
}
