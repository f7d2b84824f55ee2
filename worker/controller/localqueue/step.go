package localqueue

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
)

// step returns the queue with the status that the view gives it.
func step(lq *kueue.LocalQueue, s view.LocalQueueStanding, now time.Time) *kueue.LocalQueue {
	out := lq.DeepCopy()
	out.Status.PendingWorkloads = count(s.Pending)
	out.Status.ReservingWorkloads = count(s.Reserving)
	out.Status.AdmittedWorkloads = count(s.Admitted)
	out.Status.FlavorsReservation = usages(s.Reserved)
	out.Status.FlavorsUsage = usages(s.Used)
	meta.SetStatusCondition(&out.Status.Conditions, view.ActiveCondition(s.Activity, lq.Generation, now))
	return out
}

func count(n int) int32 { return int32(min(n, 1<<31-1)) }

// usages groups the figures by flavor, in the order given, which is that of the ClusterQueue's spec.
func usages(list []admission.FlavorStatus) []kueue.LocalQueueFlavorUsage {
	var out []kueue.LocalQueueFlavorUsage
	for _, f := range list {
		i := len(out) - 1
		if i < 0 || string(out[i].Name) != f.Flavor {
			out = append(out, kueue.LocalQueueFlavorUsage{Name: kueue.ResourceFlavorReference(f.Flavor)})
			i++
		}
		out[i].Resources = append(out[i].Resources, kueue.LocalQueueResourceUsage{
			Name: corev1.ResourceName(f.Resource), Total: view.QuantityOf(f.Resource, f.Total),
		})
	}
	return out
}
