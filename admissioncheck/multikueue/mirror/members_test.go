package mirror

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/podgroup"
)

// group is a hub's group of pods, with a worker that has admitted its copy.
type group struct {
	Original
	client.Client
	t *testing.T
}

func hubPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID(name + "-uid"), Finalizers: []string{kueue.ManagedFinalizer},
			Labels: map[string]string{kueue.PodGroupNameKey: "train"}, Annotations: map[string]string{kueue.PodGroupTotalCountAnnotation: "2"},
		},
		Spec: corev1.PodSpec{
			Priority: new(int32), NodeName: "never",
			SchedulingGates: []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}},
		},
	}
}

func newGroup(t *testing.T, names ...string) *group {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "train", UID: "wl-uid", Annotations: map[string]string{kueue.IsGroupWorkloadAnnotation: "true"},
	}}
	g := &group{Original: Original{Origin: "hub", Hub: "hub-uid", Workload: wl, Kind: podgroup.Mirrored()}, t: t}
	for _, name := range names {
		g.Members = append(g.Members, hubPod(name))
	}
	if len(g.Members) > 0 {
		g.Job, g.JobName = g.Members[0], g.Members[0].GetName()
	}
	copied := g.WorkloadCopy(1)
	copied.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue}}
	g.Client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&kueue.Workload{}).WithObjects(copied).Build()
	return g
}

// there are the names of the pods on the worker.
func (g *group) there() string {
	g.t.Helper()
	var list corev1.PodList
	if err := g.List(context.Background(), &list); err != nil {
		g.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestAllPodsOfAGroupAreCreatedAndRemovedTogether(t *testing.T) {
	ctx := context.Background()
	g := newGroup(t, "a", "b", "c")
	if other, err := g.CreateJob(ctx, g, 1, false); other != nil || err != nil {
		t.Fatal(other, err)
	}
	if got := g.there(); got != "a b c" {
		t.Fatalf("there are %s", got)
	}
	pod := &corev1.Pod{}
	if err := g.Get(ctx, client.ObjectKey{Namespace: "team", Name: "b"}, pod); err != nil {
		t.Fatal(err)
	}
	if len(pod.Finalizers) > 0 || pod.Spec.NodeName != "" || pod.Spec.Priority != nil || len(pod.Spec.SchedulingGates) != 1 ||
		pod.Annotations[kueue.PrebuiltWorkloadNameKey] != "train" || MemberUID(pod) != "b-uid" || Epoch(pod) != 1 {
		t.Errorf("the copy is %+v", pod)
	}
	found, err := g.Read(ctx, g)
	if err != nil || found.Job == nil || found.Job.GetName() != "a" {
		t.Fatalf("read %v, %v", found, err)
	}
	if err := g.Delete(ctx, found.Job); err != nil {
		t.Fatal(err)
	}
	if found, err = g.Read(ctx, g); err != nil || g.ObserveLive(1, found).Job.Holder != dispatch.Ours {
		t.Errorf("without the first they are %v, %v: as long as one is there they are", found, err)
	}
	if _, err := g.Retract(ctx, g, Removal{BelowEpoch: 2}); err != nil {
		t.Fatal(err)
	}
	if got := g.there(); got != "" {
		t.Errorf("left are %s", got)
	}
}

func TestANameThatIsTakenOnTheWorkerIsToldOf(t *testing.T) {
	ctx := context.Background()
	g := newGroup(t, "a", "b")
	if err := g.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	other, err := g.CreateJob(ctx, g.refusing("b", apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, "b")), 1, false)
	if err != nil || other == nil || g.ObserveJob(other.Job).Holder != dispatch.Foreign {
		t.Errorf("found %+v, %v", other, err)
	}
	if got := g.there(); got != "b" {
		t.Errorf("a group that cannot be whole is there in part: %s", got)
	}
	if found, err := g.Read(ctx, g); err != nil || g.ObserveJob(found.Job).Holder != dispatch.Foreign {
		t.Errorf("read %v, %v", found.Job, err)
	}
	if _, err := g.Retract(ctx, g, Removal{BelowEpoch: 2}); err != nil {
		t.Fatal(err)
	}
	if got := g.there(); got != "b" {
		t.Errorf("left are %q", got)
	}
}

func TestTheLowestEpochOfAGroupIsSeen(t *testing.T) {
	ctx := context.Background()
	g := newGroup(t, "a", "b")
	if _, err := g.createMember(ctx, g, g.Members[0], 3, false); err != nil {
		t.Fatal(err)
	}
	if _, err := g.createMember(ctx, g, g.Members[1], 2, false); err != nil {
		t.Fatal(err)
	}
	found, err := g.Read(ctx, g)
	if err != nil || g.ObserveJob(found.Job).Epoch != 2 {
		t.Errorf("of a group with a pod of an earlier epoch %v is seen, %v", found.Job, err)
	}
	// Another hub of the same origin stands for none of ours.
	foreign := hubPod("0")
	foreign.Labels[kueue.MultiKueueOriginLabel] = "hub"
	foreign.Annotations = map[string]string{kueue.PrebuiltWorkloadNameKey: "train", "switchyard.dev/hub-uid": "another"}
	if err := g.Create(ctx, foreign); err != nil {
		t.Fatal(err)
	}
	if found, err = g.Read(ctx, g); err != nil || found.Job.GetName() != "b" {
		t.Errorf("read %v, %v", found.Job, err)
	}
	if _, err := g.Retract(ctx, g, Removal{BelowEpoch: 3}); err != nil {
		t.Fatal(err)
	}
	if got := g.there(); got != "0 a" {
		t.Errorf("left are %s", got)
	}
}

// refusing is a worker that refuses a pod, also when that is only tried.
func (g *group) refusing(name string, with error) client.Client {
	g.t.Helper()
	inner, ok := g.Client.(client.WithWatch)
	if !ok {
		g.t.Fatalf("%T cannot be intercepted", g.Client)
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if obj.GetName() == name {
				return with
			}
			return c.Create(ctx, obj, o...)
		},
	})
}

func TestAGroupOfWhichAWorkerRefusesAPodIsNotCreatedInPart(t *testing.T) {
	ctx := context.Background()
	g := newGroup(t, "a", "b", "c")
	refuse := g.refusing("b", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "b", errors.New("violates PodSecurity")))
	if _, err := g.CreateJob(ctx, refuse, 1, false); !apierrors.IsForbidden(err) {
		t.Errorf("the error is %v", err)
	}
	if got := g.there(); got != "" {
		t.Errorf("there are %s", got)
	}
}

func TestPodsThatHaveEndedDoNotRunAgainInALaterEpoch(t *testing.T) {
	ctx := context.Background()
	g := newGroup(t, "a", "b")
	g.setPhase(g.Members[0], corev1.PodSucceeded)
	if _, err := g.CreateJob(ctx, g, 1, false); err != nil {
		t.Fatal(err)
	}
	if got := g.there(); got != "b" {
		t.Errorf("there are %s", got)
	}
}

func (g *group) setPhase(obj client.Object, phase corev1.PodPhase) {
	g.t.Helper()
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		g.t.Fatalf("%T is no pod", obj)
	}
	pod.Status.Phase = phase
}

func TestAPodThatHasLostItsLabelIsStillOwed(t *testing.T) {
	ctx := context.Background()
	g := newGroup(t, "a", "b")
	if _, err := g.CreateJob(ctx, g, 1, false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		pod := &corev1.Pod{}
		if err := g.Get(ctx, client.ObjectKey{Namespace: "team", Name: name}, pod); err != nil {
			t.Fatal(err)
		}
		delete(pod.Labels, kueue.MultiKueueOriginLabel)
		if err := g.Update(ctx, pod); err != nil {
			t.Fatal(err)
		}
	}
	found, err := g.Read(ctx, g)
	if err != nil || g.ObserveJob(found.Job).Holder != dispatch.Relabelled {
		t.Fatalf("read %v, %v", found.Job, err)
	}
	if _, err := g.Retract(ctx, g, Removal{BelowEpoch: 2}); err != nil {
		t.Fatal(err)
	}
	if got := g.there(); got != "" {
		t.Errorf("left are %s", got)
	}
}

func TestAnEndThatNobodyHasSeenIsNotRemoved(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		phases map[string]corev1.PodPhase
		// between is what becomes of b after it was read.
		between corev1.PodPhase
		want    string
		spared  bool
	}{
		{name: "all have succeeded", phases: map[string]corev1.PodPhase{"a": corev1.PodSucceeded, "b": corev1.PodSucceeded}, want: "a b", spared: true},
		{name: "one runs", phases: map[string]corev1.PodPhase{"a": corev1.PodSucceeded, "b": corev1.PodRunning}, want: ""},
		{name: "the last one ends meanwhile", phases: map[string]corev1.PodPhase{"a": corev1.PodSucceeded, "b": corev1.PodRunning}, between: corev1.PodSucceeded, want: "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(t, "a", "b")
			if _, err := g.CreateJob(ctx, g, 1, false); err != nil {
				t.Fatal(err)
			}
			report := func(name string, phase corev1.PodPhase) {
				pod := &corev1.Pod{}
				if err := g.Get(ctx, client.ObjectKey{Namespace: "team", Name: name}, pod); err != nil {
					t.Fatal(err)
				}
				g.setPhase(pod, phase)
				if err := g.Status().Update(ctx, pod); err != nil {
					t.Fatal(err)
				}
			}
			for name, phase := range c.phases {
				report(name, phase)
			}
			inner, ok := g.Client.(client.WithWatch)
			if !ok {
				t.Fatalf("%T cannot be intercepted", g.Client)
			}
			watched := interceptor.NewClient(inner, interceptor.Funcs{
				Delete: func(ctx context.Context, inner client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
					if obj.GetName() == "b" && c.between != "" {
						report("b", c.between)
					}
					return inner.Delete(ctx, obj, o...)
				},
			})
			spared, err := g.Retract(ctx, watched, Removal{BelowEpoch: 2, SpareJob: true})
			if (spared != nil) != c.spared || (err != nil) != (c.between != "") {
				t.Errorf("spared %v, %v", spared, err)
			}
			if got := g.there(); got != c.want {
				t.Errorf("left are %q, want %q", got, c.want)
			}
		})
	}
}

func TestMembersComeAndGoOnlyAsTheHubHasThem(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		change func(*kueue.Workload)
		onHub  string
		want   string
	}{
		{"one has come and one has gone", nil, "a c", "a c"},
		{"a cache is behind", nil, "a b", "a b"},
		{"the copy was evicted", func(wl *kueue.Workload) {
			wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue})
		}, "a c", "a b"},
		{"the copy has ended", func(wl *kueue.Workload) {
			wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue})
		}, "a c", "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(t, "a", "b")
			if _, err := g.CreateJob(ctx, g, 1, false); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				wl := &kueue.Workload{}
				if err := g.Get(ctx, g.Key(), wl); err != nil {
					t.Fatal(err)
				}
				c.change(wl)
				if err := g.Status().Update(ctx, wl); err != nil {
					t.Fatal(err)
				}
			}
			gone := &corev1.Pod{}
			if err := g.Get(ctx, client.ObjectKey{Namespace: "team", Name: "b"}, gone); err != nil {
				t.Fatal(err)
			}
			err := g.SyncMembers(ctx, g, 1, false, MemberChanges{
				Missing: []client.Object{hubPod("c")}, Surplus: []client.Object{gone},
				Confirm: func(_ context.Context, name string, uid types.UID) (bool, error) {
					return slices.Contains(strings.Fields(c.onHub), name) && uid == types.UID(name+"-uid"), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := g.there(); got != c.want {
				t.Errorf("there are %s, want %s", got, c.want)
			}
		})
	}
}

func TestAGroupWithoutPodsHasNothingToCreate(t *testing.T) {
	g := newGroup(t)
	if _, err := g.CreateJob(context.Background(), g, 1, false); err == nil {
		t.Error("created")
	}
}
