package show

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pods is the table of a job's pods on a cluster.
func Pods(pods []corev1.Pod, cluster string, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: append(plain("Name", "Ready", "Status", "Restarts", "Age", "Cluster"), column("Node", wide))}
	for i := range pods {
		p := &pods[i]
		ready, restarts := 0, int64(0)
		for _, c := range p.Status.ContainerStatuses {
			restarts += int64(c.RestartCount)
			if c.Ready {
				ready++
			}
		}
		table.Rows = append(table.Rows, row(p.Name, fmt.Sprintf("%d/%d", ready, len(p.Spec.Containers)), phase(p), restarts,
			age(now, p.CreationTimestamp), cluster, orNone(p.Spec.NodeName)))
	}
	return table
}

// phase is the pod's phase, or the reason of its first container that cannot go on.
func phase(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			return c.State.Waiting.Reason
		case c.State.Terminated != nil && c.State.Terminated.Reason != "":
			return c.State.Terminated.Reason
		}
	}
	return string(p.Status.Phase)
}
