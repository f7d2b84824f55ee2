package pods

import (
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/e2e/network"
	"switchyard.dev/worker/job/all"
)

// fleet is a hub and two workers, with what the hub reaches them through.
type fleet struct {
	hub     *stage
	workers []*stage
	links   []*network.Link
}

// raise starts a fleet in which pods are served. The nodes are the workers'.
func raise(t *testing.T) fleet {
	t.Helper()
	return raiseWith(t, nil, "pod", "deployment", "statefulset")
}

// raiseWith starts a fleet with operators in which the frameworks are served.
func raiseWith(t *testing.T, operators []clusters.Operator, frameworks ...any) fleet {
	t.Helper()
	log.SetLogger(zap.New(zap.WriteTo(t.Output()), zap.UseDevMode(true)))
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	nodes := []clusters.NodePool{{Name: "cpu", Count: 1}}
	raised, err := installation.StartStage(t.Context(), installation.StageOptions{
		Hub:      clusters.Options{Name: "hub", Controllers: true, Operators: operators},
		Workers:  []clusters.Options{{Name: "w1", Nodes: nodes, Operators: operators}, {Name: "w2", Nodes: nodes, Operators: operators}},
		Programs: filepath.Join(root, "bin"),
		Links:    true,
		Kinds:    all.Mirrored(),
		Configuration: map[string]any{
			"integrations": map[string]any{"frameworks": frameworks},
			"multiKueue":   map[string]any{"workerLostTimeout": "15s", "gcInterval": "2s"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := fleet{hub: &stage{Cluster: raised.Hub.Cluster, Client: raised.Hub, program: raised.Hub.Program}}
	for _, w := range raised.Workers {
		f.workers = append(f.workers, &stage{Cluster: w.Cluster, Client: w, program: w.Program})
		f.links = append(f.links, w.Link)
	}
	for _, object := range installation.MultiKueueCheck("multikueue", "w1", "w2") {
		if err := f.hub.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, s := range append(f.workers, f.hub) {
			s.expectNothingDenied(t)
		}
		if err := raised.Stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// newTeam makes a team on all clusters, with as many CPUs on each worker as given. The hub has any number.
func (f fleet) newTeam(t *testing.T, name string, cpus ...int64) (atHub team, atWorkers []team) {
	t.Helper()
	for i, w := range f.workers {
		atWorkers = append(atWorkers, w.newTeam(t, name, cpus[i]))
	}
	atHub = f.hub.newTeam(t, name, 1000)
	queue := &kueue.ClusterQueue{}
	if err := atHub.Get(t.Context(), client.ObjectKey{Name: name}, queue); err != nil {
		t.Fatal(err)
	}
	atHub.patch(queue, func() {
		queue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "multikueue"}}}
	})
	return atHub, atWorkers
}

// states of pods on all clusters: those of the hub, then of each worker.
func expectEverywhere(t *testing.T, want []string, teams ...team) {
	t.Helper()
	last := teams[len(teams)-1]
	last.eventually("pods", func() error {
		for i, tm := range teams {
			if got := tm.phases(); got != want[i] {
				return fmt.Errorf("on %s there are %q, want %q\nhub: %s", tm.Cluster.Name, got, want[i], teams[0].held())
			}
		}
		return nil
	})
}

// phases counts the pods by their phase, whatever gates they have.
func (t team) phases() string {
	count := map[corev1.PodPhase]int{}
	for _, pod := range t.pods() {
		count[pod.Status.Phase]++
	}
	text := ""
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed} {
		if n := count[phase]; n > 0 {
			text += fmt.Sprintf("%d %s ", n, phase)
		}
	}
	return text
}

func TestPodsOfAHubRunOnAWorker(t *testing.T) {
	f := raise(t)
	t.Run("a group runs whole on one worker and its status comes back", func(t *testing.T) { groupAway(t, f) })
	t.Run("a pod runs on the worker that has room", func(t *testing.T) { podAway(t, f) })
	t.Run("what is deleted on the hub goes everywhere", func(t *testing.T) { groupDeleted(t, f) })
	t.Run("a pod that joins late or is replaced is there as well", func(t *testing.T) { memberReplaced(t, f) })
	t.Run("pods of a Deployment run one by one", func(t *testing.T) { deploymentAway(t, f) })
	t.Run("a group that loses its quota on the hub leaves its worker and runs again", func(t *testing.T) { groupEvicted(t, f) })
	t.Run("a pod and a group that are deactivated stop there, and run again when they are activated", func(t *testing.T) { deactivated(t, f) })
	t.Run("a pod that was removed on the worker has failed and is not made again", func(t *testing.T) { podRemovedThere(t, f) })
	t.Run("a pod of a group that was removed on the worker is not made again, and can be replaced", func(t *testing.T) { memberRemovedThere(t, f) })
	t.Run("a Deployment replaces its pod that was removed on the worker", func(t *testing.T) { replicaRemovedThere(t, f) })
	t.Run("a pod of a tenant of the worker that has the name of one of a group is not touched", func(t *testing.T) { nameTaken(t, f) })
	t.Run("a StatefulSet runs on one worker, and nothing of it on the hub", func(t *testing.T) { setAway(t, f) })
	t.Run("a StatefulSet that is scaled to zero leaves its worker and comes back", func(t *testing.T) { setScaled(t, f) })
	t.Run("a StatefulSet that is deactivated stops there, and runs again when it is activated", func(t *testing.T) { setDeactivated(t, f) })
	t.Run("a StatefulSet that was removed on the worker runs again", func(t *testing.T) { setRemovedThere(t, f) })
	t.Run("a StatefulSet of a tenant of the worker that has the name of one is not touched", func(t *testing.T) { setNameTaken(t, f) })
	t.Run("pods of a worker that is lost run on another, and end there when it is back", func(t *testing.T) { workerLost(t, f) })
	f.expectFewWrites(t)
}

func groupAway(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "group", 4, 1)
	hub.create(hub.member("train", "driver", "1", "3"))
	hub.create(hub.member("train", "worker-0", "1500m", "3"))
	hub.create(hub.member("train", "worker-1", "1500m", "3"))
	expectEverywhere(t, []string{"3 Running ", "3 Running ", ""}, hub, workers[0], workers[1])
	for _, pod := range hub.pods() {
		if !isGated(&pod) || pod.Spec.NodeName != "" || pod.Status.PodIP != "" {
			t.Errorf("the hub's pod %s has gates %v, node %q and address %q", pod.Name, pod.Spec.SchedulingGates, pod.Spec.NodeName, pod.Status.PodIP)
		}
	}
	for _, name := range []string{"driver", "worker-0", "worker-1"} {
		workers[0].end(name, "0")
	}
	hub.expectCondition("train", kueue.WorkloadFinished, "True Succeeded")
	expectEverywhere(t, []string{"3 Succeeded ", "", ""}, hub, workers[0], workers[1])
	hub.expectUsage("0 wait, 0 run, 0 CPUs")
}

func podAway(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "single", 1, 2)
	hub.create(hub.pod("one", "2"))
	expectEverywhere(t, []string{"1 Running ", "", "1 Running "}, hub, workers[0], workers[1])
	workers[1].end("one", "3")
	hub.expectCondition("pod-one", kueue.WorkloadFinished, "True Failed")
	expectEverywhere(t, []string{"1 Failed ", "", ""}, hub, workers[0], workers[1])
}

func groupDeleted(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "deleted", 2, 0)
	for i := range 2 { // the worker has room for these only
		hub.create(hub.member("gone", fmt.Sprintf("pod-%d", i), "1", "2"))
	}
	expectEverywhere(t, []string{"2 Running ", "2 Running ", ""}, hub, workers[0], workers[1])
	hub.create(hub.pod("single", "1"))
	if err := hub.Delete(t.Context(), hub.workloadNamed("gone")); err != nil {
		t.Fatal(err)
	}
	expectEverywhere(t, []string{"1 Running ", "1 Running ", ""}, hub, workers[0], workers[1])
	if err := hub.Delete(t.Context(), hub.pod("single", "1")); err != nil {
		t.Fatal(err)
	}
	expectEverywhere(t, []string{"", "", ""}, hub, workers[0], workers[1])
	workers[0].expectUsage("0 wait, 0 run, 0 CPUs")
}

func memberReplaced(t *testing.T, f fleet) {
	t.Helper()
	f.replaceMember(t, "replaced", func(worker team) { worker.end("pod-1", "1") })
}

func memberRemovedThere(t *testing.T, f fleet) {
	t.Helper()
	f.replaceMember(t, "lessone", func(worker team) {
		worker.remove("pod-1")
		worker.reportKilled("pod-1")
	})
}

// replaceMember has a group lose one of its two pods on a worker, and get another one.
func (f fleet) replaceMember(t *testing.T, name string, lose func(worker team)) {
	t.Helper()
	hub, workers := f.newTeam(t, name, 2, 0)
	for i := range 2 {
		hub.create(hub.member("pair", fmt.Sprintf("pod-%d", i), "1", "2"))
	}
	expectEverywhere(t, []string{"2 Running ", "2 Running ", ""}, hub, workers[0], workers[1])
	lose(workers[0])
	expectEverywhere(t, []string{"1 Running 1 Failed ", "1 Running 1 Failed ", ""}, hub, workers[0], workers[1])
	hub.create(hub.member("pair", "pod-2", "1", "2"))
	expectEverywhere(t, []string{"2 Running 1 Failed ", "2 Running 1 Failed ", ""}, hub, workers[0], workers[1])
	for _, name := range []string{"pod-0", "pod-2"} {
		workers[0].end(name, "0")
	}
	hub.expectCondition("pair", kueue.WorkloadFinished, "True Succeeded")
	expectEverywhere(t, []string{"2 Succeeded 1 Failed ", "", ""}, hub, workers[0], workers[1])
}

func deploymentAway(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "deployment", 2, 1)
	d := hub.deployment("web", 3)
	hub.create(d)
	expectEverywhere(t, []string{"3 Running ", "2 Running ", "1 Running "}, hub, workers[0], workers[1])
	hub.eventually("ready replicas", func() error {
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if d.Status.ReadyReplicas != 3 {
			return fmt.Errorf("there are %d", d.Status.ReadyReplicas)
		}
		return nil
	})
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	hub.patch(d, func() { d.Spec.Replicas = ptr.To[int32](0) })
	expectEverywhere(t, []string{"", "", ""}, hub, workers[0], workers[1])
}

func groupEvicted(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "evicted", 2, 0)
	for i := range 2 {
		hub.create(hub.member("moved", fmt.Sprintf("pod-%d", i), "1", "2"))
	}
	expectEverywhere(t, []string{"2 Running ", "2 Running ", ""}, hub, workers[0], workers[1])
	queue := &kueue.ClusterQueue{}
	if err := hub.Get(t.Context(), client.ObjectKey{Name: hub.name}, queue); err != nil {
		t.Fatal(err)
	}
	hub.patch(queue, func() { queue.Spec.StopPolicy = kueue.HoldAndDrain })
	workers[0].expectStates("")
	hub.expectCondition("moved", kueue.WorkloadQuotaReserved, "False Suspended")
	copied := &kueue.Workload{}
	workers[0].eventually("the copy to go", func() error {
		err := workers[0].Get(t.Context(), client.ObjectKey{Namespace: hub.name, Name: "moved"}, copied)
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	hub.patch(queue, func() { queue.Spec.StopPolicy = kueue.None })
	workers[0].expectStates("2 Running")
}

// setActive activates or deactivates all Workloads of the team.
func (t team) setActive(active bool) {
	t.Helper()
	for _, wl := range t.workloads() {
		t.patch(&wl, func() { wl.Spec.Active = &active })
	}
}

func deactivated(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "deactivated", 3, 0)
	hub.create(hub.pod("one", "1"))
	for i := range 2 {
		hub.create(hub.member("pair", fmt.Sprintf("pair-%d", i), "1", "2"))
	}
	expectEverywhere(t, []string{"3 Running ", "3 Running ", ""}, hub, workers[0], workers[1])
	hub.setActive(false)
	workers[0].expectStates("")
	hub.expectUsage("0 wait, 0 run, 0 CPUs")
	workers[0].expectUsage("0 wait, 0 run, 0 CPUs")
	hub.expectStates("3 waits")
	hub.setActive(true)
	expectEverywhere(t, []string{"3 Running ", "3 Running ", ""}, hub, workers[0], workers[1])
}

// remove deletes a pod as a person would, or who drains its node.
func (t team) remove(name string) {
	t.Helper()
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = t.name, name
	if err := t.Delete(t.T.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// reportKilled says of a pod what the kubelet of its node says when its containers have been stopped. The stub of a node does not.
func (t team) reportKilled(name string) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := t.Get(t.T.Context(), client.ObjectKey{Namespace: t.name, Name: name}, pod); err != nil {
		t.Fatal(err)
	}
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodFailed
	if err := t.Status().Patch(t.T.Context(), pod, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func podRemovedThere(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "removed", 1, 0)
	hub.create(hub.pod("one", "1"))
	expectEverywhere(t, []string{"1 Running ", "1 Running ", ""}, hub, workers[0], workers[1])
	workers[0].remove("one")
	hub.expectCondition("pod-one", kueue.WorkloadFinished, "True Failed")
	expectEverywhere(t, []string{"1 Failed ", "", ""}, hub, workers[0], workers[1])
	workers[0].expectUsage("0 wait, 0 run, 0 CPUs")
}

func replicaRemovedThere(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "drained", 2, 0)
	hub.create(hub.deployment("web", 2))
	expectEverywhere(t, []string{"2 Running ", "2 Running ", ""}, hub, workers[0], workers[1])
	workers[0].remove(workers[0].pods()[0].Name)
	expectEverywhere(t, []string{"2 Running 1 Failed ", "2 Running ", ""}, hub, workers[0], workers[1])
}

func nameTaken(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "taken", 2, 2)
	workers[0].create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: hub.name, Name: "pod-1"}, Spec: podSpec("1")})
	workers[0].expectStates("1 Running")
	for i := range 2 {
		hub.create(hub.member("pair", fmt.Sprintf("pod-%d", i), "1", "2"))
	}
	expectEverywhere(t, []string{"2 Running ", "1 Running ", "2 Running "}, hub, workers[0], workers[1])
	if err := hub.Delete(t.Context(), hub.workloadNamed("pair")); err != nil {
		t.Fatal(err)
	}
	expectEverywhere(t, []string{"", "1 Running ", ""}, hub, workers[0], workers[1])
}

func (t team) workloadNamed(name string) *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name}}
}

func workerLost(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "lost", 2, 0)
	for i := range 2 {
		hub.create(hub.member("pair", fmt.Sprintf("pod-%d", i), "1", "2"))
	}
	expectEverywhere(t, []string{"2 Running ", "2 Running ", ""}, hub, workers[0], workers[1])
	workers[1].setQuota(2)
	f.links[0].Partition()
	expectEverywhere(t, []string{"2 Running ", "2 Running ", "2 Running "}, hub, workers[0], workers[1])
	workers[1].end("pod-0", "0")
	f.links[0].Pass()
	expectEverywhere(t, []string{"1 Running 1 Succeeded ", "", "1 Running 1 Succeeded "}, hub, workers[0], workers[1])
	workers[1].end("pod-1", "0")
	hub.expectCondition("pair", kueue.WorkloadFinished, "True Succeeded")
	expectEverywhere(t, []string{"2 Succeeded ", "", ""}, hub, workers[0], workers[1])
}

// setQuota gives the team another number of CPUs.
func (t team) setQuota(cpus int64) {
	t.Helper()
	queue := &kueue.ClusterQueue{}
	if err := t.Get(t.T.Context(), client.ObjectKey{Name: t.name}, queue); err != nil {
		t.Fatal(err)
	}
	t.patch(queue, func() {
		queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota = *resource.NewQuantity(cpus, resource.DecimalSI)
	})
}

// maxStatusWrites is how often the hub may write the status of a pod, from its creation to its end: that it has a node, runs, is ready and has
// ended, once for each cluster that it was on, and that it waits again.
const maxStatusWrites = 10

// expectFewWrites looks at what all pods together have cost the hub: a status that never settles would be written for ever.
func (f fleet) expectFewWrites(t *testing.T) {
	t.Helper()
	t.Helper()
	const pods = 30
	if n := f.hub.writes(t)["patch pods/status"]; n == 0 || n > maxStatusWrites*pods {
		t.Errorf("the hub has written statuses of pods %d times: %v", n, f.hub.writes(t))
	}
}
