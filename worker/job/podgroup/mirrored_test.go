package podgroup_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup"
)

func TestAHubsPodShowsHowItsCopyDoes(t *testing.T) {
	running := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0.1", HostIP: "10.0.0.2", NominatedNodeName: "n",
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
		},
	}
	scheduled := func(pod *corev1.Pod) string {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled {
				return string(c.Status) + " " + c.Reason
			}
		}
		return ""
	}
	for _, c := range []struct {
		name    string
		local   func(*corev1.Pod)
		remote  func(*corev1.Pod)
		changed bool
		phase   corev1.PodPhase
		sched   string
	}{
		{"it runs", nil, nil, true, corev1.PodRunning, "True "},
		{"it waits for a node there", nil, func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodPending, Message: "told", Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
			}}
		}, true, corev1.PodPending, "False SchedulingGated"},
		{"it is being deleted there", nil, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false, "", ""},
		{"somebody there has deleted it, and it has ended", nil, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Status.Phase = &metav1.Time{}, corev1.PodFailed
		}, true, corev1.PodFailed, "True "},
		{"it was told to go there, and may run elsewhere", nil, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kueue.PodTerminationTarget, Status: corev1.ConditionTrue})
		}, false, "", ""},
		{"it is being deleted here", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, nil, false, "", ""},
		{"it runs here, because somebody has taken its gate", func(p *corev1.Pod) { p.Spec.SchedulingGates = nil }, nil, false, "", ""},
		{"it has ended here", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, nil, false, corev1.PodSucceeded, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			local, remote := gatedPod(), &corev1.Pod{Status: *running.DeepCopy()}
			for _, apply := range []struct {
				to     *corev1.Pod
				change func(*corev1.Pod)
			}{{local, c.local}, {remote, c.remote}} {
				if apply.change != nil {
					apply.change(apply.to)
				}
			}
			kind := podgroup.Mirrored()
			kind.Strip(remote)
			changed, _ := kind.CopyStatus(local, remote)
			if changed != c.changed || local.Status.Phase != c.phase || scheduled(local) != c.sched {
				t.Errorf("changed: %t, %+v", changed, local.Status)
			}
			if local.Status.PodIP != "" || local.Status.HostIP != "" || local.Status.NominatedNodeName != "" || local.Status.QOSClass != corev1.PodQOSBurstable {
				t.Errorf("shows what belongs to the other cluster: %+v", local.Status)
			}
			if again, _ := kind.CopyStatus(local, remote); again {
				t.Error("copies the same again")
			}
		})
	}
}

func gatedPod() *corev1.Pod {
	return &corev1.Pod{
		Spec:   corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}}},
		Status: corev1.PodStatus{QOSClass: corev1.PodQOSBurstable},
	}
}

func TestAHubsPodsShowContainersAndWaitAgainOnceTheyRunNowhere(t *testing.T) {
	kind, local := podgroup.Mirrored(), gatedPod()
	remote := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "main", RestartCount: 2, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}}}}
	if changed, _ := kind.CopyStatus(local, remote); !changed || local.Status.ContainerStatuses[0].RestartCount != 2 {
		t.Errorf("shows %+v", local.Status.ContainerStatuses)
	}
	if changed, _ := kind.CopyStatus(local, &corev1.Pod{}); !changed || local.Status.Phase != corev1.PodPending || len(local.Status.ContainerStatuses) > 0 {
		t.Errorf("still shows %+v", local.Status)
	}
	if changed, _ := kind.CopyStatus(local, &corev1.Pod{}); changed {
		t.Error("is written again")
	}
}

func membered(t *testing.T) job.Membered {
	t.Helper()
	kind, ok := podgroup.Mirrored().(job.Membered)
	if !ok {
		t.Fatal("a Workload has one pod only")
	}
	return kind
}

func TestAPodThatIsLostHasFailedOnce(t *testing.T) {
	kind, pod := membered(t), gatedPod()
	if !kind.MarkEnded(pod, false, "lost") || pod.Status.Phase != corev1.PodFailed || pod.Status.Message != "lost" || !kind.HasEnded(pod) {
		t.Errorf("shows %+v", pod.Status)
	}
	if kind.MarkEnded(pod, true, "") {
		t.Error("ends twice")
	}
	local := gatedPod()
	local.Spec.SchedulingGates = nil
	if kind.MarkEnded(local, false, "") {
		t.Error("a pod of the hub's own nodes is ended by a dispatcher")
	}
}

func TestWhenTheRunOfAllPodsHasEnded(t *testing.T) {
	pod := func(phase corev1.PodPhase, change ...func(*corev1.Pod)) client.Object {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kueue.PodGroupTotalCountAnnotation: "2"}}, Status: corev1.PodStatus{Phase: phase}}
		for _, apply := range change {
			apply(pod)
		}
		return pod
	}
	told := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: kueue.PodTerminationTarget, Status: corev1.ConditionTrue}}
	}
	unretriable := func(p *corev1.Pod) { p.Annotations[kueue.RetriableInGroupAnnotation] = "false" }
	for _, c := range []struct {
		name  string
		pods  []client.Object
		group bool
		want  bool
	}{
		{"no pod", nil, false, false},
		{"a pod that runs", []client.Object{pod(corev1.PodRunning)}, false, false},
		{"a pod that has failed", []client.Object{pod(corev1.PodFailed)}, false, true},
		{"a pod that was told to go", []client.Object{pod(corev1.PodFailed, told)}, false, false},
		{"a group of which all have succeeded", []client.Object{pod(corev1.PodSucceeded), pod(corev1.PodSucceeded)}, true, true},
		{"a group of which one is missing", []client.Object{pod(corev1.PodSucceeded)}, true, false},
		{"a group that waits for a replacement", []client.Object{pod(corev1.PodFailed), pod(corev1.PodSucceeded)}, true, false},
		{"a group that takes none", []client.Object{pod(corev1.PodFailed, unretriable), pod(corev1.PodSucceeded)}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := membered(t).HaveEnded(c.pods, c.group); got != c.want {
				t.Errorf("has ended: %t", got)
			}
		})
	}
}

func TestPodsAreTheDispatchersWhateverTheirSpecSays(t *testing.T) {
	kind := podgroup.Mirrored()
	if managed, _ := kind.IsManagedByMultiKueue(&corev1.Pod{}); !managed || kind.ReportsOutcome() || !kind.Mirrorable() {
		t.Error("pods are not the dispatcher's")
	}
}
