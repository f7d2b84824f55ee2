package mirror

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

func simulationGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"}
}

// externalOriginal is a Workload whose job is of a kind without a Go type.
func externalOriginal() Original {
	wl := hubWorkload()
	wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Simulation", Name: "sim", UID: "job-uid"}}
	return Original{
		Origin: origin, Workload: wl, Kind: job.External(simulationGVK()), JobName: "sim",
		Job: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Simulation",
			"metadata": map[string]any{"namespace": "ns", "name": "sim", "uid": "job-uid"},
			"spec":     map[string]any{"managedBy": kueue.MultiKueueControllerName, "steps": int64(3)},
			"status":   map[string]any{"phase": "Waiting"},
		}},
	}
}

// externalWorker is a worker that serves the kind, and notes how objects are deleted.
func externalWorker(t *testing.T, deleted *[]client.DeleteOptions, objects ...client.Object) client.Client {
	t.Helper()
	scheme := worker(t).Scheme()
	scheme.AddKnownTypeWithName(simulationGVK(), &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(simulationGVK().GroupVersion().WithKind("SimulationList"), &unstructured.UnstructuredList{})
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&kueue.Workload{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
				if _, ok := obj.(*unstructured.Unstructured); ok && deleted != nil {
					*deleted = append(*deleted, *(&client.DeleteOptions{}).ApplyOptions(options))
				}
				return deleteAsAsked(ctx, c, obj, options...)
			},
		}).Build()
}

func admittedExternal(o Original, epoch int64, change func(*kueue.Workload)) *kueue.Workload {
	wl := o.WorkloadCopy(epoch)
	wl.UID = "remote-uid"
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue, Reason: "Admitted"})
	if change != nil {
		change(wl)
	}
	return wl
}

func over(reason kueue.Reason) func(*kueue.Workload) {
	return func(wl *kueue.Workload) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: string(reason), Message: "over",
		})
	}
}

func TestAnExternalJobIsCreatedStampedAndWithoutItsManager(t *testing.T) {
	o := externalOriginal()
	o.Stops = true
	c := externalWorker(t, nil, admittedExternal(o, 2, nil))
	if other, err := o.CreateJob(t.Context(), c, 2, false); other != nil || err != nil {
		t.Fatal(other, err)
	}
	found, err := o.Read(t.Context(), c)
	if err != nil || found.Job == nil {
		t.Fatal(found, err)
	}
	created, ok := found.Job.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("a %T was read", found.Job)
	}
	if diff := cmp.Diff(map[string]any{"steps": int64(3)}, created.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if _, has := created.Object["status"]; has {
		t.Error("the hub's status went along")
	}
	want := map[string]string{
		switchyard.OwnerUIDAnnotation: "wl-uid", dispatch.EpochAnnotation: "2", switchyard.OnHubLostAnnotation: string(switchyard.Stop),
		kueue.PrebuiltWorkloadNameKey: "wl",
	}
	if diff := cmp.Diff(want, created.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{kueue.MultiKueueOriginLabel: origin}, created.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(dispatch.Job{Holder: dispatch.Ours, Epoch: 2, HasWorkloadUID: true, NamesWorkload: true}, o.ObserveJob(created)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestTheHubsExternalJobIsBehindUntilItShowsTheWholeStatus(t *testing.T) {
	o := externalOriginal()
	remote, ok := o.JobCopy(2, false).(*unstructured.Unstructured)
	if !ok {
		t.Fatal("the copy is of another type")
	}
	remote.Object["status"] = map[string]any{"phase": "Done", "steps": int64(3)}
	if facts := o.ObserveJob(remote); !facts.StatusBehind || facts.Finished != nil {
		t.Errorf("facts %+v", facts)
	}
	next, changed, deferred := o.WithStatus(remote)
	if !changed || deferred {
		t.Errorf("changed %v, deferred %v", changed, deferred)
	}
	o.Job = next
	if diff := cmp.Diff(remote.Object["status"], next.(*unstructured.Unstructured).Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if facts := o.ObserveJob(remote); facts.StatusBehind {
		t.Errorf("facts %+v", facts)
	}
}

func TestAnExternalJobIsRemovedInTheBackgroundUnlessItsWorkloadSaysThatItHasEnded(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*kueue.Workload)
		spare  bool
		// spared: job and Workload are left.
		spared bool
	}{
		{name: "running", spare: true},
		{name: "ended, and its result counts", change: over(kueue.ReasonSucceeded), spare: true, spared: true},
		{name: "ended, and its result does not count", change: over(kueue.ReasonSucceeded)},
		{name: "out of sync", change: over(dispatch.OutOfSync), spare: true},
		{
			name: "ended in an epoch before", spare: true,
			change: func(wl *kueue.Workload) {
				over(kueue.ReasonSucceeded)(wl)
				wl.Annotations[dispatch.EpochAnnotation] = "1"
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := externalOriginal()
			remote := o.JobCopy(2, false)
			remote.SetUID("remote-job-uid")
			var deleted []client.DeleteOptions
			c := externalWorker(t, &deleted, admittedExternal(o, 2, tc.change), remote)
			// What the caches show is older: the end is not in them yet.
			seen := Found{Workload: admittedExternal(o, 2, nil), Job: remote}
			spared, err := o.Retract(t.Context(), c, Removal{BelowEpoch: 3, SpareJob: tc.spare, Seen: seen})
			if err != nil || (spared != nil) != tc.spared {
				t.Fatalf("spared %v, error %v", spared, err)
			}
			err = c.Get(t.Context(), o.Key(), &kueue.Workload{})
			if tc.spared {
				if err != nil || len(deleted) > 0 || spared.Workload == nil || spared.Job == nil {
					t.Errorf("workload: %v; deletions %v; found %+v", err, deleted, spared)
				}
				return
			}
			if !apierrors.IsNotFound(err) {
				t.Errorf("workload: %v", err)
			}
			if len(deleted) != 1 || *deleted[0].PropagationPolicy != metav1.DeletePropagationBackground || *deleted[0].Preconditions.UID != "remote-job-uid" {
				t.Errorf("deletions %+v", deleted)
			}
		})
	}
}

func TestAWorkerThatDoesNotServeAnExternalKindHasNoneOfItsJobs(t *testing.T) {
	o := externalOriginal()
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(worker(t).Scheme()).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
			if _, ok := obj.(*unstructured.Unstructured); ok {
				return &meta.NoKindMatchError{GroupKind: simulationGVK().GroupKind()}
			}
			return c.Get(ctx, key, obj, options...)
		},
	})
	if found, err := o.Read(t.Context(), c); err != nil || found != (Found{}) {
		t.Errorf("found %+v, error %v", found, err)
	}
}
