package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/fencing"
	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// clusterInfo are what the hub's cache has on a cluster: the marks, and whether its fence was found to work, see fencing.Condition.
type clusterInfo struct {
	cluster.Annotations
	fenced bool
	// identity is that of the cluster that jobs were sent to, empty if not known; exchangedAt is since when another is known to be in
	// its place, zero while none is.
	identity   types.UID
	replacedAt time.Time
}

// lookupClusterInfo reads them, once for each scope; a cluster that is not there has none.
func (r *WorkloadReconciler) lookupClusterInfo(ctx context.Context, s *workloadScope, name string) clusterInfo {
	if read, ok := s.clusterInfos[name]; ok {
		return read
	}
	found, read := &kueue.MultiKueueCluster{}, clusterInfo{Annotations: cluster.Annotations{Weight: placement.DefaultWeight}}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, found, client.UnsafeDisableDeepCopy); err == nil {
		read = clusterInfo{Annotations: cluster.ParseAnnotations(found), fenced: meta.IsStatusConditionTrue(found.Status.Conditions, fencing.Condition), identity: recordedIdentity(found)}
		if c := meta.FindStatusCondition(found.Status.Conditions, switchyard.IdentityCondition); c != nil && c.Status == metav1.ConditionFalse {
			read.replacedAt = c.LastTransitionTime.Time
		}
	}
	if s.clusterInfos == nil {
		s.clusterInfos = map[string]clusterInfo{}
	}
	s.clusterInfos[name] = read
	return read
}
