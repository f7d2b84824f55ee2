package controller

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

var trainingRun = schema.GroupVersionKind{Group: "ml.example.com", Version: "v1", Kind: "TrainingRun"}

// declaredKind is a kind as a JobKind declares it, with or without managedBy.
func declaredKind(managed bool) job.Integration {
	kind := job.Kind[*unstructured.Unstructured]{
		GVK: trainingRun,
		New: func() *unstructured.Unstructured {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(trainingRun)
			return object
		},
		Progress:   func(*unstructured.Unstructured) job.Progress { return job.Progress{} },
		CopyStatus: func(_, _ *unstructured.Unstructured) (changed, deferred bool) { return false, false },
		Unfenced:   true,
	}
	if managed {
		kind.ManagedBy = &job.ManagedBy[*unstructured.Unstructured]{
			Path: "spec.managedBy",
			Get:  func(*unstructured.Unstructured) string { return "" },
			Set:  func(*unstructured.Unstructured, string) {},
		}
	}
	return job.NewIntegration(kind)
}

func TestTheKindOfAWorkloadsJobIsWhatIsDeclaredNow(t *testing.T) {
	gk := trainingRun.GroupKind()
	serve := func(d *DeclaredKinds, kind job.Integration) {
		d.SetDeclared([]schema.GroupKind{gk})
		is := servedKind{kind, fake.NewClientBuilder().Build(), &atomic.Bool{}}
		is.listed.Store(true)
		d.serve(is)
	}
	for _, tc := range []struct {
		name string
		have func(*DeclaredKinds)
		// bound is set for a Workload whose job may run on a cluster, ended for one that has finished.
		bound, ended bool
		want         string
	}{
		{name: "before the JobKinds are known it is let alone", have: func(*DeclaredKinds) {}, want: "left alone"},
		{name: "what none declares is of no kind", have: func(d *DeclaredKinds) { d.SetDeclared(nil) }, want: "none"},
		{name: "but runs on, as it may have been declared before this program started", have: func(d *DeclaredKinds) { d.SetDeclared(nil) }, bound: true, want: "left alone"},
		{name: "until it has ended", have: func(d *DeclaredKinds) { d.SetDeclared(nil) }, bound: true, ended: true, want: "none"},
		{name: "what is declared and not served yet is awaited", have: func(d *DeclaredKinds) { d.SetDeclared([]schema.GroupKind{gk}) }, want: "left alone"},
		{name: "and so is one whose jobs are not listed yet", have: func(d *DeclaredKinds) {
			serve(d, declaredKind(true))
			d.served[gk].listed.Store(false)
		}, want: "left alone"},
		{name: "what was declared is let alone", have: func(d *DeclaredKinds) { d.SetDeclared([]schema.GroupKind{gk}); d.SetDeclared(nil) }, want: "left alone"},
		{name: "what is served is dispatched", have: func(d *DeclaredKinds) { serve(d, declaredKind(true)) }, want: "dispatched"},
		{name: "also when it runs", have: func(d *DeclaredKinds) { serve(d, declaredKind(true)) }, bound: true, want: "dispatched"},
		{name: "what is served and cannot be handed over is turned down", have: func(d *DeclaredKinds) { serve(d, declaredKind(false)) }, want: "turned down"},
		{name: "but what was handed over before runs on", have: func(d *DeclaredKinds) { serve(d, declaredKind(false)) }, bound: true, want: "left alone"},
		{name: "and what stopped being served is let alone", have: func(d *DeclaredKinds) { serve(d, declaredKind(true)); d.Stop(trainingRun) }, bound: true, want: "left alone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &DeclaredKinds{}
			tc.have(d)
			r := &WorkloadReconciler{declared: d}
			wl := &kueue.Workload{}
			if tc.bound {
				hubworkload.SetState(wl, dispatch.State{Epoch: 1, Bound: "w1"}, metav1.Now().Time)
			}
			if tc.ended {
				wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue})
			}
			kind, reader, err := r.lookupKind(gk, wl)
			got := "none"
			switch {
			case errors.Is(err, errLeftAlone):
				got = "left alone"
			case err != nil:
				t.Fatal(err)
			case kind != nil && kind.Mirrorable() && reader != nil:
				got = "dispatched"
			case kind != nil:
				got = "turned down"
			}
			if got != tc.want {
				t.Errorf("it is %s, want %s", got, tc.want)
			}
		})
	}
}

func TestAJobThatItsJobKindHandsOverNoMoreIsTurnedDownUnlessItRuns(t *testing.T) {
	job := &unstructured.Unstructured{}
	job.SetGroupVersionKind(trainingRun)
	job.SetNamespace("team")
	job.SetName("run")
	job.SetUID("u")
	d := &DeclaredKinds{}
	is := servedKind{declaredKind(true), fake.NewClientBuilder().WithObjects(job).Build(), &atomic.Bool{}}
	is.listed.Store(true)
	d.serve(is)
	r := NewWorkloadReconciler(&WorkloadReconciler{declared: d, Clock: clock.RealClock{}})
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "wl", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, trainingRun)},
	}}
	if _, refusal, err := r.lookupOriginal(t.Context(), wl); err != nil || refusal.Reason != dispatch.NotManaged {
		t.Errorf("one that waits: %+v %v", refusal, err)
	}
	hubworkload.SetState(wl, dispatch.State{Epoch: 1, Bound: "w1"}, metav1.Now().Time)
	if _, _, err := r.lookupOriginal(t.Context(), wl); !errors.Is(err, errLeftAlone) {
		t.Errorf("one that runs is not let alone: %v", err)
	}
}

func TestOnlyWorkloadsOfTheKindsThatComeOrGoAreLookedAt(t *testing.T) {
	scheme, other := testScheme(t), schema.GroupKind{Group: "ml.example.com", Kind: "Other"}
	hub := newBuilder(t, scheme)
	for name, kind := range map[string]schema.GroupKind{"run": trainingRun.GroupKind(), "other": other, "job": {Group: "batch", Kind: "Job"}} {
		hub = hub.WithObjects(&kueue.Workload{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Annotations: map[string]string{
				kueue.JobOwnerGVKAnnotation: kind.Group + "/v1, Kind=" + kind.Kind, kueue.JobOwnerNameAnnotation: name,
			}},
			Status: kueue.WorkloadStatus{
				Admission:  &kueue.Admission{ClusterQueue: "all"},
				Conditions: []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue}},
			},
		})
	}
	r := NewWorkloadReconciler(&WorkloadReconciler{Client: hub.Build(), Kinds: jobKinds{batchJobKind(t)}})
	r.SetFleet(fleet.New(fleet.Options{Origin: origin, Scheme: scheme, Kinds: FleetKinds(nil, &JobNameLookup{})}))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	if err := r.Fleet.WorkloadRequests().Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	d := &DeclaredKinds{}
	d.attach(r, nil)
	for _, tc := range []struct {
		name     string
		declared []schema.GroupKind
		want     []string
	}{
		{"all but those of compiled-in kinds when it becomes known what is declared", []schema.GroupKind{trainingRun.GroupKind()}, []string{"other", "run"}},
		{"nothing when nothing changes", []schema.GroupKind{trainingRun.GroupKind()}, nil},
		{"one that comes", []schema.GroupKind{other, trainingRun.GroupKind()}, []string{"other"}},
		{"one that goes", []schema.GroupKind{other}, []string{"run"}},
	} {
		d.SetDeclared(tc.declared)
		var got []string
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
			got = append(got, request.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: looked at %q, want %q", tc.name, got, tc.want)
		}
	}
}
