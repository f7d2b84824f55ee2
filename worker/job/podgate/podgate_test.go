package podgate

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/workload"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// newPod is a pod of the job "job-uid"; a word says how it is: gated, running, ended, leaving.
func newPod(name, state string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, Labels: map[string]string{kueue.PodSetLabel: "main", switchyard.ElasticPodLabel: "job-uid"},
		Annotations: map[string]string{},
	}}
	switch state {
	case "gated", "leaving":
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.ElasticJobSchedulingGate}, {Name: "mine"}}
	case "ended":
		pod.Status.Phase = corev1.PodSucceeded
	}
	if state == "leaving" {
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	}
	return pod
}

func TestWhichPodsAreLetGo(t *testing.T) {
	for name, row := range map[string]struct {
		pods  string
		grant int
		want  []string
	}{
		"as many as were granted, by name":  {"c:gated a:gated b:gated", 2, []string{"a", "b"}},
		"those that run use it up":          {"a:gated b:running", 1, nil},
		"those that have ended do not":      {"a:gated b:ended", 1, []string{"a"}},
		"those that leave are not let go":   {"a:leaving b:gated", 1, []string{"b"}},
		"none if more run than was granted": {"a:running b:running c:gated", 1, nil},
		"none of nothing":                   {"a:gated", 0, nil},
		"no more than there are":            {"a:gated", 5, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			for _, word := range strings.Fields(row.pods) {
				podName, state, _ := strings.Cut(word, ":")
				pods = append(pods, newPod(podName, state))
			}
			var got []string
			for _, pod := range pick(pods, grant{pods: row.grant}) {
				got = append(got, pod.Name)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPodWithOtherValuesStaysGated(t *testing.T) {
	const request = "autoscaling.x-k8s.io/consume-provisioning-request"
	g := grant{pods: 2, annotations: map[string]string{request: "new"}, nodeSelector: map[string]string{"zone": "a"}}
	stale, other, fresh := newPod("a", "gated"), newPod("b", "gated"), newPod("c", "gated")
	stale.Annotations[request] = "old"
	other.Spec.NodeSelector = map[string]string{"zone": "b"}
	let := pick([]*corev1.Pod{stale, other, fresh}, g)
	if len(let) != 1 || let[0].Name != "c" {
		t.Fatalf("let go: %v", let)
	}
	free := g.release(fresh)
	if free.Annotations[request] != "new" || free.Spec.NodeSelector["zone"] != "a" || isGated(free) || len(free.Spec.SchedulingGates) != 1 {
		t.Errorf("it is %+v", free)
	}
}

func newSlice(name string, pods int32, age time.Duration) *kueue.Workload {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(-age)),
			Annotations:     map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "first"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: ptr.To(true)}},
		},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: pods}}},
	}
	a := &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{{Name: "main", Count: ptr.To(pods)}}}
	workload.ReserveQuota(wl, a, nil, "reserved", noon)
	return wl
}

func TestContradictingChecksLetNobodyGo(t *testing.T) {
	wl := newSlice("first", 2, 0)
	for i := range 2 {
		wl.Status.AdmissionChecks = append(wl.Status.AdmissionChecks, kueue.AdmissionCheckState{
			Name: kueue.AdmissionCheckReference(fmt.Sprint("check", i)), State: kueue.CheckStateReady,
			PodSetUpdates: []kueue.PodSetUpdate{{Name: "main", NodeSelector: map[string]string{"zone": fmt.Sprint(i)}}},
		})
	}
	if _, err := grants(wl); err == nil {
		t.Error("no error")
	}
}

func TestWhichSliceCounts(t *testing.T) {
	genuine, evicted, waits := newSlice("genuine", 1, time.Hour), newSlice("evicted", 3, 0), newSlice("waits", 9, 0)
	evicted.Status.Conditions = append(evicted.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue})
	waits.Status = kueue.WorkloadStatus{}
	if !isAdmitted(genuine) || isAdmitted(evicted) || isAdmitted(waits) {
		t.Error("pods run by a slice that is not admitted, or not by one that is")
	}
	forged := newSlice("forged", 1000, 0)
	list := []kueue.Workload{*forged, *genuine}
	trusted := trustedSlices{news: make(chan event.GenericEvent, 1)}
	if got := trusted.among("job-uid", list); got != nil {
		t.Errorf("%s is trusted before anybody looked at it", got.Name)
	}
	for range 2 { // What is not new is not told.
		trusted.add(t.Context(), genuine)
	}
	if got := trusted.among("job-uid", list); got == nil || got.Name != "genuine" || len(trusted.news) != 1 {
		t.Errorf("trusted is %v", got)
	}
	if got := trusted.among("another", list); got != nil {
		t.Errorf("another job trusts %s", got.Name)
	}
	trusted.forget("job-uid")
	if got := trusted.among("job-uid", list); got != nil {
		t.Errorf("%s is still trusted", got.Name)
	}
}

func TestNewsThatNobodyHearsDoNotHoldAnybodyUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	trusted := trustedSlices{news: make(chan event.GenericEvent)}
	trusted.add(ctx, newSlice("a", 1, 0))
	silent := trustedSlices{}
	silent.add(ctx, newSlice("a", 1, 0))
	nobodys := newSlice("a", 1, 0)
	nobodys.OwnerReferences = nil
	trusted.add(ctx, nobodys)
	if len(trusted.byJob) != 1 || len(silent.byJob) != 1 {
		t.Error("what was told is lost")
	}
}

// Whatever pods come and go: never do more run than were granted, if no more did before.
func FuzzNeverMorePodsRunThanWereGranted(f *testing.F) {
	for seed := range int64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		chance := rand.New(rand.NewSource(seed))
		g := grant{pods: chance.Intn(6)}
		var pods []*corev1.Pod
		running := func() int {
			return len(pods) - len(slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !isGated(p) && p.Status.Phase == "" }))
		}
		for range 60 {
			switch chance.Intn(3) {
			case 0:
				pods = append(pods, newPod(fmt.Sprintf("%c%d", 'a'+chance.Intn(26), len(pods)), "gated"))
			case 1:
				if len(pods) > 0 {
					pods[chance.Intn(len(pods))].Status.Phase = corev1.PodFailed
				}
			default:
				for _, pod := range pick(pods, g) {
					*pod = *g.release(pod)
				}
			}
			if running() > g.pods {
				t.Fatalf("%d run of %d", running(), g.pods)
			}
		}
	})
}

func TestPodsAreLetGoByTheSliceThatIsTrusted(t *testing.T) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(s).WithIndex(&corev1.Pod{}, jobIndex, jobOfPod).WithIndex(&kueue.Workload{}, jobIndex, jobOfSlice).
		WithObjects(newPod("a", "gated"), newPod("b", "gated"), newPod("c", "gated"), newPod("d", "running")).Build()
	wl := newSlice("second", 3, 0)
	wl.Annotations = nil // It is prebuilt, by somebody who did not know.
	status := wl.Status
	if err := c.Create(t.Context(), wl); err != nil {
		t.Fatal(err)
	}
	wl.Status = status
	if err := c.Update(t.Context(), wl); err != nil {
		t.Fatal(err)
	}
	r := New(testclock.NewFakeClock(noon))
	r.Client, r.Pods = c, c
	ungated := 0
	r.Ungated = func(*kueue.Workload, string, time.Time) { ungated++ }
	reconcile := func() {
		for range 2 {
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "job-uid"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	reconcile()
	if counts, err := r.Running(t.Context(), "team", "job-uid"); counts["main"] != 1 || err != nil {
		t.Errorf("%v run although no slice is trusted, error %v", counts, err)
	}
	r.Trust(t.Context(), wl)
	reconcile()
	var gated []string
	var list corev1.PodList
	if err := c.List(t.Context(), &list, client.InNamespace("team")); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if isGated(&list.Items[i]) {
			gated = append(gated, list.Items[i].Name)
		}
	}
	if ungated != 2 {
		t.Errorf("told of %d pods", ungated)
	}
	if diff := cmp.Diff([]string{"c"}, gated); diff != "" {
		t.Errorf("gated (-want +got):\n%s", diff)
	}
	counts, err := r.Running(t.Context(), "team", "job-uid")
	if diff := cmp.Diff(map[string]int32{"main": 3}, counts); diff != "" || err != nil {
		t.Errorf("running (-want +got):\n%s, error %v", diff, err)
	}
}

func TestWhichPodsRun(t *testing.T) {
	for state, want := range map[string]bool{"gated": false, "running": true, "ended": false, "leaving": false} {
		if pod := newPod("a", state); isRunning(pod) != want {
			t.Errorf("%s: %t", state, !want)
		}
	}
	leaving := newPod("a", "running")
	leaving.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	if !isRunning(leaving) {
		t.Error("a pod that is being terminated needs nothing any more")
	}
}
