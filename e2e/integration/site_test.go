package integration

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// condition renders a condition as "<status> <reason> <message>", or "" when there is none.
func condition(conditions []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
}

// connected renders the hub's condition Active of a worker.
func connected(ctx context.Context, name string) (string, error) {
	cluster := &kueue.MultiKueueCluster{}
	err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster)
	return condition(cluster.Status.Conditions, kueue.MultiKueueClusterActive), err
}

// checkActive renders the condition Active of an AdmissionCheck on the hub.
func checkActive(ctx context.Context, name string) (string, error) {
	check := &kueue.AdmissionCheck{}
	err := hub.Get(ctx, client.ObjectKey{Name: name}, check)
	return condition(check.Status.Conditions, kueue.AdmissionCheckActive), err
}
