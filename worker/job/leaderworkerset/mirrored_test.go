package leaderworkerset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving/servingtest"
)

func sharedKind(t *testing.T) job.Shared {
	t.Helper()
	kind, ok := Mirrored().(job.Shared)
	if !ok {
		t.Fatal("each Workload has a copy of its own")
	}
	return kind
}

// copyOf is the copy of a set that the Workload of one group makes.
func copyOf(t *testing.T, set *lwsv1.LeaderWorkerSet) *lwsv1.LeaderWorkerSet {
	t.Helper()
	copied, ok := sharedKind(t).RemoteCopy(set, job.RemoteOptions{
		Origin: "hub", Workload: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "of-one-group"}},
	}).(*lwsv1.LeaderWorkerSet)
	if !ok {
		t.Fatal("the copy is no LeaderWorkerSet")
	}
	return copied
}

func TestACopyIsForNoGroupMoreThanForAnother(t *testing.T) {
	set := newSet(func(s *lwsv1.LeaderWorkerSet) {
		s.Status.Replicas = 2
		s.Annotations = map[string]string{kueue.PrebuiltWorkloadNameKey: "forged"}
	})
	copied := copyOf(t, set)
	if got := job.PrebuiltWorkloadName(copied); got != "" || copied.Annotations[kueue.MultiKueueOriginUIDAnnotation] != string(set.UID) ||
		copied.Labels[kueue.MultiKueueOriginLabel] != "hub" || copied.Status.Replicas != 0 {
		t.Errorf("the copy is of workload %q, with %v and %v", got, copied.Labels, copied.Annotations)
	}
	for _, template := range templates(copied) {
		if len(template.Spec.SchedulingGates) != 1 || template.Spec.SchedulingGates[0].Name != kueue.AdmissionSchedulingGate {
			t.Errorf("pods have the gates %v", template.Spec.SchedulingGates)
		}
	}
	copied.UID = "uid-there"
	if here, there := sharedKind(t).FirstWorkload(set), sharedKind(t).FirstWorkload(copied); here != there {
		t.Errorf("the first group is of %s on the hub and of %s elsewhere", here, there)
	}
}

func TestACopyFollowsTheNumberOfGroups(t *testing.T) {
	sized := func(n *int32) *lwsv1.LeaderWorkerSet {
		return newSet(func(s *lwsv1.LeaderWorkerSet) { s.Spec.Replicas = n })
	}
	for _, c := range []struct {
		name        string
		here, there *int32
		changed     bool
		groups      int
	}{
		{"the same", ptr.To[int32](2), ptr.To[int32](2), false, 2},
		{"none is said, which is one", nil, ptr.To[int32](1), false, 1},
		{"more", ptr.To[int32](3), ptr.To[int32](2), true, 3},
		{"no groups", ptr.To[int32](0), ptr.To[int32](2), true, 0},
		{"nonsense", ptr.To[int32](-4), ptr.To[int32](2), true, 0},
	} {
		local, remote := sized(c.here), sized(c.there)
		if got := sharedKind(t).SyncSpec(local, remote); got != c.changed || replicas(remote) != replicas(local) || sharedKind(t).SyncSpec(local, remote) {
			t.Errorf("%s: changed %t to %d", c.name, got, replicas(remote))
		}
		if got := sharedKind(t).GroupCount(local); got != c.groups {
			t.Errorf("%s: %d groups, want %d", c.name, got, c.groups)
		}
	}
}

func TestARolloutLetsNoPodOfASetRunWhoseWorkloadsRunElsewhere(t *testing.T) {
	for controller, waits := range map[string]bool{kueue.MultiKueueControllerName: true, "example.com/other": false} {
		rolling := leaders()
		rolling.Status.CurrentRevision, rolling.Status.UpdateRevision = "r1", "r2"
		c := newCluster(t, newSet(), rolling, &kueue.AdmissionCheck{
			ObjectMeta: metav1.ObjectMeta{Name: "check"}, Spec: kueue.AdmissionCheckSpec{ControllerName: controller},
		})
		c.Settle(setName)
		for _, wl := range c.Workloads() {
			wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "check", State: kueue.CheckStateReady, LastTransitionTime: metav1.Unix(0, 0)}}
			if err := c.Status().Update(t.Context(), &wl); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Create(t.Context(), newPod(0, 0)); err != nil {
			t.Fatal(err)
		}
		c.Settle(setName)
		if got := servingtest.Find(c, &corev1.Pod{}, "llm-0"); (len(got.Spec.SchedulingGates) > 0) != waits {
			t.Errorf("with a check of %s it has the gates %v", controller, got.Spec.SchedulingGates)
		}
	}
}
