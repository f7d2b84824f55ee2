// Package jobtest is the conformance suite that every kind of job passes: the laws that the framework, the webhooks and
// the dispatcher rely on. A kind's own test calls [Verify] with a few objects of the kind.
package jobtest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Verify runs the suite.
func Verify[T client.Object](t *testing.T, kind job.Kind[T], e job.Examples[T]) {
	t.Helper()
	s := suite[T]{kind: kind, Examples: e, erased: job.NewIntegration(kind)}
	for name, law := range map[string]func(suite[T]){
		"types are registered under the kind's GVK":               suite[T].types,
		"suspending and resuming come back to the same job":       suite[T].suspend,
		"pod sets have valid, distinct names and are copies":      suite[T].podSets,
		"placing shows in the pod sets and does not resume":       suite[T].place,
		"placing then restoring is identity":                      suite[T].restore,
		"restoring from nothing changes nothing":                  suite[T].restoreNothing,
		"a conflicting placement is refused with a ConflictError": suite[T].conflict,
		"stopping a running job ends suspended and restored":      suite[T].stop,
		"progress is total and knows both ends":                   suite[T].progress,
		"what is stripped is not needed for progress":             suite[T].strip,
	} {
		t.Run(name, func(t *testing.T) { law(s.in(t)) })
	}
	if kind.ManagedBy != nil {
		s.mirror(t)
	}
	s.lifecycle(t)
	s.webhooks(t)
}

type suite[T client.Object] struct {
	t *testing.T
	job.Examples[T]
	kind   job.Kind[T]
	erased job.Integration
}

// in returns the suite reporting to t.
func (s suite[T]) in(t *testing.T) suite[T] {
	t.Helper()
	s.t = t
	return s
}

func (s suite[T]) types() {
	t := s.t
	if _, ok := any(s.kind.New()).(runtime.Unstructured); ok {
		if gvk := s.kind.New().GetObjectKind().GroupVersionKind(); gvk != s.kind.GVK {
			t.Errorf("New is of %v, want %v", gvk, s.kind.GVK)
		}
		return
	}
	scheme := runtime.NewScheme()
	if err := s.kind.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, obj := range []runtime.Object{s.kind.New(), s.kind.NewList()} {
		kinds, _, err := scheme.ObjectKinds(obj)
		if err != nil {
			t.Fatal(err)
		}
		if kinds[0].GroupVersion() != s.kind.GVK.GroupVersion() {
			t.Errorf("%T is of %v, want %v", obj, kinds[0], s.kind.GVK)
		}
	}
	if kinds, _, _ := scheme.ObjectKinds(s.kind.New()); kinds[0] != s.kind.GVK {
		t.Errorf("New is of %v, want %v", kinds[0], s.kind.GVK)
	}
}

func (s suite[T]) suspend() {
	t := s.t
	j := s.Job()
	if !s.kind.Suspended(j) {
		t.Fatal("the fixture is not suspended")
	}
	s.kind.SetSuspend(j, false)
	if s.kind.Suspended(j) {
		t.Error("still suspended after being resumed")
	}
	s.kind.SetSuspend(j, true)
	same(t, s.Job(), j)
}

func (s suite[T]) podSets() {
	t := s.t
	j := s.Job()
	sets := s.sets(t, j)
	if len(sets) == 0 {
		t.Fatal("no pod sets")
	}
	names := map[kueue.PodSetReference]bool{}
	for i := range sets {
		name := sets[i].Name
		if names[name] || len(validation.IsDNS1123Label(string(name))) > 0 {
			t.Errorf("pod set name %q is not valid or not unique", name)
		}
		names[name] = true
		sets[i].Template.Spec.Containers[0].Name = "scribble"
		sets[i].Template.Labels = map[string]string{"scribble": "scribble"}
	}
	same(t, s.Job(), j)
}

func (s suite[T]) place() {
	t := s.t
	j := s.Job()
	before := s.sets(t, j)
	if err := s.kind.Place(j, s.placements(before)); err != nil {
		t.Fatal(err)
	}
	placed := deepCopy(j)
	if err := s.kind.Place(placed, s.placements(before)); err != nil {
		t.Errorf("placing once more: %v", err)
	}
	same(t, j, placed)
	if !s.kind.Suspended(j) {
		t.Error("placing has resumed the job")
	}
	after := s.sets(t, j)
	if job.SamePodSets(before, after) {
		t.Error("the pod sets of a placed job do not show the placement")
	}
	for i := range after {
		spec, want := after[i].Template.Spec, s.placements(before)[i]
		if spec.NodeSelector["jobtest/zone"] != want.NodeSelector["jobtest/zone"] || len(spec.SchedulingGates) == 0 {
			t.Errorf("pod set %s: node selector %v, gates %v", after[i].Name, spec.NodeSelector, spec.SchedulingGates)
		}
		if after[i].Name != before[i].Name || after[i].Count != before[i].Count {
			t.Errorf("pod set %s×%d became %s×%d", before[i].Name, before[i].Count, after[i].Name, after[i].Count)
		}
	}
}

func (s suite[T]) restore() {
	t := s.t
	j := s.Job()
	before := s.sets(t, j)
	if err := s.kind.Place(j, s.placements(before)); err != nil {
		t.Fatal(err)
	}
	s.kind.Restore(j, before)
	same(t, s.Job(), j)
	s.kind.Restore(j, before)
	same(t, s.Job(), j)
}

func (s suite[T]) restoreNothing() {
	t := s.t
	j := s.Job()
	s.kind.Restore(j, nil)
	same(t, s.Job(), j)
}

func (s suite[T]) conflict() {
	t := s.t
	j := s.Job()
	first := s.placements(s.sets(t, j))
	if err := s.kind.Place(j, first); err != nil {
		t.Fatal(err)
	}
	again := s.placements(s.sets(t, j))
	again[0].NodeSelector = map[string]string{"jobtest/zone": "elsewhere"}
	var conflict *job.ConflictError
	if err := s.kind.Place(j, again); !errors.As(err, &conflict) || conflict.Key != "jobtest/zone" {
		t.Errorf("a second zone was answered by %v", err)
	}
}

// stop plays the kind's own controller, which acts on a suspended job whenever the stop waits for it.
func (s suite[T]) stop() {
	t := s.t
	j, original := s.running(t)
	for range 10 {
		switch step := s.stopStep(j, original); step {
		case job.StopDone:
			want := s.Job()
			if got := s.sets(t, j); !s.kind.Suspended(j) || cmp.Diff(s.sets(t, want), got) != "" {
				t.Errorf("stopped job differs (-want +got):\n%s", cmp.Diff(s.sets(t, want), got))
			}
			if diff := cmp.Diff(want.GetAnnotations(), j.GetAnnotations()); diff != "" {
				t.Errorf("annotations of the stopped job differ (-want +got):\n%s", diff)
			}
			return
		case job.StopWait:
			s.Suspending(j)
		case job.StopSpec, job.StopStatus:
			if !s.kind.Suspended(j) {
				t.Fatal("the first step does not suspend")
			}
		}
	}
	t.Fatal("the stop does not end")
}

func (s suite[T]) stopStep(j T, original []kueue.PodSet) job.StopStep {
	if s.kind.Stop != nil {
		return s.kind.Stop(j, original)
	}
	if s.kind.Suspended(j) {
		return job.StopDone
	}
	s.kind.SetSuspend(j, true)
	s.kind.Restore(j, original)
	return job.StopSpec
}

func (s suite[T]) progress() {
	t := s.t
	if p := s.kind.Progress(s.kind.New()); p.Active || p.Finished != nil || len(p.Reclaimable) > 0 {
		t.Errorf("progress of an empty job is %+v", p)
	}
	if p := s.kind.Progress(s.Job()); p.Ready {
		t.Error("a suspended job is ready")
	}
	j, _ := s.running(t)
	if p := s.kind.ProgressOf(j, s.inputs()); !p.Active || !p.Ready || p.Finished != nil {
		t.Errorf("progress of a running job is %+v", p)
	}
	for success, end := range map[bool]func(T){true: s.Succeeded, false: s.Failed} {
		if end == nil {
			continue
		}
		j, _ := s.running(t)
		end(j)
		if p := s.kind.Progress(j); p.Finished == nil || p.Finished.Success != success || p.Active {
			t.Errorf("progress of a finished job is %+v, want success %v", p, success)
		}
	}
}

func (s suite[T]) strip() {
	t := s.t
	j, _ := s.running(t)
	want := s.kind.Progress(j)
	s.erased.Strip(j)
	if diff := cmp.Diff(want, s.kind.Progress(j)); diff != "" {
		t.Errorf("progress of a stripped job differs (-want +got):\n%s", diff)
	}
}

// running returns the job as it runs once admitted, and its original pod sets.
func (s suite[T]) running(t *testing.T) (T, []kueue.PodSet) {
	t.Helper()
	j := s.Job()
	original := s.sets(t, j)
	if err := s.kind.Place(j, s.placements(original)); err != nil {
		t.Fatal(err)
	}
	s.kind.SetSuspend(j, false)
	s.Started(j)
	return j, original
}

func (s suite[T]) sets(t *testing.T, j T) []kueue.PodSet {
	t.Helper()
	sets, err := s.kind.PodSetsOf(j, s.inputs())
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// inputs are the objects that the job names.
func (s suite[T]) inputs() []client.Object {
	if s.Inputs == nil {
		return nil
	}
	return s.Inputs()
}

// placements differ between pod sets, so that mixing them up shows.
func (s suite[T]) placements(sets []kueue.PodSet) []job.Placement {
	list := make([]job.Placement, len(sets))
	for i := range sets {
		list[i] = job.Placement{
			Name: sets[i].Name, Count: sets[i].Count,
			NodeSelector:    map[string]string{"jobtest/zone": "zone-" + string(sets[i].Name)},
			Labels:          map[string]string{kueue.PodSetLabel: string(sets[i].Name)},
			Annotations:     map[string]string{"jobtest/annotation": "placed"},
			Tolerations:     []corev1.Toleration{{Key: "jobtest", Operator: corev1.TolerationOpExists}},
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "jobtest/gate"}},
		}
	}
	return list
}

func deepCopy[T client.Object](j T) T { return j.DeepCopyObject().(T) }

func same[T client.Object](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("job differs (-want +got):\n%s", diff)
	}
}
