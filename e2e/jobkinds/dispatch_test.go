package jobkinds

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

const (
	runs  = `{"phase":"Running","active":4,"ready":4}`
	stops = `{"phase":"Pending","active":0,"ready":0}`
	ends  = `{"phase":"Succeeded","active":0,"ready":0,"succeeded":4,"message":"trained"}`
)

// submitted is a job as a user writes it.
func submitted(name string) *unstructured.Unstructured {
	job := run(name)
	unstructured.RemoveNestedField(job.Object, "spec", "suspend")
	return job
}

func isFinished(wl *kueue.Workload) bool {
	c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
	return c != nil && c.Reason == "Succeeded" && c.Message == "trained"
}

func hasReserved(wl *kueue.Workload) bool {
	return meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
}

func TestAHubDispatchesAKindForAsLongAsAJobKindDeclaresIt(t *testing.T) {
	f := startFleet(t)
	f.letHub(f.w1)
	f.serve(f.hub, f.w1)
	f.create(f.hub, f.declared())
	f.create(f.w1, f.declared())
	f.create(f.w2, f.declared())
	f.expectServing(f.hub, "True Started")
	f.expectServing(f.w1, "True Started")
	f.expectServing(f.w2, "False CRDMissing")
	f.expectConnection(f.w1, "True Connected")
	f.expectConnection(f.w2, "True Connected; kinds not served there: TrainingRun.v1.ml.example.com")

	t.Log("a job runs where its kind is served, its status comes back, and it can be stopped and run again")
	f.create(f.hub, submitted("first"))
	first := f.expectStarted(f.w1, "first", "")
	f.report(f.w1, first, runs)
	f.expectPhase("first", "Running")
	f.setActive("first", false)
	f.eventually("it stops", func(ctx context.Context) error {
		held, err := f.job(ctx, f.w1, "first")
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		if err := f.w1.Status().Patch(ctx, held, client.RawPatch("application/merge-patch+json", []byte(`{"status":`+stops+`}`))); client.IgnoreNotFound(err) != nil {
			return err
		}
		return fmt.Errorf("it is there: %v", held.Object["spec"])
	})
	f.expectWorkload("first", "gives its quota back", func(wl *kueue.Workload) bool { return !hasReserved(wl) })
	f.setActive("first", true)
	again := f.expectStarted(f.w1, "first", first.GetUID())
	f.report(f.w1, again, runs)
	f.expectPhase("first", "Running")
	f.create(f.hub, submitted("second"))
	second := f.expectStarted(f.w1, "second", "")
	f.report(f.w1, second, runs)
	f.expectPhase("second", "Running")

	t.Log("without its JobKind nothing is done about the kind")
	if err := f.hub.Delete(t.Context(), f.declared()); err != nil {
		t.Fatal(err)
	}
	f.expectConnection(f.w2, "True Connected")
	f.serve(f.w2)
	f.expectServing(f.w2, "True Started")
	f.report(f.w1, again, ends)
	f.stays("its jobs go on", func(ctx context.Context) error {
		held, err := f.job(ctx, f.w1, "second")
		if err == nil && (held.GetUID() != second.GetUID() || held.Object["spec"].(map[string]any)["suspend"] != false) {
			err = fmt.Errorf("it is %v", held.Object)
		}
		if err != nil {
			return err
		}
		for _, name := range []string{"first", "second"} {
			if wl, err := f.workloadOf(ctx, name); err != nil || !hasReserved(wl) {
				return fmt.Errorf("Workload of %s: %s %w", name, explain(wl), err)
			}
		}
		return nil
	})

	t.Log("declared again it is taken up, and what has ended meanwhile is seen; a worker that does not let the hub see the kind is told of")
	f.create(f.hub, f.declared())
	f.expectServing(f.hub, "True Started")
	f.expectPhase("first", "Succeeded")
	f.expectWorkload("first", "ends", isFinished)
	f.expectNothing(f.w1, "first")
	held, err := f.job(t.Context(), f.w1, "second")
	if err != nil || held.GetUID() != second.GetUID() {
		t.Fatalf("the job that ran on is another one: %v %v", held, err)
	}
	f.expectConnection(f.w2, "True Connected; kinds that the hub may not see there, until its account is granted get, list, watch, create and delete: "+
		"TrainingRun.v1.ml.example.com")
	f.stays("the other worker is given nothing", func(ctx context.Context) error {
		if n, err := f.workloadsAt(ctx, f.w2); err != nil || n > 0 {
			return fmt.Errorf("there are %d Workloads: %w", n, err)
		}
		return nil
	})

	t.Log("a JobKind that says no more how jobs run elsewhere leaves those that do alone, and turns new ones down")
	f.letHub(f.w2)
	f.patch(f.hub, f.declared(), `{"spec":{"dispatch":null}}`)
	f.expectServing(f.hub, "True Started")
	f.create(f.hub, func() *unstructured.Unstructured {
		job := submitted("third")
		_ = unstructured.SetNestedField(job.Object, kueue.MultiKueueControllerName, "spec", "managedBy")
		return job
	}())
	f.expectWorkload("third", "is turned down", func(wl *kueue.Workload) bool {
		c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
		return c != nil && strings.Contains(explain(wl), "its JobKind has no spec.dispatch") || strings.Contains(explain(wl), "TrainingRun cannot be managed by another controller: its JobKind has no spec.dispatch")
	})
	f.stays("the one that runs goes on", func(ctx context.Context) error {
		held, err := f.job(ctx, f.w1, "second")
		if err == nil && held.GetUID() != second.GetUID() {
			err = fmt.Errorf("it is another: %v", held.Object)
		}
		return err
	})

	t.Log("and one that says it again takes them up")
	f.patch(f.hub, f.declared(), `{"spec":{"dispatch":{"managedBy":{"path":"spec.managedBy","default":"ml.example.com/controller"}}}}`)
	f.expectServing(f.hub, "True Started")
	f.expectConnection(f.w2, "True Connected")
	f.report(f.w1, held, ends)
	f.expectPhase("second", "Succeeded")
	f.expectWorkload("second", "ends", isFinished)
	f.expectNothing(f.w1, "second")
}
