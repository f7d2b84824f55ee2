package statefulset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving/servingtest"
)

// remoteOptions are those of a copy for the Workload of the name.
func remoteOptions(workload string) job.RemoteOptions {
	return job.RemoteOptions{
		Origin: "hub", Workload: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: servingtest.Namespace, Name: workload}},
		Annotations: map[string]string{"stamp": "1"},
	}
}

func TestACopyIsTheSetWhosePodsWaitWhateverTheWebhooksDo(t *testing.T) {
	hub := newSet(func(s *appsv1.StatefulSet) {
		s.Annotations = map[string]string{"note": "kept", kueue.MultiKueueOriginUIDAnnotation: "forged"}
		s.Finalizers, s.ResourceVersion, s.Generation = []string{"example.com/hub"}, "7", 3
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Notebook", Name: "n", UID: "n-uid"}}
		s.Status.Replicas = 3
	})
	before := hub.DeepCopy()
	got := Mirrored().RemoteCopy(hub, remoteOptions("wl"))
	want := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: hub.Namespace, Name: hub.Name,
			Labels: map[string]string{kueue.QueueNameLabel: "main", kueue.MultiKueueOriginLabel: "hub"},
			Annotations: map[string]string{
				"note": "kept", "stamp": "1", kueue.PrebuiltWorkloadNameKey: "wl", kueue.MultiKueueOriginUIDAnnotation: "set-uid",
			},
		},
		Spec: *hub.Spec.DeepCopy(),
	}
	want.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, hub); diff != "" {
		t.Errorf("the hub's set was changed:\n%s", diff)
	}
	if again, ok := Mirrored().RemoteCopy(got, remoteOptions("wl")).(*appsv1.StatefulSet); !ok || len(again.Spec.Template.Spec.SchedulingGates) != 1 {
		t.Error("the pods of a copy's copy have the gate twice")
	}
}

// What the copy's pods join is the Workload that the hub has made for its set.
func TestACopyNamesTheWorkloadOfTheHubsSet(t *testing.T) {
	c := newCluster(t, newSet())
	c.Settle(setName)
	made := c.Workload()
	copied, ok := Mirrored().RemoteCopy(newSet(), remoteOptions(made.Name)).(*appsv1.StatefulSet)
	if !ok {
		t.Fatal("the copy is no StatefulSet")
	}
	copied.UID = "uid-there"
	there := newCluster(t, copied, newPod(0, func(p *corev1.Pod) { p.OwnerReferences[0].UID = copied.UID }))
	there.Settle(setName)
	if got := servingtest.Find(there, &corev1.Pod{}, "db-0").Annotations[kueue.PodGroupNameKey]; got != made.Name {
		t.Errorf("the pods are of %s, want %s", got, made.Name)
	}
	if n := len(there.Workloads()); n != 0 {
		t.Errorf("the copy got %d workloads of its own", n)
	}
}

func TestOnlyACopyShowsPods(t *testing.T) {
	onWorker := func(s *appsv1.StatefulSet) { s.Labels[kueue.MultiKueueOriginLabel] = "hub" }
	status := func(generation, observed int64, replicas int32) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) {
			s.Generation, s.Status.ObservedGeneration, s.Status.Replicas = generation, observed, replicas
		}
	}
	for _, c := range []struct {
		name string
		set  *appsv1.StatefulSet
		want bool
	}{
		{"a copy that its controller has not looked at", newSet(onWorker, status(1, 0, 0)), true},
		{"a copy with pods", newSet(onWorker, status(1, 1, 3)), true},
		{"a copy that is being deleted, as it was before", newSet(onWorker, status(2, 1, 0)), true},
		{"a copy without pods", newSet(onWorker, status(2, 2, 0)), false},
		{"the hub's own, whose pods wait", newSet(status(1, 1, 3)), false},
	} {
		if got := Mirrored().Progress(c.set); got.HoldsPods() != c.want || got.Finished != nil {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// The hub's set is served by its own controller: the two would write its status in turns.
func TestNothingOfACopyIsShown(t *testing.T) {
	hub, there := newSet(), newSet(func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 3 })
	if changed, deferred := Mirrored().CopyStatus(hub, there); changed || deferred || Mirrored().FollowsSpec() || hub.Status.ReadyReplicas != 0 {
		t.Error("the status of the copy is shown")
	}
	if managed, why := Mirrored().IsManagedByMultiKueue(hub); !managed || why != "" {
		t.Errorf("not dispatched: %s", why)
	}
}

func TestARolloutLetsNoPodOfASetRunWhoseWorkloadRunsElsewhere(t *testing.T) {
	rolling := newSet(func(s *appsv1.StatefulSet) {
		s.Generation, s.Status.ObservedGeneration = 2, 2
		s.Status.CurrentRevision, s.Status.UpdateRevision = "r1", "r2"
	})
	for controller, want := range map[string]int{kueue.MultiKueueControllerName: 3, "example.com/other": 1} {
		c := newCluster(t, rolling, &kueue.AdmissionCheck{
			ObjectMeta: metav1.ObjectMeta{Name: "check"}, Spec: kueue.AdmissionCheckSpec{ControllerName: controller},
		})
		c.Settle(setName)
		wl := c.Workload()
		wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "check", State: kueue.CheckStateReady, LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}}
		if err := c.Status().Update(t.Context(), wl); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), newPod(0)); err != nil {
			t.Fatal(err)
		}
		c.Settle(setName)
		if got := len(servingtest.Find(c, &corev1.Pod{}, "db-0").Spec.SchedulingGates); got != want {
			t.Errorf("with a check of %s it has %d gates, want %d", controller, got, want)
		}
	}
}
