package job_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

func externalGVK() job.Integration {
	return job.External(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"})
}

// newExternalJob is a job on the hub with that spec and status.
func newExternalJob(spec, status map[string]any) *unstructured.Unstructured {
	fields := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Simulation",
		"metadata": map[string]any{
			"namespace": "ns", "name": "s", "uid": "u", "resourceVersion": "7", "generation": int64(2),
			"creationTimestamp": "2026-11-22T00:00:00Z",
			"labels":            map[string]any{kueue.QueueNameLabel: "q"},
			"annotations":       map[string]any{"note": "kept"},
			"finalizers":        []any{"example.com/keep"},
			"ownerReferences":   []any{map[string]any{"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": "x"}},
		},
		"extra": "of the hub",
	}
	if spec != nil {
		fields["spec"] = spec
	}
	if status != nil {
		fields["status"] = status
	}
	return &unstructured.Unstructured{Object: fields}
}

func TestAJobOfAnExternalKindIsTheDispatchersIfItsSpecSaysSo(t *testing.T) {
	for _, tc := range []struct {
		name string
		spec map[string]any
		want string // why it is not
	}{
		{name: "handed over", spec: map[string]any{"managedBy": "kueue.x-k8s.io/multikueue"}},
		{name: "nobody's", spec: map[string]any{}, want: `Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not ""`},
		{name: "without a spec", want: `Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not ""`},
		{
			name: "somebody else's", spec: map[string]any{"managedBy": "example.com/other"},
			want: `Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "example.com/other"`,
		},
		{
			name: "of another form", spec: map[string]any{"managedBy": map[string]any{"name": "x"}},
			want: `Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not ""`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			managed, why := externalGVK().IsManagedByMultiKueue(newExternalJob(tc.spec, nil))
			if managed != (tc.want == "") || why != tc.want {
				t.Errorf("managed %v, because %q", managed, why)
			}
		})
	}
}

func TestTheRemoteCopyOfAnExternalJobIsItsMetadataAndSpecStamped(t *testing.T) {
	local := newExternalJob(map[string]any{
		"managedBy": "kueue.x-k8s.io/multikueue", "suspend": false, "steps": int64(3), "nested": map[string]any{"managedBy": "kept"},
	}, map[string]any{"phase": "Running"})
	before := local.DeepCopy()
	o := job.RemoteOptions{
		Origin: "hub-1", Workload: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "the-workload"}},
		Annotations: map[string]string{"epoch": "7"},
	}
	want := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Simulation",
		"metadata": map[string]any{
			"namespace": "ns", "name": "s",
			"labels":      map[string]any{kueue.QueueNameLabel: "q", kueue.MultiKueueOriginLabel: "hub-1"},
			"annotations": map[string]any{"note": "kept", "epoch": "7", kueue.PrebuiltWorkloadNameKey: "the-workload"},
		},
		"spec": map[string]any{"suspend": true, "steps": int64(3), "nested": map[string]any{"managedBy": "kept"}},
	}}
	if diff := cmp.Diff(any(want), any(externalGVK().RemoteCopy(local, o))); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, local); diff != "" {
		t.Errorf("the hub's job was changed (-want +got):\n%s", diff)
	}
	o.WorkloadNameInLabel = true
	labelled := externalGVK().RemoteCopy(local, o)
	if labelled.GetLabels()[kueue.PrebuiltWorkloadNameKey] != "the-workload" || job.PrebuiltWorkloadName(labelled) != "the-workload" ||
		labelled.GetAnnotations()[kueue.PrebuiltWorkloadNameKey] != "" {
		t.Errorf("labels %v, annotations %v", labelled.GetLabels(), labelled.GetAnnotations())
	}
}

func TestNoFieldIsAddedToTheSpecOfAnExternalJob(t *testing.T) {
	o := job.RemoteOptions{Origin: "hub-1", Workload: &kueue.Workload{}}
	for _, tc := range []struct {
		name       string
		spec, want map[string]any
	}{
		{name: "without suspend", spec: map[string]any{"steps": int64(1)}, want: map[string]any{"steps": int64(1)}},
		{name: "with a suspend of its own kind", spec: map[string]any{"suspend": "later"}, want: map[string]any{"suspend": "later"}},
		{name: "with managedBy alone", spec: map[string]any{"managedBy": "x"}, want: map[string]any{}},
		{name: "without a spec"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			copied, ok := externalGVK().RemoteCopy(newExternalJob(tc.spec, nil), o).(*unstructured.Unstructured)
			if !ok {
				t.Fatal("the copy is of another type")
			}
			got, _, _ := unstructured.NestedMap(copied.Object, "spec")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheStatusOfAnExternalJobIsCopiedWhole(t *testing.T) {
	for _, tc := range []struct {
		name                string
		local, remote, want map[string]any
		changed             bool
	}{
		{name: "the first one", remote: map[string]any{"phase": "Running"}, want: map[string]any{"phase": "Running"}, changed: true},
		{
			name: "another one takes its place", local: map[string]any{"phase": "Running", "since": "noon"},
			remote: map[string]any{"phase": "Done", "steps": []any{int64(1)}}, want: map[string]any{"phase": "Done", "steps": []any{int64(1)}},
			changed: true,
		},
		{name: "the same again", local: map[string]any{"phase": "Done"}, remote: map[string]any{"phase": "Done"}, want: map[string]any{"phase": "Done"}},
		{name: "none yet", local: map[string]any{"phase": "Waiting"}, want: map[string]any{"phase": "Waiting"}},
		{name: "none anywhere"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			local, remote := newExternalJob(map[string]any{"here": true}, tc.local), newExternalJob(map[string]any{"here": false}, tc.remote)
			untouched := remote.DeepCopy()
			changed, deferred := externalGVK().CopyStatus(local, remote)
			if changed != tc.changed || deferred {
				t.Errorf("changed %v, deferred %v", changed, deferred)
			}
			if diff := cmp.Diff(newExternalJob(map[string]any{"here": true}, tc.want), local); diff != "" {
				t.Errorf("local job (-want +got):\n%s", diff)
			}
			if tc.changed {
				local.Object["status"].(map[string]any)["phase"] = "changed since"
			}
			if diff := cmp.Diff(untouched, remote); diff != "" {
				t.Errorf("the remote job was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsKeptOfARemoteExternalJobIsMetadataAndStatus(t *testing.T) {
	kind := externalGVK()
	whole := newExternalJob(map[string]any{"large": "template"}, map[string]any{"phase": "Running"})
	whole.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}})
	kind.Strip(whole)
	kind.Strip(whole)
	want := newExternalJob(nil, map[string]any{"phase": "Running"})
	delete(want.Object, "extra")
	if diff := cmp.Diff(want, whole); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAnExternalKindSaysWhatItIsAndLeavesJobsToOthers(t *testing.T) {
	kind := externalGVK()
	if kind.Name() != "Simulation.v1.example.com" || !kind.Mirrorable() || kind.ReportsOutcome() || kind.DeletePropagation() != metav1.DeletePropagationBackground {
		t.Errorf("name %q, mirrorable %v, tells ends %v, deletion %q", kind.Name(), kind.Mirrorable(), kind.ReportsOutcome(), kind.DeletePropagation())
	}
	if got := kind.New().GetObjectKind().GroupVersionKind(); got != kind.GVK() {
		t.Errorf("a new one is %v", got)
	}
	if got := kind.NewList().GetObjectKind().GroupVersionKind(); got != kind.GVK().GroupVersion().WithKind("SimulationList") {
		t.Errorf("a new list is %v", got)
	}
	if diff := cmp.Diff(job.Progress{}, kind.Progress(newExternalJob(nil, map[string]any{"phase": "Done"}))); diff != "" {
		t.Errorf("progress:\n%s", diff)
	}
	if err := kind.Setup(nil, job.Options{}); err != nil {
		t.Error(err)
	}
	if err := kind.SetupWebhook(nil, job.Options{}, true); err != nil {
		t.Error(err)
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "Simulation.v1.example.com was given a *v1beta2.Workload") {
			t.Errorf("panicked with %q", text)
		}
	}()
	kind.Strip(&kueue.Workload{})
}
