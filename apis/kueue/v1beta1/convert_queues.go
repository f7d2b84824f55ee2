package v1beta1

import (
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"switchyard.dev/apis/kueue/v1beta2"
)

// ConvertTo writes the queue into a *v1beta2.LocalQueue, sharing memory. The list
// of flavors is dropped.
func (q *LocalQueue) ConvertTo(hub conversion.Hub) error {
	to := hub.(*v1beta2.LocalQueue)
	to.ObjectMeta = q.ObjectMeta
	to.Spec = q.Spec
	to.Status = v1beta2.LocalQueueStatus{
		Conditions:         q.Status.Conditions,
		PendingWorkloads:   q.Status.PendingWorkloads,
		ReservingWorkloads: q.Status.ReservingWorkloads,
		AdmittedWorkloads:  q.Status.AdmittedWorkloads,
		FlavorsReservation: q.Status.FlavorsReservation,
		FlavorsUsage:       q.Status.FlavorUsage,
		FairSharing:        q.Status.FairSharing,
	}
	return nil
}

// ConvertFrom reads the queue from a *v1beta2.LocalQueue, sharing memory.
func (q *LocalQueue) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*v1beta2.LocalQueue)
	q.ObjectMeta = from.ObjectMeta
	q.Spec = from.Spec
	q.Status = LocalQueueStatus{
		Conditions:         from.Status.Conditions,
		PendingWorkloads:   from.Status.PendingWorkloads,
		ReservingWorkloads: from.Status.ReservingWorkloads,
		AdmittedWorkloads:  from.Status.AdmittedWorkloads,
		FlavorsReservation: from.Status.FlavorsReservation,
		FlavorUsage:        from.Status.FlavorsUsage,
		FairSharing:        from.Status.FairSharing,
	}
	return nil
}

// ConvertTo writes the cohort into a *v1beta2.Cohort, sharing memory. The history
// of its use is dropped.
func (c *Cohort) ConvertTo(hub conversion.Hub) error {
	to := hub.(*v1beta2.Cohort)
	to.ObjectMeta = c.ObjectMeta
	to.Spec = v1beta2.CohortSpec{
		ParentName:     c.Spec.ParentName,
		ResourceGroups: each(c.Spec.ResourceGroups, groupToHub),
		FairSharing:    c.Spec.FairSharing,
	}
	to.Status = v1beta2.CohortStatus{FairSharing: shareToHub(c.Status.FairSharing)}
	return nil
}

// ConvertFrom reads the cohort from a *v1beta2.Cohort, sharing memory.
func (c *Cohort) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*v1beta2.Cohort)
	c.ObjectMeta = from.ObjectMeta
	c.Spec = CohortSpec{
		ParentName:     from.Spec.ParentName,
		ResourceGroups: each(from.Spec.ResourceGroups, groupFromHub),
		FairSharing:    from.Spec.FairSharing,
	}
	c.Status = CohortStatus{FairSharing: shareFromHub(from.Status.FairSharing)}
	return nil
}

func shareToHub(share *FairSharingStatus) *v1beta2.FairSharingStatus {
	if share == nil {
		return nil
	}
	return &v1beta2.FairSharingStatus{WeightedShare: share.WeightedShare}
}

func shareFromHub(share *v1beta2.FairSharingStatus) *FairSharingStatus {
	if share == nil {
		return nil
	}
	return &FairSharingStatus{WeightedShare: share.WeightedShare}
}
