package workload

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/kueue/contracttest"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/kube"
)

func eventText(e kube.Event) contracttest.Said {
	kind := "Normal "
	if e.Warning {
		kind = "Warning "
	}
	return contracttest.Said{Kind: kind + e.Reason, Text: e.Note}
}

func conditionText(wl *kueue.Workload, of string) contracttest.Said {
	c := meta.FindStatusCondition(wl.Status.Conditions, of)
	if c == nil {
		return contracttest.Said{}
	}
	return contracttest.Said{Kind: c.Type + " " + string(c.Status) + " " + c.Reason, Text: c.Message}
}

func TestTextsOfAPreemption(t *testing.T) {
	got := map[string]contracttest.Said{}
	for _, because := range []admission.Reason{
		admission.InClusterQueue, admission.InCohortReclamation, admission.InCohortFairSharing, admission.InCohortReclaimWhileBorrowing,
	} {
		victim := newRunningWorkload(true)
		by := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{UID: "u-2", Labels: map[string]string{kueue.JobUIDLabel: "j-2"}}}
		Preempt(victim, Preemption{Preemptor: by, Reason: because, Queue: "ours", VictimPath: "/ours", PreemptorPath: "/org/team/theirs"}, noon)
		got[string(because)] = conditionText(victim, kueue.WorkloadPreempted)
	}
	victim, by := newRunningWorkload(true), &kueue.Workload{}
	victim.UID, victim.Spec.Priority = "u-1", ptr.To[int32](-3)
	by.Spec.Priority, by.Annotations = ptr.To[int32](10), map[string]string{kueue.PriorityBoostAnnotation: "5"}
	p := Preemption{Preemptor: by, Reason: admission.InClusterQueue, Queue: "ours", VictimPath: "/ours", PreemptorPath: "/ours", PriorityBoost: true}
	events := Preempt(victim, p, noon)
	got["evicted for somebody unknown"] = conditionText(victim, kueue.WorkloadEvicted)
	got["event of the eviction"], got["event of the preemption"] = eventText(events[0]), eventText(events[1])
	got["event of the preemptor"] = eventText(PreemptedWorkloadEvent(victim, p))
	contracttest.Compare(t, "preemption", got)
}
