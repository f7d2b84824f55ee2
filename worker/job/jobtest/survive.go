package jobtest

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Survive puts random jobs to the kind's functions, which must not panic whatever they are given. What they return must not depend on
// how often they are asked. The functions fill values of one type each, as those of randfill do.
func Survive[T client.Object](t *testing.T, kind job.Kind[T], seed int64, functions ...any) {
	t.Helper()
	fill := filler(seed, functions...)
	random := func() T {
		j := kind.New()
		fill.Fill(j)
		return j
	}
	j := random()
	erased := job.NewIntegration(kind)
	sets, err := kind.PodSetsOf(deepCopy(j), nil)
	if _, again := kind.PodSetsOf(deepCopy(j), nil); (err == nil) != (again == nil) {
		t.Errorf("pod sets are refused once: %v, %v", err, again)
	}
	surviveChanges(kind, j, random(), sets)
	erased.Progress(j)
	erased.ExpectedReaction(j)
	erased.LastControllerUpdate(j)
	if kind.Priority != nil {
		kind.Priority(j)
	}
	if kind.ManagedBy != nil {
		erased.RemoteCopy(j, job.RemoteOptions{Origin: origin, Workload: &kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: sets}}})
		erased.CopyStatus(deepCopy(j), random())
	}
	if kind.Children != nil {
		kind.Children.Covers(j, random())
	}
	surviveWebhook(kind, j, random())
	erased.Strip(j)
	erased.Progress(j)
}

// filler fills objects with whatever the seed says.
func filler(seed int64, functions ...any) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) { q.Set(c.Int63() - c.Int63()) },
		func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(c.Int63n(1<<32), 0).UTC() },
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString("{}") },
		func(s *corev1.PodSpec, c randfill.Continue) {
			c.Fill(&s.Containers)
			c.Fill(&s.NodeSelector)
			c.Fill(&s.Tolerations)
		},
	).Funcs(functions...)
}

// Random fills an object with whatever the seed says.
func Random(seed int64, obj client.Object) { filler(seed).Fill(obj) }

// Fuzz looks for a job that a kind's declaration does not survive, and for one that the kind's other functions do not.
func Fuzz[T client.Object](f *testing.F, kind job.Kind[T], more ...func(seed int64)) {
	f.Helper()
	for seed := range int64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		Survive(t, kind, seed)
		for _, look := range more {
			look(seed)
		}
	})
}

// surviveChanges places, starts, stops and restores the job, by its own pod sets and by those of another.
func surviveChanges[T client.Object](kind job.Kind[T], j, other T, sets []kueue.PodSet) {
	_ = kind.Place(deepCopy(j), nil)
	placed := deepCopy(j)
	placements := make([]job.Placement, len(sets))
	for i := range sets {
		placements[i] = job.Placement{Name: sets[i].Name, Count: sets[i].Count, NodeSelector: map[string]string{"zone": "a"}}
	}
	_ = kind.Place(placed, placements)
	kind.SetSuspend(placed, !kind.Suspended(placed))
	if kind.Stop != nil {
		kind.Stop(deepCopy(placed), sets)
		kind.Stop(deepCopy(placed), nil)
	}
	kind.Restore(placed, sets)
	kind.Restore(placed, nil)
	kind.Restore(other, sets)
}

// surviveWebhook asks the webhook's functions.
func surviveWebhook[T client.Object](kind job.Kind[T], j, other T) {
	rules, complete := kind.Webhook, deepCopy(j)
	if rules.Default != nil {
		rules.Default(complete, job.DefaultGates())
	}
	if rules.Validate != nil {
		var none T
		rules.Validate(none, j)
		rules.Validate(other, j)
	}
	sets, err := kind.PodSetsOf(j, nil)
	if err != nil || rules.TemplatePath == nil {
		return
	}
	for i := range sets {
		_ = rules.TemplatePath(j, i).String()
	}
}
