package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func ofNobody(client.Object) (types.NamespacedName, bool) { return types.NamespacedName{}, false }

var queueKind = kueue.GroupVersion.WithKind("ClusterQueue")

func queues() Kind {
	return Kind{
		GVK: queueKind, Everything: true, Key: ofNobody,
		New:     func() client.Object { return &kueue.ClusterQueue{} },
		NewList: func() client.ObjectList { return &kueue.ClusterQueueList{} },
	}
}

func TestAKindOfEverythingIsSeenWhateverItsOrigin(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Kinds = append(o.Kinds, queues()) }, "w1")
	queue := &kueue.ClusterQueue{}
	queue.Name = "theirs"
	w.make("w1", queue)
	w.make("w1", remoteWorkload("foreign", "other"))
	w.connect("w1")
	w.connected("w1")
	w.eventually("the queue is seen", func() bool { return len(w.fleet.List("w1", queueKind)) == 1 })
	if w.sees("w1", "foreign") {
		t.Error("another kind is not filtered by origin any more")
	}
}

func TestAKindIsNotFollowedWhereTheOneItStandsInForIsServed(t *testing.T) {
	needless := queues()
	needless.Unless = workloadKind
	w := newWorld(t, func(o *Options) { o.Kinds = append(o.Kinds, needless) }, "w1")
	w.connect("w1")
	w.connected("w1")
	if _, served := w.fleet.Get("w1", queueKind, types.NamespacedName{Name: "any"}); served {
		t.Error("followed")
	}
	if got := w.state("w1").Unserved; len(got) != 0 {
		t.Errorf("reported as not served: %+v", got)
	}
}

func TestAKindStandsInForOneThatIsNotServed(t *testing.T) {
	reports, stand := queues(), queues()
	reports.GVK.Kind = "Nothing"
	stand.Unless = reports.GVK
	w := newWorld(t, func(o *Options) { o.Kinds = append(o.Kinds, reports, stand) }, "w1")
	w.connect("w1")
	w.connected("w1")
	if _, served := w.fleet.Get("w1", queueKind, types.NamespacedName{Name: "any"}); !served {
		t.Error("not followed")
	}
	if got := w.state("w1").Unserved; len(got) != 0 {
		t.Errorf("reported as not served: %+v", got)
	}
}
