package queue

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/usage"
	"switchyard.dev/worker/podrequests"
	"switchyard.dev/worker/view"
)

// desiredLocalQueue returns the queue with the status that the view gives it.
func desiredLocalQueue(lq *kueue.LocalQueue, s view.LocalQueueStatus, u view.RecentUsage, now time.Time) *kueue.LocalQueue {
	out := lq.DeepCopy()
	out.Status.PendingWorkloads = ClampCount(s.Pending)
	out.Status.ReservingWorkloads = ClampCount(s.Reserving)
	out.Status.AdmittedWorkloads = ClampCount(s.Admitted)
	out.Status.FlavorsReservation = localQueueFlavors(s.Reserved)
	out.Status.FlavorsUsage = localQueueFlavors(s.Used)
	switch {
	case !u.Enabled:
		out.Status.FairSharing = nil
	case u.Known && s.Active:
		out.Status.FairSharing = fairSharingStatus(lq.Status.FairSharing, u.LocalQueueUsage)
	}
	meta.SetStatusCondition(&out.Status.Conditions, view.ActiveCondition(s.Activity, lq.Generation, now))
	return out
}

// fairSharingStatus is the status of admission fair sharing, whatever the ClusterQueue orders by (contract: messages.md 5.8). As long as
// nothing is left of what was consumed, the time of the last sample is not worth a write.
func fairSharingStatus(was *kueue.LocalQueueFairSharingStatus, account usage.LocalQueueUsage) *kueue.LocalQueueFairSharingStatus {
	is := &kueue.AdmissionFairSharingStatus{
		ConsumedResources: corev1.ResourceList{}, LastUpdate: metav1.NewTime(account.SampledAt.Truncate(time.Second)),
	}
	for _, c := range account.Consumed {
		is.ConsumedResources[corev1.ResourceName(c.Resource)] = consumedQuantity(c)
	}
	if was != nil && was.AdmissionFairSharingStatus != nil && !account.HasConsumed() &&
		equality.Semantic.DeepEqual(was.AdmissionFairSharingStatus.ConsumedResources, is.ConsumedResources) {
		is.LastUpdate = was.AdmissionFairSharingStatus.LastUpdate
	}
	return &kueue.LocalQueueFairSharingStatus{AdmissionFairSharingStatus: is}
}

// consumedQuantity keeps thousandths of devices, which a small queue's usage decays through, but no fractions of bytes.
func consumedQuantity(c usage.Consumed) resource.Quantity {
	whole := podrequests.ToQuantity(c.Resource, 0)
	if whole.Format == resource.BinarySI {
		return *resource.NewQuantity(int64(c.Milli/1000), resource.BinarySI)
	}
	return *resource.NewMilliQuantity(int64(c.Milli), resource.DecimalSI)
}

// localQueueFlavors converts flavor counters into the form of the status, in their order. A LocalQueue's have nothing
// borrowed.
func localQueueFlavors(list []admission.FlavorStatus) []kueue.LocalQueueFlavorUsage {
	var out []kueue.LocalQueueFlavorUsage
	for _, f := range GroupByFlavor(list) {
		usage := kueue.LocalQueueFlavorUsage{Name: kueue.ResourceFlavorReference(f.Name)}
		for _, r := range f.Resources {
			usage.Resources = append(usage.Resources, kueue.LocalQueueResourceUsage{
				Name: corev1.ResourceName(r.Resource), Total: podrequests.ToQuantity(r.Resource, r.Total),
			})
		}
		out = append(out, usage)
	}
	return out
}
