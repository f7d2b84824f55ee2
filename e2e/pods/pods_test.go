package pods

import (
	"errors"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
)

func TestPodsShareAClusterByQuota(t *testing.T) {
	s := start(t, clusters.Options{Name: "pods", Nodes: []clusters.NodePool{{Name: "cpu", Count: 2}}}, "batch/job", "pod", "deployment", "statefulset")
	for _, story := range []struct {
		name, team string
		cpus       int64
		tell       func(team)
	}{
		{"a plain pod queues, runs and finishes", "plain", 2, plainPod},
		{"a group of two roles is admitted together, and a failed pod replaced", "group", 4, group},
		{"pods that are too many go", "excess", 4, excess},
		{"a pod that is preempted is deleted", "preempted", 2, preempted},
		{"a Deployment scales within its quota", "deployment", 3, deployment},
		{"a StatefulSet is admitted whole, and scales to zero and up", "statefulset", 4, statefulSet},
		{"pods of a job that has quota are left alone", "job", 2, podsOfAJob},
		{"a tenant gets no pod to run without quota", "tenant", 2, tenant},
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(s.newTeam(t, story.team, story.cpus)) })
	}
}

func plainPod(t team) {
	t.create(t.pod("first", "2"))
	t.expectStates("1 Running")
	t.expectCondition("pod-first", kueue.WorkloadAdmitted, "True Admitted")
	t.create(t.pod("second", "2"))
	t.expectStates("1 Running, 1 waits")
	t.expectUsage("1 wait, 1 run, 2 CPUs")
	t.end("first", "0")
	t.expectCondition("pod-first", kueue.WorkloadFinished, "True Succeeded")
	t.expectStates("1 Running, 1 Succeeded")
	t.end("second", "3")
	t.expectCondition("pod-second", kueue.WorkloadFinished, "True Failed")
	t.expectUsage("0 wait, 0 run, 0 CPUs")
	for _, pod := range t.pods() {
		t.eventually("the finalizer of "+pod.Name, func() error {
			seen := &corev1.Pod{}
			err := t.Get(t.T.Context(), client.ObjectKeyFromObject(&pod), seen)
			if err == nil && len(seen.Finalizers) > 0 {
				return fmt.Errorf("it has %v", seen.Finalizers)
			}
			return err
		})
		for _, want := range []string{kueue.ManagedLabel, "kueue.x-k8s.io/podset"} {
			if pod.Labels[want] == "" {
				t.Errorf("pod %s has no label %s", pod.Name, want)
			}
		}
	}
}

func group(t team) {
	t.create(t.member("train", "driver", "1", "3"))
	t.create(t.member("train", "worker-0", "1500m", "3"))
	t.expectStates("2 waits")
	t.create(t.member("train", "worker-1", "1500m", "3"))
	t.expectStates("3 Running")
	t.expectUsage("0 wait, 1 run, 4 CPUs")
	if wl := t.workloads(); len(wl) != 1 || len(wl[0].Spec.PodSets) != 2 || wl[0].Name != "train" || len(wl[0].OwnerReferences) != 3 {
		t.Fatalf("the group's Workloads are\n%s", t.held())
	}
	t.end("worker-0", "1")
	t.expectCondition("train", kueue.WorkloadWaitingForReplacementPods, "True PodsFailed")
	t.create(t.member("train", "worker-2", "1500m", "3"))
	t.expectStates("1 Failed, 3 Running")
	t.expectCondition("train", kueue.WorkloadWaitingForReplacementPods, "False PodsReady")
	for _, name := range []string{"driver", "worker-1", "worker-2"} {
		t.end(name, "0")
	}
	t.expectCondition("train", kueue.WorkloadFinished, "True Succeeded")
	t.expectUsage("0 wait, 0 run, 0 CPUs")
}

func excess(t team) {
	for i := range 4 {
		t.create(t.member("many", fmt.Sprintf("pod-%d", i), "1", "2"))
	}
	t.expectStates("2 Running")
	t.create(t.member("many", "late", "1", "2"))
	t.eventually("the late pod", func() error {
		err := t.Get(t.T.Context(), client.ObjectKey{Namespace: t.name, Name: "late"}, &corev1.Pod{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	t.expectStates("2 Running")
	t.expectUsage("0 wait, 1 run, 2 CPUs")
}

func preempted(t team) {
	for name, value := range map[string]int32{"low": 10, "high": 100} {
		t.create(&kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: t.name + name}, Value: value})
	}
	low, high := t.pod("low", "2"), t.pod("high", "2")
	low.Labels[kueue.PriorityClassLabel], high.Labels[kueue.PriorityClassLabel] = t.name+"low", t.name+"high"
	t.create(low)
	t.expectStates("1 Running")
	t.create(high)
	t.expectStates("1 Running", "high")
	t.expectStates("", "low")
	t.expectUsage("0 wait, 1 run, 2 CPUs")
}

func deployment(t team) {
	d := t.deployment("web", 4)
	t.create(d)
	t.expectStates("1 waits, 3 Running")
	t.expectUsage("1 wait, 3 run, 3 CPUs")
	t.patch(d, func() { d.Spec.Replicas = ptr.To[int32](2) })
	t.expectStates("2 Running")
	t.expectUsage("0 wait, 2 run, 2 CPUs")
	t.patch(d, func() { d.Spec.Replicas = ptr.To[int32](3) })
	t.expectStates("3 Running")
	if err := t.Delete(t.T.Context(), d, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	t.expectStates("")
	t.expectUsage("0 wait, 0 run, 0 CPUs")
}

func statefulSet(t team) {
	t.create(t.pod("other", "2"))
	t.expectStates("1 Running")
	set := t.statefulSet("db", 3)
	t.create(set)
	t.expectStates("3 waits", "db")
	t.end("other", "0")
	t.expectStates("3 Running", "db")
	t.expectUsage("0 wait, 1 run, 3 CPUs")
	err := t.Get(t.T.Context(), client.ObjectKeyFromObject(set), set)
	if err != nil {
		t.Fatal(err)
	}
	before := set.DeepCopy()
	set.Spec.Replicas = ptr.To[int32](4)
	if err := t.Patch(t.T.Context(), set, client.MergeFrom(before)); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("scaled from 3 to 4: %v", err)
	}
	set = before
	t.patch(set, func() { set.Spec.Replicas = ptr.To[int32](0) })
	t.expectStates("", "db")
	t.expectCondition("statefulset-db", kueue.WorkloadQuotaReserved, "False OnHold")
	t.expectUsage("0 wait, 0 run, 0 CPUs")
	t.eventually("to scale up", func() error {
		if err := t.Get(t.T.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		before := set.DeepCopy()
		set.Spec.Replicas = ptr.To[int32](4)
		return t.Patch(t.T.Context(), set, client.MergeFrom(before))
	})
	t.expectStates("4 Running", "db")
	t.expectUsage("0 wait, 1 run, 4 CPUs")
	if err := t.Delete(t.T.Context(), set); err != nil {
		t.Fatal(err)
	}
	t.expectStates("", "db")
	t.expectUsage("0 wait, 0 run, 0 CPUs")
}

// podsOfAJob have a queue of their own in the template, as some tools write it.
func podsOfAJob(t team) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kueue.QueueNameLabel: queueName}}, Spec: podSpec("1"),
	}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "train", Labels: map[string]string{kueue.QueueNameLabel: queueName}},
		Spec:       batchv1.JobSpec{Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](2), Template: template},
	}
	t.create(job)
	t.expectStates("2 Running")
	t.expectUsage("0 wait, 1 run, 2 CPUs")
	for _, pod := range t.pods() {
		if pod.Labels[kueue.ManagedLabel] != "" || len(pod.Finalizers) != 1 {
			t.Errorf("pod %s of the job has labels %v and finalizers %v", pod.Name, pod.Labels, pod.Finalizers)
		}
	}
	// Whoever is not the job's controller does not speak for it.
	forged := t.pod("forged", "1")
	forged.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	forged.OwnerReferences[0].BlockOwnerDeletion = nil // for that alone kube-apiserver would refuse it
	if err := t.tenantClient().Create(t.T.Context(), forged); err != nil {
		t.Fatal(err)
	}
	t.expectUsage("1 wait, 1 run, 2 CPUs")
	t.expectStates("1 waits", "forged")
}

// errRuns tells that a pod runs that must not.
var errRuns = errors.New("it runs")
