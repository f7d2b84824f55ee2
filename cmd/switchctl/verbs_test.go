package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/top"
)

func TestStopAndResumeChangeWorkloadsAndQueues(t *testing.T) {
	x := aHub(t)
	policies := func() [2]kueue.StopPolicy {
		return [2]kueue.StopPolicy{
			get(x, x.hub, "team", "train", &kueue.LocalQueue{}).Spec.StopPolicy, get(x, x.hub, "", "gpus", &kueue.ClusterQueue{}).Spec.StopPolicy,
		}
	}
	if out := x.ok("stop workload job-waiting-1"); out != "workload.kueue.x-k8s.io/job-waiting-1 stopped\n" {
		t.Errorf("%q", out)
	}
	if active := get(x, x.hub, "team", "job-waiting-1", &kueue.Workload{}).Spec.Active; active == nil || *active {
		t.Error("the workload is active")
	}
	if out := x.ok("explain job/waiting"); !strings.Contains(out, "it is stopped, and waits for") {
		t.Error(out)
	}
	x.ok("stop lq train --keep-already-running")
	x.ok("stop cq gpus")
	if got := policies(); got != [2]kueue.StopPolicy{kueue.Hold, kueue.HoldAndDrain} {
		t.Error(got)
	}
	x.ok("resume cq gpus --dry-run=server")
	x.ok("resume localqueue train")
	if got := policies(); got != [2]kueue.StopPolicy{kueue.None, kueue.HoldAndDrain} {
		t.Error(got)
	}
	x.ok("resume clusterqueue gpus")
	x.ok("resume wl job-waiting-1")
	if active := get(x, x.hub, "team", "job-waiting-1", &kueue.Workload{}).Spec.Active; !*active || policies()[1] != kueue.None {
		t.Error("not resumed")
	}
	if out := x.ok("stop workload job-done-1 job-offered-1 --dry-run=client"); strings.Count(out, "(client dry run)") != 2 {
		t.Error(out)
	}
	for _, name := range []string{"job-done-1", "job-offered-1"} {
		if get(x, x.hub, "team", name, &kueue.Workload{}).Spec.Active != nil {
			t.Errorf("a dry run stopped %s", name)
		}
	}
	x.fails("stop workload nobody", exit.NotFound, "nobody")
	x.fails("stop workload", exit.Usage, "requires at least 1 arg")
	x.fails("stop workload x --keep-already-running", exit.Usage, "unknown flag")
}

func TestQueuesAndFlavorsAreCreatedFromFlags(t *testing.T) {
	x := newTerminal(t)
	out := x.ok("create clusterqueue gpus --cohort research --queuing-strategy StrictFIFO --namespace-selector a=b --reclaim-within-cohort Any " +
		"--preemption-within-cluster-queue LowerPriority --nominal-quota h100:cpu=64;nvidia.com/gpu=8,l4:cpu=32;nvidia.com/gpu=4,disk:storage=1Ti " +
		"--borrowing-limit l4:nvidia.com/gpu=2 --lending-limit h100:cpu=1 -o yaml --dry-run=client")
	golden(t, "create-clusterqueue.txt", out)
	out = x.ok("create rf h100 --node-labels gpu=H100 --node-taints gpu=yes:NoSchedule --tolerations gpu:NoSchedule,team=vision -o yaml")
	golden(t, "create-resourceflavor.txt", out)
	x.fails("create localqueue train -c gpus", exit.NotFound, "see --ignore-unknown-cq")
	x.ok("create localqueue train -c gpus -i")
	if got := get(x, x.hub, "team", "train", &kueue.LocalQueue{}).Spec.ClusterQueue; got != "gpus" {
		t.Error(got)
	}
	for line, says := range map[string]string{
		"create localqueue train":                                       "required flag",
		"create clusterqueue a --nominal-quota h100":                    "want FLAVOR:RESOURCE=QUANTITY",
		"create clusterqueue a --nominal-quota h100:cpu":                "is no RESOURCE=QUANTITY",
		"create clusterqueue a --queuing-strategy LIFO":                 "want one of",
		"create clusterqueue a --borrowing-limit h100:cpu=1":            "need a --cohort",
		"create clusterqueue a --cohort c --borrowing-limit h100:cpu=1": "has no --nominal-quota",
		"create resourceflavor a --node-taints gpu":                     "want KEY[=VALUE]:EFFECT",
		"create resourceflavor a --tolerations gpu=yes:Bogus":           "want KEY[=VALUE][:EFFECT]",
	} {
		x.fails(line, exit.Usage, says)
	}
}

func TestDeletingAWorkloadDeletesItsJob(t *testing.T) {
	x := aHub(t)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "waiting"}}
	if err := x.hub.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	lonely := aWorkload("lonely", "Job", "x")
	lonely.OwnerReferences = nil
	if err := x.hub.Create(t.Context(), lonely); err != nil {
		t.Fatal(err)
	}
	x.fails("delete workload job-waiting-1", exit.Usage, "nothing was deleted")
	x.fails("delete workload", exit.Usage, "or --all")
	x.fails("delete workload a -A", exit.Usage, "or --all")
	x.fails("delete workload nobody", exit.NotFound, "nobody")
	if out := x.ok("delete workload lonely job-waiting-1 --dry-run=server"); strings.Count(out, "(server dry run)") != 2 {
		t.Error(out)
	}
	if absent(x, x.hub, "team", "waiting", job) || absent(x, x.hub, "team", "lonely", lonely) {
		t.Error("a dry run deleted something")
	}
	x.stdin = "yes\n"
	if out := x.ok("delete workload job-waiting-1 lonely"); out != "job.batch/waiting deleted\nworkload.kueue.x-k8s.io/lonely deleted\n" {
		t.Errorf("%q", out)
	}
	if !absent(x, x.hub, "team", "waiting", job) || !absent(x, x.hub, "team", "lonely", lonely) {
		t.Error("something is left")
	}
	x.ok("delete cq gpus --wait=false")
	if got := strings.Join(x.kubectl, " "); got != "delete clusterqueue gpus --wait=false" {
		t.Error(got)
	}
}

func TestTheVersionNamesClientServerAndProgram(t *testing.T) {
	x := newTerminal(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "switchyard", Labels: map[string]string{"app.kubernetes.io/name": "switchyard"}},
		Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "switchyard.dev/hub:0.1.0"}}}}},
	})
	serve(x.hub, "v1.36.3")
	_, out, _ := strings.Cut(x.ok("version"), "\n")
	if out != "Kubernetes Version: v1.36.3\nManager Image: switchyard.dev/hub:0.1.0\n" {
		t.Errorf("%q", out)
	}
	if out := x.ok("version --client"); strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "Client Version: ") {
		t.Errorf("%q", out)
	}
}

// aPod is one of jobset running on a worker.
func aPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, CreationTimestamp: ago(time.Hour), Labels: map[string]string{"jobset.sigs.k8s.io/jobset-name": "running"}},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "main"}, {Name: "side"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Ready: true, RestartCount: 2}, {State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}},
		}},
	}
}

func aWorkerEvent(name, kind, about, message string, before time.Duration) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: about},
		Type: "Normal", Reason: "Because", Message: message, LastTimestamp: ago(before), Source: corev1.EventSource{Component: "kubelet"},
	}
}

func finishedOn(cluster string) *kueue.Workload {
	wl := aWorkload("job-ended-1", "Job", "ended", condition(kueue.WorkloadFinished, "True", "Succeeded", "Job finished successfully", time.Minute))
	wl.Status.ClusterName = &cluster
	return wl
}

func TestTopShowsTheFleetOnce(t *testing.T) {
	x := aHub(t)
	if err := x.hub.Create(t.Context(), kubeconfigFor("w1")); err != nil {
		t.Fatal(err)
	}
	x.withWorker("w1", &switchyard.CapacityReport{
		ObjectMeta: metav1.ObjectMeta{Name: "switchyard"}, ObservedAt: metav1.NewMicroTime(now.Add(-3 * time.Second)),
		ClusterQueues: []switchyard.CapacityQueue{
			{Name: "closed", Closed: "stopped"},
			{
				Name: "gpus", Waiting: []switchyard.CapacityWaiting{{Priority: 1, Count: 2}, {Count: 1}},
				Groups: []switchyard.CapacityGroup{{Resources: []string{"cpu", "memory", "nvidia.com/gpu"}, Flavors: []switchyard.CapacityFigures{
					{Flavor: "h100", Free: []int64{1500, 1 << 30, 3}, Largest: []int64{64000, switchyard.Unlimited, 8}},
				}}},
			},
		},
	})
	golden(t, "top.txt", x.ok("top --once"))
}

func TestTopIsWatchedUntilTheUserHasSeenEnough(t *testing.T) {
	x := aHub(t)
	a, _, _ := x.app()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := 0
	a.Out = onWrite(func(text []byte) {
		if looks++; !bytes.HasPrefix(text, []byte("\x1b[H\x1b[2J")) {
			t.Errorf("look %d does not begin on a clear screen", looks)
		}
		if looks == 2 {
			cancel()
		}
	})
	if err := top.Watch(ctx, a, x.hub, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if looks != 2 {
		t.Errorf("%d looks", looks)
	}
}

// onWrite is a terminal that tells of everything that is written.
type onWrite func([]byte)

func (f onWrite) Write(text []byte) (int, error) {
	f(text)
	return len(text), nil
}

func TestTheProgramIsAPluginOfKubectlByItsName(t *testing.T) {
	for argv0, want := range map[string]string{
		"/usr/bin/switchctl": "switchctl", "kubectl-switchyard": "kubectl switchyard", `kubectl-switchyard.exe`: "kubectl switchyard",
		"kubectl-my_queues": "kubectl my-queues",
	} {
		if got := displayName(argv0); got != want {
			t.Errorf("%s: got %q, want %q", argv0, got, want)
		}
	}
	a, out, _ := newTerminal(t).app()
	runCommandLine(t.Context(), a, []string{"kubectl-switchyard", "cluster", "--help"})
	if !strings.Contains(out.String(), "kubectl switchyard cluster [command]") {
		t.Error(out)
	}
}

func TestShellsAreGivenCompletionsAndNames(t *testing.T) {
	x := aHub(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out := x.ok("completion " + shell); !strings.Contains(out, "switchctl") {
			t.Errorf("%s: %s", shell, out)
		}
	}
	for line, want := range map[string][]string{
		"__complete cluster drain w":             {"w1", "w2"},
		"__complete stop workload job-d":         {"job-done-1"},
		"__complete list workload --status pend": {"all", "pending", "quotareserved", "admitted", "finished"},
		"__complete resume cq ''":                nil,
		"__complete submit --queue t":            {"train"},
	} {
		var names []string
		for name := range strings.Lines(x.ok(line)) {
			if name = strings.TrimSpace(name); !strings.HasPrefix(name, ":") {
				names = append(names, name)
			}
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestExitCodesAreATopicOfTheHelp(t *testing.T) {
	if out := newTerminal(t).ok("help exit-codes"); !strings.Contains(out, exit.CodesText) {
		t.Error(out)
	}
}

func TestDeniedCallsEndWithTheirOwnCode(t *testing.T) {
	x := newTerminal(t)
	x.hub = x.site("hub", interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "multikueueclusters"}, "", nil)
	}})
	x.fails("cluster list", exit.Denied, "hint: ask for the ClusterRole")
}
