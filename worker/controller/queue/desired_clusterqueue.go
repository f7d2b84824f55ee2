package queue

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/podrequests"
	"switchyard.dev/worker/view"
)

// desiredClusterQueue returns the queue as it should be: its status from the view, and without the finalizer when it is being
// deleted and no workload holds its quota. That the view calls it terminating matters: before, a cycle could still admit a
// workload.
func desiredClusterQueue(cq *kueue.ClusterQueue, s view.ClusterQueueStatus, now time.Time) *kueue.ClusterQueue {
	out := cq.DeepCopy()
	if !cq.DeletionTimestamp.IsZero() && s.Reason == kueue.ReasonTerminating && s.Reserving == 0 {
		controllerutil.RemoveFinalizer(out, kueue.ResourceInUseFinalizer)
	}
	out.Status.PendingWorkloads = ClampCount(s.Pending)
	out.Status.ReservingWorkloads = ClampCount(s.Reserving)
	out.Status.AdmittedWorkloads = ClampCount(s.Admitted)
	out.Status.FlavorsReservation = clusterQueueFlavors(s.Reserved)
	out.Status.FlavorsUsage = clusterQueueFlavors(s.Used)
	meta.SetStatusCondition(&out.Status.Conditions, view.ActiveCondition(s.Activity, cq.Generation, now))
	return out
}

// clusterQueueFlavors converts flavor counters into the form of the status, in their order.
func clusterQueueFlavors(list []admission.FlavorStatus) []kueue.FlavorUsage {
	var out []kueue.FlavorUsage
	for _, f := range GroupByFlavor(list) {
		usage := kueue.FlavorUsage{Name: kueue.ResourceFlavorReference(f.Name)}
		for _, r := range f.Resources {
			usage.Resources = append(usage.Resources, kueue.ResourceUsage{
				Name:     corev1.ResourceName(r.Resource),
				Total:    podrequests.ToQuantity(r.Resource, r.Total),
				Borrowed: podrequests.ToQuantity(r.Resource, r.Borrowed),
			})
		}
		out = append(out, usage)
	}
	return out
}
