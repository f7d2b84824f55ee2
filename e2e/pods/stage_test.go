package pods

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// queueName is the LocalQueue of each namespace.
const queueName = "main"

// stage is a cluster with a worker's program.
type stage struct {
	*clusters.Cluster
	client.Client
	program *installation.Program
}

// start starts a cluster on which the integrations are served.
func start(t *testing.T, o clusters.Options, frameworks ...any) *stage {
	t.Helper()
	s := startCluster(t, o)
	s.startProgram(t, frameworks)
	return s
}

// startCluster starts a cluster without a program.
func startCluster(t *testing.T, o clusters.Options) *stage {
	t.Helper()
	log.SetLogger(zap.New(zap.WriteTo(t.Output()), zap.UseDevMode(true)))
	c, err := clusters.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &stage{Cluster: c}
	if s.Client, err = installation.Client(c); err != nil {
		t.Fatal(err)
	}
	return s
}

// startProgram starts the worker's program, which serves the integrations.
func (s *stage) startProgram(t *testing.T, frameworks []any) {
	t.Helper()
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	s.program, err = installation.Start(t.Context(), installation.Options{
		Cluster: s.Cluster, Binary: filepath.Join(root, "bin", "worker"),
		Configuration: map[string]any{"integrations": map[string]any{"frameworks": frameworks}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.program.Stop(); err != nil {
			t.Error(err)
		}
		s.expectNothingDenied(t)
	})
}

// expectNothingDenied reads in the program's log whether it lacked a right.
func (s *stage) expectNothingDenied(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(s.program.Log)
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "is forbidden: User") {
			t.Errorf("the program lacks a right: %s", line)
			return
		}
	}
}

// team is a namespace with a queue for some CPUs.
type team struct {
	*testing.T
	*stage
	name string
}

func (s *stage) newTeam(t *testing.T, name string, cpus int64) team {
	t.Helper()
	tm := s.newQueue(t, name, cpus)
	tm.eventually("the service account", func() error {
		return s.Get(t.Context(), client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
	})
	return tm
}

// newQueue makes a team's objects, for a cluster where nothing makes service accounts.
func (s *stage) newQueue(t *testing.T, name string, cpus int64) team {
	t.Helper()
	tm := team{t, s, name}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&kueue.ClusterQueue{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: kueue.ClusterQueueSpec{
				NamespaceSelector: &metav1.LabelSelector{},
				Preemption:        &kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority},
				ResourceGroups: []kueue.ResourceGroup{{
					CoveredResources: []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory},
					Flavors: []kueue.FlavorQuotas{{
						Name: kueue.ResourceFlavorReference(name),
						Resources: []kueue.ResourceQuota{
							{Name: corev1.ResourceCPU, NominalQuota: *resource.NewQuantity(cpus, resource.DecimalSI)},
							{Name: corev1.ResourceMemory, NominalQuota: resource.MustParse("1Ti")},
						},
					}},
				}},
			},
		},
		&kueue.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: queueName},
			Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(name)},
		},
	} {
		tm.create(object)
	}
	return tm
}

func (t team) create(object client.Object) {
	t.Helper()
	if err := t.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// eventually waits until check finds nothing missing.
func (t team) eventually(what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.T.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", what, last, t.held(), t.program.LogTail())
	}
}

// held tells what there is in the namespace.
func (t team) held() string {
	var b strings.Builder
	for _, pod := range t.pods() {
		fmt.Fprintf(&b, "pod %s %s gates %v node %q labels %v annotations %v deleted %v\n", pod.Name, pod.Status.Phase, pod.Spec.SchedulingGates,
			pod.Spec.NodeName, pod.Labels, pod.Annotations, pod.DeletionTimestamp)
	}
	for _, wl := range t.workloads() {
		fmt.Fprintf(&b, "workload %s of %d owners", wl.Name, len(wl.OwnerReferences))
		for _, c := range wl.Status.Conditions {
			fmt.Fprintf(&b, "; %s=%s %s (%s)", c.Type, c.Status, c.Reason, c.Message)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (t team) pods() []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := t.List(t.T.Context(), &list, client.InNamespace(t.name)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (t team) workloads() []kueue.Workload {
	t.Helper()
	var list kueue.WorkloadList
	if err := t.List(t.T.Context(), &list, client.InNamespace(t.name)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// states counts the pods by what they do: "waits" behind the gate, "goes" while it is deleted, else their phase.
func (t team) states(of ...string) string {
	t.Helper()
	count := map[string]int{}
	for _, pod := range t.pods() {
		if len(of) > 0 && !slices.ContainsFunc(of, func(prefix string) bool { return strings.HasPrefix(pod.Name, prefix) }) {
			continue
		}
		count[stateOf(&pod)]++
	}
	var texts []string
	for state, n := range count {
		texts = append(texts, fmt.Sprintf("%d %s", n, state))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func stateOf(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "goes"
	case isGated(pod):
		return "waits"
	}
	return string(pod.Status.Phase)
}

func isGated(pod *corev1.Pod) bool {
	return slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: kueue.AdmissionSchedulingGate})
}

// expectStates waits until the pods whose names begin so are as many of each state as said.
func (t team) expectStates(want string, of ...string) {
	t.Helper()
	t.eventually("pods", func() error {
		if got := t.states(of...); got != want {
			return fmt.Errorf("there are %q, want %q", got, want)
		}
		return nil
	})
}

// expectCondition waits until each Workload whose name begins so, of which there is one at least, has the condition.
func (t team) expectCondition(prefix, condition, want string) {
	t.Helper()
	t.eventually(condition+" of "+prefix, func() error {
		seen := 0
		for _, wl := range t.workloads() {
			if !strings.HasPrefix(wl.Name, prefix) {
				continue
			}
			seen++
			c := meta.FindStatusCondition(wl.Status.Conditions, condition)
			if c == nil || string(c.Status)+" "+c.Reason != want {
				return fmt.Errorf("%s has %+v, want %s", wl.Name, c, want)
			}
		}
		if seen == 0 {
			return fmt.Errorf("there is none, want %s", want)
		}
		return nil
	})
}

// expectUsage waits until the team's queue has this many Workloads, and CPUs in use.
func (t team) expectUsage(want string) {
	t.Helper()
	t.eventually("usage", func() error {
		queue := &kueue.ClusterQueue{}
		if err := t.Get(t.T.Context(), client.ObjectKey{Name: t.name}, queue); err != nil {
			return err
		}
		used := "0"
		if u := queue.Status.FlavorsUsage; len(u) > 0 && len(u[0].Resources) > 0 {
			used = u[0].Resources[0].Total.String()
		}
		if got := fmt.Sprintf("%d wait, %d run, %s CPUs", queue.Status.PendingWorkloads, queue.Status.ReservingWorkloads, used); got != want {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	})
}

func (t team) patch(object client.Object, change func()) {
	t.Helper()
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", object)
	}
	change()
	if err := t.Patch(t.T.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatalf("patch %T %s: %v", object, object.GetName(), err)
	}
}

// end lets a pod that runs end with an exit code.
func (t team) end(name, code string) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := t.Get(t.T.Context(), client.ObjectKey{Namespace: t.name, Name: name}, pod); err != nil {
		t.Fatal(err)
	}
	t.patch(pod, func() {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, clusters.RunForAnnotation, "1ms")
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, clusters.ExitCodeAnnotation, code)
	})
}

// podSpec is that of a pod that asks for CPUs.
func podSpec(cpus string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: "example.local/train:1",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}},
	}}}
}

// pod is one with a queue, which runs until it is ended.
func (t team) pod(name, cpus string) *corev1.Pod {
	spec := podSpec(cpus)
	spec.RestartPolicy = corev1.RestartPolicyNever
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name, Labels: map[string]string{kueue.QueueNameLabel: queueName}},
		Spec:       spec,
	}
}

// member is a pod of a group.
func (t team) member(group, name, cpus, total string) *corev1.Pod {
	pod := t.pod(name, cpus)
	pod.Labels[kueue.PodGroupNameKey] = group
	pod.Annotations = map[string]string{kueue.PodGroupTotalCountAnnotation: total}
	return pod
}

func (t team) deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name, Labels: map[string]string{kueue.QueueNameLabel: queueName}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("1")},
		},
	}
}

func (t team) statefulSet(name string, replicas int32) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name, Labels: map[string]string{kueue.QueueNameLabel: queueName}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("1")},
		},
	}
}
