package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/hub/logtail/kept"
)

func (x *terminal) create(objects ...client.Object) {
	x.t.Helper()
	for _, obj := range objects {
		if err := x.hub.Create(x.t.Context(), obj); err != nil {
			x.t.Fatal(err)
		}
	}
}

func TestPodsLogsAndEventsComeThroughTheHubFromTheClusterThatRunsTheJob(t *testing.T) {
	x := aHub(t)
	x.create(aWorkload("jobset-running-on-1", "JobSet", "running-on"), finishedOn("w1"))
	s := x.withFleet(map[string][]client.Object{"w1": {
		aPod("running-a-0"), aPod("running-b-0"), aWorkerEvent("e0", "Pod", "running-on-a-0", "another's", time.Minute),
		aWorkerEvent("e1", "Pod", "running-a-0", "pulled", time.Minute), aWorkerEvent("e2", "Pod", "runningless", "another's", time.Minute),
		aWorkerEvent("e3", "JobSet", "running", "made", time.Hour),
	}, "w2": nil})
	golden(t, "list-pods-wide.txt", x.ok("list pods --for jobset/running -o wide"))
	golden(t, "list-pods-wide.txt", x.ok("pods jobset/running -o wide"))
	golden(t, "list-pods-wide.txt", x.ok("pods -o wide"))
	golden(t, "logs.txt", x.ok("logs jobset/running --all-containers"))
	golden(t, "events.txt", x.ok("events jobset/running"))
	if out := x.ok("pods pod/running-a-0 -o name"); out != "pod/running-a-0\n" {
		t.Errorf("%q", out)
	}
	if out := x.ok("events pod/running-a-0"); !strings.Contains(out, "pulled") || strings.Contains(out, "made") {
		t.Error(out)
	}
	out := x.ok("logs jobset/running -f --tail 5 --since 1m -c side")
	for _, want := range []string{"[running-a-0/side] log of running-a-0/side follow=true tailLines=5 sinceSeconds=60\n", "[running-b-0/side] log of running-b-0/side follow"} {
		if !strings.Contains(out, want) {
			t.Errorf("does not say %q:\n%s", want, out)
		}
	}
	if out := x.ok("logs running-b-0 -p --limit-bytes 7 --timestamps"); out != "log of running-b-0/main previous=true limitBytes=7 timestamps=true\n" {
		t.Errorf("%q", out)
	}
	for _, asked := range s.requests() {
		if !strings.HasPrefix(asked, "w1: ") && !strings.HasPrefix(asked, "all: GET /api/v1/namespaces/team/pods/running-") &&
			!strings.HasPrefix(asked, "all: GET /api/v1/namespaces/team/events") {
			t.Error(asked)
		}
	}
	x.fails("logs jobset/running -c bogus", exit.NotFound, "container bogus is not valid for pod running-a-0 out of: main, side")
	x.fails("logs ended", exit.NotFound, "its pods on cluster \"w1\" went with it")
	x.fails("logs waiting", exit.NotReady, `has no cluster (PENDING)`)
	x.fails("logs nobody", exit.NotFound, `jobs.batch "nobody" not found`)
	x.fails("logs pod/nobody", exit.NotFound, `pods "nobody" not found`)
	x.fails("logs jobset/running --since 1m --since-time 2026-11-21T12:00:00Z", exit.Usage, "none of the others can be")
	x.fails("logs jobset/running --since-time yesterday", exit.Usage, "--since-time")
	x.fails("list pods", exit.Usage, "required flag")
	x.fails("pods jobset/running --for jobset/running", exit.Usage, "only one of them")
}

// aKeptTail is what a hub has kept of a Job that failed on w1.
func aKeptTail(t *testing.T, uid types.UID, job, text string, finishedAt time.Time) *corev1.ConfigMap {
	t.Helper()
	tail := &kept.Tail{Namespace: "team", Workload: "job-" + job + "-1", UID: uid, Job: kept.Job{Kind: "Job.batch", Name: job}, Cluster: "w1", FinishedAt: finishedAt}
	for _, container := range []string{"main", "side"} {
		if err := tail.Add(kept.Entry{Pod: job + "-0", Container: container, ExitCode: ptr.To[int32](1)}, []byte(container+" began\n"+container+" "+text)); err != nil {
			t.Fatal(err)
		}
	}
	tail.LeaveOut(job+"-1", "main", context.DeadlineExceeded)
	cm, err := tail.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

func TestLogsThatTheHubHasKeptAreShownWhenThePodsAreGone(t *testing.T) {
	x := aHub(t)
	failed := aWorkload("job-failed-1", "Job", "failed", condition(kueue.WorkloadFinished, "True", "Failed", "", time.Minute))
	failed.UID, failed.Status.ClusterName = "u2", ptr.To("w1")
	ended := finishedOn("w1")
	ended.UID = "u3"
	x.create(failed, ended,
		aKeptTail(t, "u1", "failed", "an earlier one", now.Add(-time.Hour)), aKeptTail(t, "u2", "failed", "gave up", now),
		aKeptTail(t, "u0", "ended", "an earlier one", now.Add(-time.Hour)),
		aKeptTail(t, "u4", "gone", "an earlier one", now.Add(-time.Hour)), aKeptTail(t, "u5", "gone", "gave up\n", now))
	x.withFleet(map[string][]client.Object{"w1": nil})
	code, out, errs := x.run("logs failed")
	if code != 0 {
		t.Errorf("code %d", code)
	}
	golden(t, "logs-kept.txt", out+"---\n"+errs)
	if out := x.ok("logs job/failed -c side --tail 1"); !strings.HasSuffix(out, "side gave up\n") || strings.Contains(out, "began") {
		t.Errorf("%q", out)
	}
	code, out, _ = x.run("logs job/gone -c main")
	if code != 0 || out != "main began\nmain gave up\n" {
		t.Errorf("%d %q", code, out)
	}
	if out := x.ok("logs gone -c main"); !strings.Contains(out, "main gave up") {
		t.Errorf("%q", out)
	}
	x.fails("logs failed -c bogus", exit.NotFound, `the hub has kept nothing of the log of a container "bogus"`)
	x.fails("logs ended", exit.NotFound, "its pods on cluster \"w1\" went with it")
	x.fails("logs waiting", exit.NotReady, "has no cluster")
	x.fails("logs never", exit.NotFound, "not found")
}

func TestAHubThatShowsNoPodsSaysWhatToDo(t *testing.T) {
	x := aHub(t)
	for _, line := range []string{"logs jobset/running", "pods", "exec jobset/running -- id", "logs pod/x"} {
		x.fails(line, exit.Failed, "chart value access.enabled=true")
	}
	code, out, errs := x.run("events jobset/running")
	if code != 0 || !strings.Contains(errs, "--worker-context") || !strings.Contains(out, "The workload was admitted") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	x.fails("logs nobody", exit.NotFound, "whether it is a pod is not known")
}

func TestUsersMayGoToAWorkerByThemselves(t *testing.T) {
	x := aHub(t)
	s := x.withFleet(map[string][]client.Object{"w1": {aPod("running-a-0"), aWorkerEvent("e1", "Pod", "running-a-0", "pulled", time.Minute)}})
	s.directly(x, "w1")
	x.hub.Config.Host = "https://nowhere.invalid"
	if out := x.ok("logs jobset/running --worker-context w1"); out != "log of running-a-0/main\n" {
		t.Errorf("%q", out)
	}
	if out := x.ok("list pods --for jobset/running --worker-context w1 --no-headers"); !strings.HasPrefix(out, "running-a-0") {
		t.Errorf("%q", out)
	}
	if out := x.ok("events jobset/running --worker-context w1"); !strings.Contains(out, "pulled") {
		t.Errorf("%q", out)
	}
}

func TestPodsOfAJobThatRunsOnTheHubItselfAreThere(t *testing.T) {
	x := aHub(t)
	local := aWorkload("job-local-1", "Job", "local", condition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", "", time.Hour), condition(kueue.WorkloadAdmitted, "True", "Admitted", "", time.Hour))
	local.Status.Admission = reservedIn("gpus")
	x.create(local, aRunningPod("local-0", "batch.kubernetes.io/job-name", "local"))
	out := x.ok("pods job/local -o wide")
	if !strings.Contains(out, "local-0") {
		t.Error(out)
	}
}

// owned is an object's owner of a kind.
func ownedBy(apiVersion, kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "u", Controller: ptr.To(true)}}
}

func TestPodsOfAKindThatHasNoLabelAreFoundByTheirOwners(t *testing.T) {
	x := aHub(t)
	wl := aWorkload("replicaset-serve-1", "Job", "serve", condition(kueue.WorkloadAdmitted, "True", "Admitted", "", time.Hour))
	wl.OwnerReferences = ownedBy("apps/v1", "StatefulSet", "serve")
	wl.Status.ClusterName = ptr.To("w1")
	x.create(wl)
	middle := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "middle", OwnerReferences: ownedBy("apps/v1", "StatefulSet", "serve")}}
	var pods []client.Object
	for name, owners := range map[string][]metav1.OwnerReference{
		"direct": ownedBy("apps/v1", "StatefulSet", "serve"), "through-job": ownedBy("batch/v1", "Job", "middle"), "again": ownedBy("batch/v1", "Job", "middle"),
		"other-set": ownedBy("apps/v1", "StatefulSet", "server"), "other-kind": ownedBy("apps/v1", "Deployment", "serve"), "lost": ownedBy("batch/v1", "Job", "gone"), "none": nil,
	} {
		p := aPod(name)
		p.OwnerReferences = owners
		pods = append(pods, p)
	}
	s := x.withFleet(map[string][]client.Object{"w1": append(pods, middle)})
	if got := strings.Fields(x.ok("pods statefulset/serve -o name")); !cmp.Equal(got, []string{"pod/again", "pod/direct", "pod/through-job"}) {
		t.Error(got)
	}
	if reads := slices.DeleteFunc(s.requests(), func(line string) bool { return !strings.HasSuffix(line, "/jobs/middle") }); len(reads) != 1 {
		t.Errorf("an owner is read %d times", len(reads))
	}
}

func TestWhatWaitsPodByPodHasPodsOfTheHubsNamesOnWorkers(t *testing.T) {
	x := aHub(t)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-1", OwnerReferences: ownedBy("apps/v1", "Deployment", "web")}}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Labels: map[string]string{"kueue.x-k8s.io/queue-name": "train"}}}
	gated := func(name string) *corev1.Pod {
		p := aPod(name)
		p.OwnerReferences, p.Spec.NodeName = ownedBy("apps/v1", "ReplicaSet", "web-1"), ""
		return p
	}
	x.create(deployment, set, gated("web-1-a"), gated("web-1-b"))
	x.withFleet(map[string][]client.Object{"w1": {aPod("web-1-a"), aPod("another")}, "w2": {aPod("web-1-b")}})
	if got := strings.Fields(x.ok("pods deployment/web -o name")); !cmp.Equal(got, []string{"pod/web-1-a", "pod/web-1-b"}) {
		t.Error(got)
	}
	if out := x.ok("logs deployment/web -c main"); out != "[web-1-a/main] log of web-1-a/main\n[web-1-b/main] log of web-1-b/main\n" {
		t.Errorf("%q", out)
	}
}

func TestOneClusterThatDoesNotAnswerHidesNoOthers(t *testing.T) {
	x := aHub(t)
	other := aWorkload("job-other-1", "Job", "other")
	other.Status.ClusterName = ptr.To("w2")
	x.create(other)
	s := x.withFleet(map[string][]client.Object{"w1": {aPod("running-a-0")}, "w2": nil})
	timeout := apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
	timeout.ErrStatus.Message = `cluster "w2": no account; an administrator can grant it: switchctl cluster register w2 --access logs`
	s.refuses["w2/api/v1/namespaces/team/pods"] = timeout
	code, out, errs := x.run("pods")
	if code != exit.Failed || !strings.Contains(out, "running-a-0") || !strings.Contains(errs, `warning: cluster "w2"`) || !strings.Contains(errs, "1 of 2 clusters") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

func TestAContainerThatIsAboutToStartIsWaitedForIfItsLogIsFollowed(t *testing.T) {
	x := aHub(t)
	s := x.withFleet(map[string][]client.Object{"w1": {aPod("running-a-0")}})
	s.refuseOnce = true
	starting := apierrors.NewBadRequest(`cluster "w1": container "main" in pod "running-a-0" is waiting to start: ContainerCreating`)
	s.refuses["/log"] = starting
	x.fails("logs jobset/running", exit.Failed, "is waiting to start: ContainerCreating")
	s.refuses["/log"] = starting
	if out := x.ok("logs jobset/running -f"); out != "log of running-a-0/main follow=true\n" {
		t.Errorf("%q", out)
	}
	s.refuses["/log"] = apierrors.NewBadRequest(`container "main" in pod "running-a-0" is waiting to start: trying and failing to pull image`)
	x.fails("logs jobset/running -f", exit.Failed, "trying and failing to pull image")
}

func TestWhoeverInterruptsALogIsToldNothing(t *testing.T) {
	x := aHub(t)
	s := x.withFleet(map[string][]client.Object{"w1": {aPod("running-a-0")}})
	ctx, cancel := context.WithCancel(t.Context())
	s.follow = func(r *http.Request) {
		cancel()
		<-r.Context().Done()
	}
	a, out, errs := x.app()
	if code := runCommandLine(ctx, a, []string{"switchctl", "logs", "jobset/running", "-f"}); code != exit.Interrupted || errs.Len() > 0 {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}

func TestOfSeveralPodsOfANameOneIsChosenByItsCluster(t *testing.T) {
	x := aHub(t)
	s := x.withFleet(map[string][]client.Object{"w1": {aPod("twin")}, "w2": {aPod("twin")}})
	s.refuses["all/api/v1/namespaces/team/pods/twin"] = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: `pods "twin" is on clusters w1, w2: choose one: switchctl access kubeconfig --cluster w1`,
	}}
	if code, _, errs := x.run("logs pod/twin"); code != exit.Failed || !strings.Contains(errs, `pods "twin" is on clusters w1, w2: choose`) || strings.Contains(errs, "hint:") {
		t.Errorf("code %d: %s", code, errs)
	}
	x.ok("logs pod/twin --cluster-name w2")
	if last := s.requests()[len(s.requests())-1]; !strings.HasPrefix(last, "w2: ") {
		t.Error(last)
	}
}

func TestErrorsOfTheHubAreShownWithTheirAdviceAndNoOther(t *testing.T) {
	x := aHub(t)
	s := x.withFleet(map[string][]client.Object{"w1": {aPod("running-a-0")}})
	refused := apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
	refused.ErrStatus.Message = `the hub may not look at jobs on cluster "w1": an administrator of both clusters can grant it: switchctl cluster register w1 --access logs (or exec)`
	s.refuses["/log"], s.refuses["/exec"] = refused, refused
	for _, line := range []string{"logs jobset/running", "exec jobset/running -- id"} {
		code, _, errs := x.run(line)
		if code != exit.Denied || !strings.Contains(errs, "switchctl cluster register w1 --access logs (or exec)") || strings.Contains(errs, "hint:") {
			t.Errorf("%s: code %d\n%s", line, code, errs)
		}
	}
	refused.ErrStatus.Message = `clusters.access.switchyard.dev "w1" is forbidden: User "me" cannot get resource "clusters/proxy" in API group "access.switchyard.dev" at the cluster scope`
	x.fails("logs jobset/running", exit.Denied, "hint: ask for the right to get and create clusters/proxy of access.switchyard.dev")
}

func TestACommandRunsInAContainerThroughTheHub(t *testing.T) {
	x := aHub(t)
	ended := aRunningPod("running-0", "jobset.sigs.k8s.io/jobset-name", "running")
	ended.Status.Phase = corev1.PodSucceeded
	s := x.withFleet(map[string][]client.Object{"w1": {ended, aRunningPod("running-1", "jobset.sigs.k8s.io/jobset-name", "running")}})
	code, out, errs := x.run("exec jobset/running -c side -- nvidia-smi -L")
	if code != 0 || out != "ran nvidia-smi -L\n" || !strings.Contains(errs, `Found 2 pods on cluster "w1", using pod/running-1`) {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	if last := s.requests()[len(s.requests())-1]; last != "w1: GET /api/v1/namespaces/team/pods/running-1/exec?command=nvidia-smi&command=-L&container=side&stderr=true&stdout=true" {
		t.Error(last)
	}
	x.stdin = "hello"
	if out := x.ok("exec -i pod/running-1 -- cat"); out != "hello" || s.written != "hello" {
		t.Errorf("%q, %q", out, s.written)
	}
	x.fails("exec running-1 -q -- fail", 7, "command terminated with exit code 7")
	x.fails("exec running-1 id", exit.Usage, "the command stands behind two dashes: exec running-1 -- COMMAND")
	x.fails("exec running-1 -c bogus -- id", exit.Failed, "container bogus is not valid for pod running-1 out of: main, side")
	x.fails("exec running-0 -- id", exit.NotReady, "has ended (Succeeded)")
	if out := x.ok("attach running-1 -q"); !strings.Contains(out, "attached") {
		t.Errorf("%q", out)
	}
}

func TestFilesAreCopiedThroughTheHub(t *testing.T) {
	x := aHub(t)
	x.withFleet(map[string][]client.Object{"w1": {aRunningPod("running-1", "jobset.sigs.k8s.io/jobset-name", "running")}})
	local := filepath.Join(t.TempDir(), "model")
	x.ok("cp jobset/running:/work/model " + local + " -c main")
	if got, err := os.ReadFile(local); err != nil || string(got) != "model" {
		t.Errorf("%q, %v", got, err)
	}
	x.fails("cp running-1:/broken "+local, 2, "command terminated with exit code 2")
	x.fails("cp running-1:/work/model "+local+" -c bogus", exit.NotFound, "container bogus is not valid")
	x.ok("cp " + local + " running-1:/work/")
	x.fails("cp "+local+"/none running-1:/work/", exit.Failed, "doesn't exist in local filesystem")
	x.fails("cp running-1:/a running-1:/b", exit.Usage, "one has to be a local file")
	x.fails("cp /a ./b:c", exit.Usage, "neither is in a container")
	x.fails("cp running-1: b", exit.Usage, "names no file in a container")
}

func TestPortsOfAPodAreForwardedThroughTheHub(t *testing.T) {
	x := aHub(t)
	p := aRunningPod("running-1", "jobset.sigs.k8s.io/jobset-name", "running")
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "board", ContainerPort: 6006}}
	s := x.withFleet(map[string][]client.Object{"w1": {p}})
	s.refuses["/portforward"] = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "you may not: ask for create pods/portforward"}}
	x.fails("port-forward jobset/running :board", exit.Failed, "you may not: ask for create pods/portforward")
	if last := s.requests()[len(s.requests())-1]; last != "w1: POST /api/v1/namespaces/team/pods/running-1/portforward" {
		t.Error(last)
	}
	x.fails("port-forward jobset/running :nothing", exit.Failed, `does not have a named port 'nothing'`)
}
