package clusterqueue

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
)

// step returns the queue as it should be: its status from the view, and without the finalizer when it is being deleted and
// nobody holds its quota.
func step(cq *kueue.ClusterQueue, s view.ClusterQueueStanding, now time.Time) *kueue.ClusterQueue {
	out := cq.DeepCopy()
	if !cq.DeletionTimestamp.IsZero() && s.Reserving == 0 {
		controllerutil.RemoveFinalizer(out, kueue.ResourceInUseFinalizer)
	}
	out.Status.PendingWorkloads = count(s.QueueStatus.Active + s.Inadmissible)
	out.Status.ReservingWorkloads = count(s.Reserving)
	out.Status.AdmittedWorkloads = count(s.Admitted)
	out.Status.FlavorsReservation = usages(s.Reserved)
	out.Status.FlavorsUsage = usages(s.Used)
	meta.SetStatusCondition(&out.Status.Conditions, view.ActiveCondition(s.Activity, cq.Generation, now))
	return out
}

func count(n int) int32 { return int32(min(n, 1<<31-1)) }

// usages groups the figures by flavor, in the order given, which is that of the spec.
func usages(list []admission.FlavorStatus) []kueue.FlavorUsage {
	var out []kueue.FlavorUsage
	for _, f := range list {
		i := len(out) - 1
		if i < 0 || string(out[i].Name) != f.Flavor {
			out = append(out, kueue.FlavorUsage{Name: kueue.ResourceFlavorReference(f.Flavor)})
			i++
		}
		out[i].Resources = append(out[i].Resources, kueue.ResourceUsage{
			Name:     corev1.ResourceName(f.Resource),
			Total:    view.QuantityOf(f.Resource, f.Total),
			Borrowed: view.QuantityOf(f.Resource, f.Borrowed),
		})
	}
	return out
}
