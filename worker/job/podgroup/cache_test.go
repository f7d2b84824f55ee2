package podgroup_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/podgroup"
)

// full is a pod with all that a cluster puts on it.
func full(name string) *corev1.Pod {
	pod := member(name, 100)
	pod.Annotations["example.com/note"] = "long"
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(strings.Repeat("x", 2000))}}
	token := "kube-api-access-" + name
	pod.Spec.ServiceAccountName, pod.Spec.SchedulerName, pod.Spec.DNSPolicy = "default", "default-scheduler", corev1.DNSClusterFirst
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}, {ConfigMap: &corev1.ConfigMapProjection{}}, {DownwardAPI: &corev1.DownwardAPIProjection{}},
		}}}},
	}
	for i := range 2 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("side%d", i), Image: "registry.example.com/side:1", Command: []string{"run"}, TerminationMessagePath: "/dev/termination-log",
			Env: []corev1.EnvVar{{Name: "A", Value: "a"}, {Name: "B", Value: "b"}, {Name: "C", Value: "c"}},
		})
	}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: token, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/not-ready"}, {Key: "node.kubernetes.io/unreachable"}}
	pod.Status.Message = "m"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled}, {Type: corev1.PodReady}, {Type: kueue.PodTerminationTarget}, {Type: corev1.ContainersReady}}
	pod.Status.ContainerStatuses = make([]corev1.ContainerStatus, 3)
	return pod
}

func TestTheCacheKeepsLittleOfAPod(t *testing.T) {
	conditions := []corev1.PodCondition{{Type: corev1.PodReady}, {Type: kueue.PodTerminationTarget}}

	waits := podgroup.Strip(full("a1"))
	want := full("a1")
	want.ManagedFields = nil
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("a pod that waits (-want +got):\n%s", diff)
	}

	running := full("a1")
	running.Spec.SchedulingGates, running.Spec.NodeName, running.Status.Phase = nil, "n", corev1.PodRunning
	running = podgroup.Strip(running)
	want.Spec = corev1.PodSpec{NodeName: "n"}
	want.Status = corev1.PodStatus{Phase: corev1.PodRunning, Message: "m", Conditions: conditions}
	delete(want.Annotations, "example.com/note")
	if diff := cmp.Diff(want, running); diff != "" {
		t.Errorf("a pod that runs (-want +got):\n%s", diff)
	}

	unmanaged := full("a1")
	unmanaged.Labels = map[string]string{"app": "web"}
	want = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a1", UID: "a1-uid"}}
	if diff := cmp.Diff(want, podgroup.Strip(unmanaged)); diff != "" {
		t.Errorf("a pod that is nobody's (-want +got):\n%s", diff)
	}
}

func TestEqualPodsHaveEqualPodSets(t *testing.T) {
	first, second := podgroup.TemplateOf(full("a1")), podgroup.TemplateOf(full("a2"))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("templates differ:\n%s", diff)
	}
	if len(first.Spec.Volumes) != 1 || len(first.Spec.Containers[0].VolumeMounts) != 1 || len(first.Spec.SchedulingGates) > 0 {
		t.Errorf("spec is %+v", first.Spec)
	}
}

// What 10,000 pods take in the cache, in bytes for each.
func BenchmarkCachedPod(b *testing.B) {
	for name, prepare := range map[string]func(*corev1.Pod){
		"waits": func(*corev1.Pod) {},
		"runs":  func(pod *corev1.Pod) { pod.Spec.SchedulingGates = nil },
	} {
		b.Run(name, func(b *testing.B) {
			const pods = 10_000
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				kept := make([]*corev1.Pod, pods)
				for i := range kept {
					pod := full(fmt.Sprintf("a%d", i))
					prepare(pod)
					data, err := pod.Marshal()
					if err != nil {
						b.Fatal(err)
					}
					kept[i] = &corev1.Pod{}
					if err := kept[i].Unmarshal(data); err != nil {
						b.Fatal(err)
					}
					podgroup.Strip(kept[i])
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/pods, "B/pod")
				runtime.KeepAlive(kept)
			}
		})
	}
}
