package workload

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestWhoPlaysTheOwnerOfAWorkload(t *testing.T) {
	yes := true
	pod, set := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p"}, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "s"}
	controlling := func(ref metav1.OwnerReference) metav1.OwnerReference { ref.Controller = &yes; return ref }
	for name, c := range map[string]struct {
		owners                []metav1.OwnerReference
		group                 bool
		owned, single, byPods bool
	}{
		"nobody":                            {},
		"nobody yet, of a group":            {group: true},
		"a job":                             {owners: []metav1.OwnerReference{controlling(set)}, owned: true},
		"an owner that does not control it": {owners: []metav1.OwnerReference{set}},
		"a pod":                             {owners: []metav1.OwnerReference{controlling(pod)}, owned: true, single: true, byPods: true},
		"the only pod of a group":           {owners: []metav1.OwnerReference{pod}, group: true, owned: true, byPods: true},
		"a pod of a group that somebody else made": {owners: []metav1.OwnerReference{pod}, owned: true, byPods: true},
		"a set of pods": {owners: []metav1.OwnerReference{set}, group: true, owned: true},
	} {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{OwnerReferences: c.owners}}
		if c.group {
			wl.Annotations = map[string]string{kueue.IsGroupWorkloadAnnotation: "true"}
		}
		if got := HasOwner(wl); got != c.owned {
			t.Errorf("%s: owned %v", name, got)
		}
		if got := IsSinglePod(wl); got != c.single || State(wl).SinglePod != c.single {
			t.Errorf("%s: single pod %v", name, got)
		}
		if got := HasPodOwners(wl); got != c.byPods {
			t.Errorf("%s: owned by pods %v", name, got)
		}
	}
}

func TestAGroupThatMissesPodsDoesNotQueue(t *testing.T) {
	wl := &kueue.Workload{}
	wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadWaitingForReplacementPods, Status: metav1.ConditionTrue}}
	if MayQueue(wl) {
		t.Error("it queues")
	}
	wl.Status.Conditions[0].Status = metav1.ConditionFalse
	if !MayQueue(wl) {
		t.Error("it does not queue again")
	}
}
