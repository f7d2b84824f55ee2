package leaderworkerset

import (
	"k8s.io/utils/ptr"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// Mirrored is by what a hub runs sets on other clusters. All groups of a set run on one, by one copy of the set, whose size follows the hub's.
func Mirrored() job.Integration {
	return serving.NewMirrored(Kind(), serving.Mirror[*lwsv1.LeaderWorkerSet]{
		Copy: func(s *lwsv1.LeaderWorkerSet) *lwsv1.LeaderWorkerSet {
			return &lwsv1.LeaderWorkerSet{ObjectMeta: *s.ObjectMeta.DeepCopy(), Spec: *s.Spec.DeepCopy()}
		},
		Templates: templates,
		IsReady:   func(s *lwsv1.LeaderWorkerSet) bool { return s.Status.ReadyReplicas >= replicas(s) },
		HoldsPods: func(*lwsv1.LeaderWorkerSet) bool { return true }, // its status does not say which state of the set it is of
		Strip: func(s *lwsv1.LeaderWorkerSet) {
			s.Spec = lwsv1.LeaderWorkerSetSpec{Replicas: s.Spec.Replicas}
		},
		SyncSpec:   syncReplicas,
		GroupCount: func(s *lwsv1.LeaderWorkerSet) int { return int(replicas(s)) },
		GroupName:  groupName,
	})
}

// syncReplicas makes the copy have as many groups as the hub's set. Groups without a Workload there wait.
func syncReplicas(local, remote *lwsv1.LeaderWorkerSet) bool {
	if replicas(local) == replicas(remote) {
		return false
	}
	remote.Spec.Replicas = ptr.To(replicas(local))
	return true
}
