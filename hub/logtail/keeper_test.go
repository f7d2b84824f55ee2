package logtail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/hub/logtail/kept"
)

// kept keeps the tail of a Workload and renders it, as "pod/container code text" for each entry; nothing if there is no ConfigMap.
func (h *fakeHub) kept(tb testing.TB, wl *kueue.Workload) []string {
	tb.Helper()
	if err := h.keep(context.Background(), client.ObjectKeyFromObject(wl)); err != nil {
		tb.Fatal(err)
	}
	cm := &corev1.ConfigMap{}
	if h.client.Get(context.Background(), keyOf(wl), cm) != nil {
		return nil
	}
	tail, err := kept.Read(cm)
	if err != nil {
		tb.Fatal(err)
	}
	var list []string
	for _, e := range tail.Entries {
		text, err := tail.Text(e)
		if err != nil {
			tb.Fatal(err)
		}
		code := "-"
		if e.ExitCode != nil {
			code = fmt.Sprint(*e.ExitCode)
		}
		line := fmt.Sprintf("%s/%s %s %.40q", e.Pod, e.Container, code, text)
		if e.Cut {
			line += fmt.Sprintf(" and the last of %d bytes", len(text))
		}
		if e.Incomplete != "" {
			line += ", " + e.Incomplete
		}
		list = append(list, line)
	}
	for _, text := range tail.LeftOut {
		list = append(list, "left out: "+text)
	}
	return list
}

func TestTheEndOfEachContainerOfFailedPodsIsKept(t *testing.T) {
	h := newHub(t, "w1")
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed,
		aPod("train-0", corev1.PodFailed, 137, 0, -1), aPod("train-1", corev1.PodSucceeded, 0), aPod("train-2", corev1.PodFailed), aPod("train-3", corev1.PodFailed, 1))
	h.workers["w1"].pods[0].Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "init", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		{Name: "never", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
	}
	want := []string{
		`train-0/init 0 "train-0/init says why\n"`, `train-0/a 137 "train-0/a says why\n"`, `train-0/b 0 "train-0/b says why\n"`, `train-0/c - "train-0/c says why\n"`,
		`train-3/a 1 "train-3/a says why\n"`,
	}
	if diff := cmp.Diff(want, h.kept(t, wl)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// One list, the job, its copy, and the logs.
	asked := h.workers["w1"].requests()
	if len(asked) != 3+len(want) || asked[0] != "/api/v1/namespaces/team/pods?fieldSelector=status.phase%3DFailed&limit=50" ||
		asked[3] != "/api/v1/namespaces/team/pods/train-0/log?container=init&tailLines=2000" {
		t.Errorf("%q", asked)
	}
	cm := h.tails(t)[0]
	wantMeta := map[string]string{
		switchyard.LogTailClusterAnnotation: "w1", switchyard.LogTailJobAnnotation: "Job.batch/train", switchyard.LogTailTimeAnnotation: "2026-11-21T12:00:00Z",
	}
	for name, value := range wantMeta {
		if cm.Annotations[name] != value {
			t.Errorf("%s: %q", name, cm.Annotations[name])
		}
	}
	if h.kept(t, wl); len(h.workers["w1"].requests()) != len(asked) {
		t.Error("it is fetched again")
	}
}

func TestOnlyJobsThatHaveFailedOnAClusterAreLookedAt(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fakeHub, *kueue.Workload)
	}{
		{"it succeeded", func(_ *fakeHub, wl *kueue.Workload) { wl.Status.Conditions[0].Reason = string(kueue.ReasonSucceeded) }},
		{"another slice took over", func(_ *fakeHub, wl *kueue.Workload) {
			wl.Status.Conditions[0].Reason = string(kueue.ReasonWorkloadSliceReplaced)
		}},
		{"it runs", func(_ *fakeHub, wl *kueue.Workload) { wl.Status.Conditions = nil }},
		{"it has no cluster", func(_ *fakeHub, wl *kueue.Workload) { wl.Status.ClusterName = nil }},
		{"its cluster is not known", func(_ *fakeHub, wl *kueue.Workload) { wl.Status.ClusterName = new("w9") }},
		{"its pods are gone by now", func(h *fakeHub, _ *kueue.Workload) { h.clock.Step(time.Minute) }},
	} {
		h := newHub(t, "w1")
		wl := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodFailed, 1))
		c.change(h, wl)
		if err := h.client.Update(t.Context(), wl); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(wl)}); err != nil || got != (ctrl.Result{}) || len(h.clusterQueues.all) > 0 {
			t.Errorf("%s: %v, %v, %d queues", c.name, got, err, len(h.clusterQueues.all))
		}
	}
}

func TestAPodThatRunsOnIsLookedAtIfAContainerHasFailed(t *testing.T) {
	h := newHub(t, "w1")
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodRunning, -1, 0), aPod("train-1", corev1.PodRunning, -1, 3))
	if diff := cmp.Diff([]string{`train-1/a - "train-1/a says why\n"`, `train-1/b 3 "train-1/b says why\n"`}, h.kept(t, wl)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if asked := len(h.workers["w1"].requests()); asked != 6 {
		t.Errorf("%d requests", asked)
	}
}

func TestNothingIsKeptOfAJobWithoutFailedPods(t *testing.T) {
	h := newHub(t, "w1")
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodSucceeded, 0))
	if got := h.kept(t, wl); got != nil || len(h.tails(t)) != 0 {
		t.Errorf("%v", got)
	}
	if h.kept(t, wl); len(h.workers["w1"].requests()) != 2 {
		t.Errorf("looked for again: %q", h.workers["w1"].requests())
	}
}

func TestOfManyPodsAndContainersSomeAreEnough(t *testing.T) {
	h := newHub(t, "w1")
	var pods []*corev1.Pod
	for i := range 30 {
		pods = append(pods, aPod(fmt.Sprintf("train-%02d", i), corev1.PodFailed, 1, 0, 0, 0))
	}
	got := h.kept(t, h.fail(t, "train", "w1", kueue.ReasonFailed, pods...))
	last := got[len(got)-1]
	if len(got) != maxContainers+1 || !strings.HasPrefix(last, "left out: all pods but 20; train-15/a: 60 containers are enough; train-15/b") {
		t.Errorf("%d: %s", len(got), last)
	}
}

// Who may make pods in the namespace on the worker gets none of them in here by calling them after the job.
func TestPodsOfOthersAreNotRead(t *testing.T) {
	h := newHub(t, "w1")
	other := h.fail(t, "other", "w1", kueue.ReasonFailed, aPod("other-0", corev1.PodFailed, 1))
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed)
	forged := aPod("train-0", corev1.PodFailed, 1)
	forged.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "not-its-uid", Controller: new(true)}}
	odd := aPod("../secrets", corev1.PodFailed, 1)
	odd.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "remote-train", Controller: new(true)}}
	h.workers["w1"].pods = append(h.workers["w1"].pods, forged, odd, aPod("alone", corev1.PodFailed, 1))
	if got := h.kept(t, wl); got != nil {
		t.Errorf("%v", got)
	}
	for _, asked := range h.workers["w1"].requests() {
		if strings.Contains(asked, "/log") || strings.Contains(asked, "other") {
			t.Error(asked)
		}
	}
	if got := h.kept(t, other); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestAWorkerThatSendsMoreThanItWasAskedForIsCut(t *testing.T) {
	h := newHub(t, "w1")
	line := strings.Repeat("x", 1023) + "\n"
	sent := 0
	h.workers["w1"].log = func(w http.ResponseWriter, _ *http.Request) {
		block := []byte(strings.Repeat(line, 1024))
		for ; sent < 1<<30; sent += len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodFailed, 1))
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	got := h.kept(t, wl)
	goruntime.ReadMemStats(&after)
	if len(got) != 1 || !strings.Contains(got[0], "and the last of 64512 bytes, its last 2000 lines have more than 67108864 bytes") {
		t.Errorf("%q", got)
	}
	if sent > 2*maxRead {
		t.Errorf("%d bytes were taken", sent)
	}
	t.Logf("%d MiB sent, %d KiB allocated by all", sent>>20, (after.TotalAlloc-before.TotalAlloc)>>10)
}

func TestAContainerWhoseLogHangsCostsTheOthersNothing(t *testing.T) {
	h := newHub(t, "w1")
	h.fetcher.perContainer = time.Second
	h.workers["w1"].log = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("container") {
		case "a": // says nothing
			<-r.Context().Done()
		case "b": // stops in the middle
			_, _ = io.WriteString(w, "it began\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "c":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"kind":"Status","message":"no \u001b[31mspace","code":500}`)
		default:
			_, _ = io.WriteString(w, "the reason\n")
		}
	}
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodFailed, 1, 1, 1, 1))
	want := []string{
		`train-0/b 1 "it began\n", the cluster was too slow`, `train-0/d 1 "the reason\n"`,
		`left out: train-0/a: cluster "w1" does not answer; the job may run on all the same; train-0/c: cluster "w1": no space`,
	}
	if diff := cmp.Diff(want, h.kept(t, wl)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAJobIsTriedAgainIfNothingCameOfIt(t *testing.T) {
	h := newHub(t, "w1")
	h.workers["w1"].log = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodFailed, 1))
	if err := h.keep(t.Context(), client.ObjectKeyFromObject(wl)); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("%v", err)
	}
	h.workers["w1"].log = nil
	if got := h.kept(t, wl); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestAClusterWithoutAnAccountIsNotAsked(t *testing.T) {
	h := newHub(t)
	h.create(t, &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: "w1"}})
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed)
	if got := h.kept(t, wl); got != nil {
		t.Errorf("%v", got)
	}
	if h.isWanted(wl, start) {
		t.Error("it is asked again and again")
	}
}

func TestAJobOfTheSameNameHasATailOfItsOwn(t *testing.T) {
	h := newHub(t, "w1")
	first := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodFailed, 1))
	h.kept(t, first)
	if err := h.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	again := first.DeepCopy()
	again.ResourceVersion, again.UID = "", "workload-again"
	h.create(t, again)
	copied := h.workers["w1"].objects["/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads/train"].(*kueue.Workload)
	copied.Annotations[switchyard.OwnerUIDAnnotation] = "workload-again"
	if got := h.kept(t, again); len(got) != 1 || len(h.tails(t)) != 2 {
		t.Errorf("%v, %d tails", got, len(h.tails(t)))
	}
}

func TestTailsGoByNumberAndAge(t *testing.T) {
	h := newHub(t, "w1")
	for i := range 5 {
		name := fmt.Sprint("train-", i)
		h.kept(t, h.fail(t, name, "w1", kueue.ReasonFailed, aPod(name+"-0", corev1.PodFailed, 1)))
		h.clock.Step(time.Second)
	}
	var left []string
	for _, cm := range h.tails(t) {
		left = append(left, strings.TrimPrefix(cm.Annotations[switchyard.LogTailJobAnnotation], "Job.batch/"))
	}
	slices.Sort(left)
	if diff := cmp.Diff([]string{"train-2", "train-3", "train-4"}, left); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	h.clock.Step(time.Hour)
	h.deleteOverdue(t.Context())
	if left := h.tails(t); len(left) != 0 {
		t.Errorf("%d are left", len(left))
	}
}

func TestAProgramThatIsStartedAnewKnowsWhatIsKept(t *testing.T) {
	h := newHub(t, "w1")
	made := metav1.NewTime(start.Add(-time.Minute))
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodFailed, 1))
	h.kept(t, wl)
	for _, cm := range h.tails(t) { // the fake API server has no clock
		h.remake(t, cm, made)
	}
	old := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "old", UID: "old"}}
	tail := &kept.Tail{Namespace: team, Workload: old.Name, UID: old.UID}
	cm, err := tail.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	h.remake(t, *cm, metav1.NewTime(start.Add(-time.Hour)))
	users := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "a-users-own", Labels: map[string]string{switchyard.LogTailLabel: "x"}}}
	h.remake(t, *users, metav1.NewTime(start.Add(-2*time.Hour)))
	asked := len(h.workers["w1"].requests())
	h.restart()
	if h.kept(t, wl); len(h.workers["w1"].requests()) != asked {
		t.Error("it is fetched again")
	}
	var names []string
	for _, cm := range h.tails(t) {
		names = append(names, cm.Name)
	}
	if diff := cmp.Diff([]string{"a-users-own", keyOf(wl).Name}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// remake puts a ConfigMap there that was made at a time.
func (h *fakeHub) remake(tb testing.TB, cm corev1.ConfigMap, made metav1.Time) {
	tb.Helper()
	_ = h.client.Delete(context.Background(), cm.DeepCopy())
	cm.ResourceVersion, cm.CreationTimestamp = "", made
	h.create(tb, &cm)
}

// A cluster that hangs has its jobs wait, and no other's.
func TestQueuesOfClustersDoNotWaitForOneAnother(t *testing.T) {
	done := make(chan string, 10)
	l := newClusterQueues(clocktesting.NewFakeClock(start), func(ctx context.Context, key client.ObjectKey) error {
		if key.Name == "hangs" {
			<-ctx.Done()
		}
		done <- key.Name
		return nil
	})
	for i := range perCluster {
		l.add("w1", client.ObjectKey{Namespace: fmt.Sprint(i), Name: "hangs"})
	}
	l.add("w1", client.ObjectKey{Name: "waits"})
	l.add("w2", client.ObjectKey{Name: "goes on"})
	if got := <-done; got != "goes on" {
		t.Error(got)
	}
	for i := range maxWaiting + perCluster + 1 {
		l.add("w1", client.ObjectKey{Name: fmt.Sprint(i)})
	}
	if l.add("w1", client.ObjectKey{Name: "too much"}) {
		t.Error("more wait than may")
	}
	l.stop()
	if l.add("w3", client.ObjectKey{Name: "late"}) {
		t.Error("there are queues after the end")
	}
	if got := <-done; got != "hangs" {
		t.Error(got)
	}
}

func TestAQueueTriesThreeTimes(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	tried := make(chan struct{}, 10)
	l := newClusterQueues(clock, func(context.Context, client.ObjectKey) error {
		tried <- struct{}{}
		return errors.New("no")
	})
	defer l.stop()
	for range 2 { // what is tried in vain may come again
		l.add("w1", key("team/train"))
		for tries := 0; tries < maxAttempts; {
			select {
			case <-tried:
				tries++
			default:
				clock.Step(firstBackoff)
				goruntime.Gosched()
			}
		}
		for l.all["w1"].NumRequeues(key("team/train")) != 0 { // until it is given up
			goruntime.Gosched()
		}
		clock.Step(time.Hour)
		if len(tried) != 0 {
			t.Error("tried once more")
		}
	}
}

func TestAFailedJobWaitsUntilItIsKnownWhatIsKept(t *testing.T) {
	h := newHub(t, "w1")
	wl := h.fail(t, "train", "w1", kueue.ReasonFailed, aPod("train-0", corev1.PodFailed, 1))
	fresh := New(Config{Client: h.client, Live: h.client, Retention: time.Minute, MaxJobs: 3, MaxAge: time.Hour, Clock: h.clock, Log: h.log})
	if got, err := fresh.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(wl)}); err != nil || got.RequeueAfter == 0 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := h.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(wl)}); err != nil || got.RequeueAfter != 0 || len(h.clusterQueues.all) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	h.clusterQueues.stop()
}
