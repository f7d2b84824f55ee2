package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// Mirrored is by what a hub runs sets on other clusters.
func Mirrored() job.Integration {
	return serving.NewMirrored(Kind(), serving.Mirror[*appsv1.StatefulSet]{
		Copy: func(s *appsv1.StatefulSet) *appsv1.StatefulSet {
			return &appsv1.StatefulSet{ObjectMeta: *s.ObjectMeta.DeepCopy(), Spec: *s.Spec.DeepCopy()}
		},
		Templates: templates,
		IsReady: func(s *appsv1.StatefulSet) bool {
			return s.Status.ObservedGeneration >= s.Generation && s.Status.ReadyReplicas >= replicas(s)
		},
		HoldsPods: holdsPods,
		Strip:     func(s *appsv1.StatefulSet) { s.Spec = appsv1.StatefulSetSpec{Replicas: s.Spec.Replicas} },
	})
}

// holdsPods tells whether the set may have pods: its controller counts those that are being terminated, and says for which state of the set.
func holdsPods(s *appsv1.StatefulSet) bool {
	return s.Status.Replicas > 0 || s.Status.ObservedGeneration < s.Generation
}
