package jobkinds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// fleet is a hub and two workers with the built programs, which know no kind of job but those that are compiled in.
type fleet struct {
	t           *testing.T
	hub, w1, w2 *installation.Site
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	integrations := map[string]any{"frameworks": []any{"batch/job"}}
	f := raise(t, integrations, clusters.Options{Name: "hub", Controllers: true}, clusters.Options{Name: "w1", Controllers: true}, clusters.Options{Name: "w2", Controllers: true})
	flavor, pods := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "any"}}, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("100")}
	f.makeQueue(f.hub, flavor, pods, "workers")
	f.makeQueue(f.w1, flavor, pods)
	f.makeQueue(f.w2, flavor, pods)
	return f
}

// raise starts a hub with one or two workers, whose programs have such integrations, and does at each what the guide says.
func raise(t *testing.T, integrations map[string]any, hub clusters.Options, workers ...clusters.Options) *fleet {
	t.Helper()
	log.SetLogger(zap.New(zap.WriteTo(t.Output())))
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	stage, err := installation.StartStage(t.Context(), installation.StageOptions{
		Hub:      hub,
		Workers:  workers,
		Programs: filepath.Join(root, "bin"),
		Configuration: map[string]any{
			"multiKueue":   map[string]any{"gcInterval": "2s"},
			"integrations": integrations,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range stage.Sites() {
				t.Logf("--- %s\n%s", s.Name, s.Program.LogTail())
			}
		}
		if err := stage.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := &fleet{t: t, hub: stage.Hub, w1: stage.Workers[0]}
	f.permit(f.hub, "switchyard-hub")
	var names []string
	for _, worker := range stage.Workers {
		f.permit(worker, "switchyard-worker")
		names = append(names, worker.Name)
	}
	if len(stage.Workers) > 1 {
		f.w2 = stage.Workers[1]
	}
	f.create(f.hub, installation.MultiKueueCheck("workers", names...)...)
	return f
}

// permit does at a site what the guide says. The programs run outside of their clusters, by users of their own.
func (f *fleet) permit(at *installation.Site, user string) {
	f.t.Helper()
	for _, obj := range manifests(f.t, "program.yaml") {
		if obj.GetKind() != "ClusterRole" && obj.GetKind() != "ClusterRoleBinding" {
			f.create(at, obj)
		}
	}
	for _, obj := range manifests(f.t, "role.yaml") {
		f.create(at, obj, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: obj.GetName()},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: obj.GetName()},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	}
}

// makeQueue makes a queue with quota of one flavor.
func (f *fleet) makeQueue(at *installation.Site, flavor *kueue.ResourceFlavor, quota corev1.ResourceList, checks ...kueue.AdmissionCheckReference) {
	f.t.Helper()
	group := kueue.ResourceGroup{Flavors: []kueue.FlavorQuotas{{Name: kueue.ResourceFlavorReference(flavor.Name)}}}
	for name, quantity := range quota {
		group.CoveredResources = append(group.CoveredResources, name)
		group.Flavors[0].Resources = append(group.Flavors[0].Resources, kueue.ResourceQuota{Name: name, NominalQuota: quantity})
	}
	queue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: kueue.ClusterQueueSpec{
		NamespaceSelector: &metav1.LabelSelector{},
		Preemption:        &kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority},
		ResourceGroups:    []kueue.ResourceGroup{group},
	}}
	for _, check := range checks {
		queue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: check}}}
	}
	f.create(at, flavor.DeepCopy(), queue, &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "main"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "all"},
	})
}

// letHub gives the hub's account on a worker what the guide says.
func (f *fleet) letHub(at *installation.Site) {
	f.t.Helper()
	for _, obj := range manifests(f.t, "hub-access.yaml") {
		f.create(at, obj)
	}
}

// manifests are the objects of a sample.
func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile("../../config/samples/jobkinds/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal(document, &obj.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}

// declared is the sample's JobKind.
func (f *fleet) declared() *switchyard.JobKind {
	f.t.Helper()
	declared := &switchyard.JobKind{}
	readSample(f.t, "trainingrun.yaml", declared)
	return declared
}

// serve installs the sample's CRD.
func (f *fleet) serve(at ...*installation.Site) {
	f.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	readSample(f.t, "trainingrun.crd.yaml", crd)
	for _, site := range at {
		if err := site.InstallCRDs(f.t.Context(), []*apiextensionsv1.CustomResourceDefinition{crd}); err != nil {
			f.t.Fatal(err)
		}
	}
}

func readSample(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile("../../config/samples/jobkinds/" + file)
	if err == nil {
		err = yaml.UnmarshalStrict(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) create(at *installation.Site, objects ...client.Object) {
	f.t.Helper()
	for _, obj := range objects {
		if err := at.Create(f.t.Context(), obj); err != nil {
			f.t.Fatalf("%T %s at %s: %v", obj, obj.GetName(), at.Name, err)
		}
	}
}

// patch merges into an object.
func (f *fleet) patch(at *installation.Site, obj client.Object, merged string) {
	f.t.Helper()
	if err := at.Patch(f.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(merged))); err != nil {
		f.t.Fatalf("change %T %s at %s: %v", obj, obj.GetName(), at.Name, err)
	}
}

// eventually waits until check finds nothing missing.
func (f *fleet) eventually(what string, check func(context.Context) error) {
	f.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(f.t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		if err := check(ctx); err == nil || ctx.Err() == nil { // the last that is not for want of time
			last = err
		}
		return last == nil, nil
	})
	if err != nil {
		f.t.Fatalf("not in time: %s: %v", what, last)
	}
}

// stays makes sure that check finds nothing wrong for some seconds.
func (f *fleet) stays(what string, check func(context.Context) error) {
	f.t.Helper()
	err := wait.PollUntilContextTimeout(f.t.Context(), 200*time.Millisecond, 4*time.Second, true, func(ctx context.Context) (bool, error) {
		return false, check(ctx)
	})
	if !wait.Interrupted(err) {
		f.t.Fatalf("%s: %v", what, err)
	}
}

// expectServing waits for what a site's JobKind says of itself.
func (f *fleet) expectServing(at *installation.Site, want string) {
	f.t.Helper()
	f.expectServingOf(at, f.declared(), want)
}

// expectServingOf waits for what a site's JobKind of a name says of itself.
func (f *fleet) expectServingOf(at *installation.Site, declared *switchyard.JobKind, want string) {
	f.t.Helper()
	f.eventually("JobKind at "+at.Name+" is "+want, func(ctx context.Context) error {
		declared := declared.DeepCopy()
		if err := at.Get(ctx, client.ObjectKeyFromObject(declared), declared); err != nil {
			return err
		}
		c := meta.FindStatusCondition(declared.Status.Conditions, switchyard.JobKindServing)
		if c == nil || string(c.Status)+" "+c.Reason != want || c.ObservedGeneration != declared.Generation {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
}

// expectConnection waits for what the hub says of a worker.
func (f *fleet) expectConnection(worker *installation.Site, want string) {
	f.t.Helper()
	f.eventually("the hub says of "+worker.Name+" "+want, func(ctx context.Context) error {
		cluster := &kueue.MultiKueueCluster{}
		if err := f.hub.Get(ctx, client.ObjectKey{Name: worker.Name}, cluster); err != nil {
			return err
		}
		c := meta.FindStatusCondition(cluster.Status.Conditions, kueue.MultiKueueClusterActive)
		if c == nil || string(c.Status)+" "+c.Message != want {
			return fmt.Errorf("it says %+v", c)
		}
		return nil
	})
}

// job reads a job.
func (f *fleet) job(ctx context.Context, at *installation.Site, name string) (*unstructured.Unstructured, error) {
	found := run(name)
	err := at.Get(ctx, client.ObjectKeyFromObject(found), found)
	return found, err
}

// expectStarted waits until a job has been started on a worker, and returns it.
func (f *fleet) expectStarted(at *installation.Site, name string, except types.UID) *unstructured.Unstructured {
	f.t.Helper()
	var found *unstructured.Unstructured
	f.eventually(name+" is started at "+at.Name, func(ctx context.Context) error {
		var err error
		if found, err = f.job(ctx, at, name); err != nil {
			wl, err2 := f.workloadOf(ctx, name)
			return fmt.Errorf("%w; %s; %w", err, explain(wl), err2)
		}
		if suspended, _, _ := unstructured.NestedBool(found.Object, "spec", "suspend"); suspended || found.GetUID() == except {
			return fmt.Errorf("it is %v %v", found.GetUID(), found.Object["spec"])
		}
		return nil
	})
	return found
}

// report plays the kind's controller.
func (f *fleet) report(at *installation.Site, job *unstructured.Unstructured, status string) {
	f.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	if err := at.Status().Patch(f.t.Context(), job, patch); err != nil {
		f.t.Fatalf("report on %s at %s: %v", job.GetName(), at.Name, err)
	}
}

// expectPhase waits for the phase that the hub's job shows.
func (f *fleet) expectPhase(name, want string) {
	f.t.Helper()
	f.eventually(name+" is "+want+" at the hub", func(ctx context.Context) error {
		found, err := f.job(ctx, f.hub, name)
		if err != nil {
			return err
		}
		if phase, _, _ := unstructured.NestedString(found.Object, "status", "phase"); phase != want {
			wl, err := f.workloadOf(ctx, name)
			return fmt.Errorf("its status is %v; %s; %w", found.Object["status"], explain(wl), err)
		}
		return nil
	})
}

// workloadOf is the hub's Workload of a job.
func (f *fleet) workloadOf(ctx context.Context, name string) (*kueue.Workload, error) {
	return workloadAt(ctx, f.hub, name)
}

// workloadAt is a site's Workload of a job.
func workloadAt(ctx context.Context, at *installation.Site, name string) (*kueue.Workload, error) {
	var list kueue.WorkloadList
	if err := at.List(ctx, &list, client.InNamespace("default")); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.Name == name {
			return &list.Items[i], nil
		}
	}
	return nil, errors.New("it has no Workload")
}

func explain(wl *kueue.Workload) string {
	if wl == nil {
		return "no Workload"
	}
	var b bytes.Buffer
	for _, c := range wl.Status.Conditions {
		fmt.Fprintf(&b, "%s=%s %s (%s); ", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, c := range wl.Status.AdmissionChecks {
		fmt.Fprintf(&b, "check %s (%s); ", c.State, c.Message)
	}
	return b.String()
}

// expectWorkload waits until the Workload of a job is as it should be.
func (f *fleet) expectWorkload(name, what string, is func(*kueue.Workload) bool) {
	f.t.Helper()
	f.eventually("the Workload of "+name+" "+what, func(ctx context.Context) error {
		wl, err := f.workloadOf(ctx, name)
		if err == nil && !is(wl) {
			err = errors.New(explain(wl))
		}
		return err
	})
}

// setActive has a job stopped, or run again.
func (f *fleet) setActive(name string, active bool) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("%s gets active=%t", name, active), func(ctx context.Context) error {
		wl, err := f.workloadOf(ctx, name)
		if err != nil {
			return err
		}
		return f.hub.Patch(ctx, wl, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"active":%t}}`, active)))
	})
}

// expectNothing waits until a worker has neither the job nor any Workload.
func (f *fleet) expectNothing(at *installation.Site, name string) {
	f.t.Helper()
	f.eventually("nothing of "+name+" is left at "+at.Name, func(ctx context.Context) error {
		if found, err := f.job(ctx, at, name); err == nil {
			return fmt.Errorf("there is %v", found.Object)
		} else if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
			return err
		}
		return nil
	})
}

// workloadsAt counts the Workloads of a worker.
func (f *fleet) workloadsAt(ctx context.Context, at *installation.Site) (int, error) {
	var list kueue.WorkloadList
	err := at.List(ctx, &list, client.InNamespace("default"))
	return len(list.Items), err
}
