package capacity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestWithoutAReportCapacityIsEstimatedFromTheQueues(t *testing.T) {
	queue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
	group := kueue.ResourceGroup{CoveredResources: []corev1.ResourceName{"cpu"}, Flavors: []kueue.FlavorQuotas{{
		Name: "gpu", Resources: []kueue.ResourceQuota{{Name: "cpu", NominalQuota: resource.MustParse("10")}},
	}}}
	queue.Spec.ResourceGroups = []kueue.ResourceGroup{group}
	queue.Status.FlavorsReservation = []kueue.FlavorUsage{{Name: "gpu", Resources: []kueue.ResourceUsage{{Name: "cpu", Total: resource.MustParse("4")}}}}
	queue.Status.PendingWorkloads = 2
	local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu"}}
	local.Spec.ClusterQueue = "cq"
	local.Status.Conditions = []metav1.Condition{{Type: "Active", Status: metav1.ConditionFalse, Message: "no queue"}}
	got := estimate([]client.Object{queue}, []client.Object{local})
	room := got.Queues[0].Groups[0].Flavors[0]
	if room.Nominal[0] != 6000 || room.Free[0] != 6000 || room.Largest[0] != 10000 || got.Queues[0].Waiting[0].Count != 2 {
		t.Errorf("queue %+v", got.Queues[0])
	}
	if got.Locals[0].Closed != "no queue" || got.Locals[0].Queue != "cq" || !got.FlavorsUnknown {
		t.Errorf("%+v", got)
	}
	queue.Spec.CohortName = "all"
	lender := queue.DeepCopy()
	lender.Name = "lender"
	room = estimate([]client.Object{lender, queue}, nil).Queues[0].Groups[0].Flavors[0]
	if room.Nominal[0] != 6000 || room.Free[0] != 12000 || room.Potential[0] < 1<<60 {
		t.Errorf("in a cohort: %+v", room)
	}
}
