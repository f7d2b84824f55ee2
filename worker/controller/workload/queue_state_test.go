package workload

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestQueueStateChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*kueue.ClusterQueue)
		want   bool
	}{
		{"its counters move with every admission", func(q *kueue.ClusterQueue) { q.Status.AdmittedWorkloads = 7 }, false},
		{"its quota is the scheduler's business", func(q *kueue.ClusterQueue) { q.Spec.CohortName = "other" }, false},
		{"it is stopped", func(q *kueue.ClusterQueue) { q.Spec.StopPolicy = kueue.Hold }, true},
		{"it asks for another check", func(q *kueue.ClusterQueue) {
			q.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "a"}}}
		}, true},
		{"it becomes active", func(q *kueue.ClusterQueue) {
			meta.SetStatusCondition(&q.Status.Conditions, metav1.Condition{Type: kueue.ClusterQueueActive, Status: metav1.ConditionTrue})
		}, true},
		{"it is being deleted", func(q *kueue.ClusterQueue) { now := metav1.Now(); q.DeletionTimestamp = &now }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
			after := before.DeepCopy()
			c.change(after)
			if got := queueStateChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
				t.Errorf("looked at: %v, want %v", got, c.want)
			}
		})
	}
}
