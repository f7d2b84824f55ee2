package guard

import (
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/workload"
)

// leaseIndex is the index of the Workloads that would be stopped if a lease ran out, by the lease's name.
const leaseIndex = "fence.lease"

// fenceWorkload tells the fence about a hub's Workload. Only the exact stamp Stop stops: what says something else, or nothing, was
// not made by a hub that counts on it.
func fenceWorkload(wl *kueue.Workload) fence.Workload {
	return fence.Workload{
		Namespace: wl.Namespace, Name: wl.Name,
		Stop:     switchyard.OnHubLost(wl.Annotations[switchyard.OnHubLostAnnotation]) == switchyard.Stop,
		Finished: workload.IsFinished(wl),
		Stopping: !workload.IsActive(wl) || !wl.DeletionTimestamp.IsZero() ||
			meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadDeactivationTarget),
		HasQuota: workload.HasQuota(wl),
	}
}

// anyLease has, in that index, all of them.
const anyLease = "*"

// leaseIndexValues are the values of the index for a Workload.
func leaseIndexValues(object client.Object) []string {
	leases := leaseNames(object)
	if len(leases) > 0 {
		leases = append(leases, anyLease)
	}
	return leases
}

// leaseNames names the lease on which it depends whether the Workload goes on; none if nothing does.
func leaseNames(object client.Object) []string {
	wl, ok := object.(*kueue.Workload)
	if !ok || !workload.IsRemoteCopy(wl) || !fenceWorkload(wl).IsStoppable() {
		return nil
	}
	return []string{fence.LeaseName(wl.Labels[kueue.MultiKueueOriginLabel])}
}

// isHubLease tells whether the lease is that of a hub.
func isHubLease(lease client.Object) bool {
	return strings.HasPrefix(lease.GetName(), switchyard.HubLeasePrefix)
}

// readLease is what the lease says; nil if it was never renewed.
func readLease(lease *coordinationv1.Lease) *fence.Lease {
	if lease.Spec.RenewTime == nil || lease.Spec.RenewTime.IsZero() {
		return nil
	}
	r := &fence.Lease{Renewed: lease.Spec.RenewTime.Time}
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		r.Duration = time.Duration(*seconds) * time.Second
	}
	return r
}
