package kubeflow

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/worker/job/kubeflow/status"
)

// said is what the operator has said of the job.
func (p parts) said() status.Status {
	s := status.Status{
		Suspended: p.suspended(),
		Times:     []*metav1.Time{p.status.StartTime, p.status.CompletionTime, p.status.LastReconcileTime},
	}
	for _, replicas := range p.status.ReplicaStatuses {
		s.Active = s.Active || replicas != nil && replicas.Active != 0
	}
	for i := range p.status.Conditions {
		c := &p.status.Conditions[i]
		s.Conditions = append(s.Conditions, status.Condition{
			Type: string(c.Type), Status: c.Status, Message: c.Message, Updated: c.LastUpdateTime, Transitioned: c.LastTransitionTime,
		})
	}
	return s
}
