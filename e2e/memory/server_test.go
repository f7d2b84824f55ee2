package memory

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const jobs = "jobs"

func begin(t *testing.T) (*Server, client.WithWatch) {
	t.Helper()
	s := Start("test",
		Resource{GroupVersionKind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, Plural: jobs, Namespaced: true, Status: true},
		Resource{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Plural: "namespaces"})
	t.Cleanup(s.Stop)
	raw, err := s.Kubeconfig("somebody", "")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func job(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](1)}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnObjectIsCreatedChangedAndDeletedAsOnAnAPIServer(t *testing.T) {
	_, c := begin(t)
	ctx := t.Context()
	j := job("a")
	j.Status.Active = 3
	must(t, c.Create(ctx, j))
	if j.UID == "" || j.ResourceVersion == "" || j.Generation != 1 || j.Status.Active != 0 {
		t.Fatalf("created %+v", j)
	}
	if err := c.Create(ctx, job("a")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one of the name: %v", err)
	}
	stale := j.DeepCopy()
	before := j.DeepCopy()
	j.Spec.Parallelism, j.Status.Active = ptr.To[int32](2), 9
	must(t, c.Patch(ctx, j, client.MergeFrom(before)))
	if *j.Spec.Parallelism != 2 || j.Generation != 2 || j.Status.Active != 0 {
		t.Errorf("patched %+v", j)
	}
	stale.Labels = map[string]string{"a": "b"}
	if err := c.Update(ctx, stale); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v", err)
	}
	j.Status.Active = 1
	j.Spec.Parallelism = ptr.To[int32](7)
	must(t, c.Status().Update(ctx, j))
	got := &batchv1.Job{}
	must(t, c.Get(ctx, client.ObjectKeyFromObject(j), got))
	if got.Status.Active != 1 || *got.Spec.Parallelism != 2 || got.Generation != 2 {
		t.Errorf("after its status was written: %+v", got)
	}
	if err := c.Delete(ctx, got, client.Preconditions{UID: ptr.To(types.UID("other"))}); !apierrors.IsConflict(err) {
		t.Errorf("deleted another one: %v", err)
	}
	must(t, c.Delete(ctx, got, client.Preconditions{UID: &got.UID, ResourceVersion: &got.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	if err := c.Get(ctx, client.ObjectKeyFromObject(j), got); !apierrors.IsNotFound(err) {
		t.Errorf("after its deletion: %v", err)
	}
}

func TestAnObjectWithFinalizersStaysUntilTheyAreGone(t *testing.T) {
	_, c := begin(t)
	j := job("a")
	j.Finalizers = []string{"x/y"}
	must(t, c.Create(t.Context(), j))
	must(t, c.Delete(t.Context(), j))
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(j), j))
	if j.DeletionTimestamp == nil {
		t.Fatal("it is not going")
	}
	j.Finalizers = nil
	must(t, c.Update(t.Context(), j))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(j), j); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestAWriteThatChangesNothingIsNone(t *testing.T) {
	_, c := begin(t)
	j := job("a")
	must(t, c.Create(t.Context(), j))
	version := j.ResourceVersion
	must(t, c.Patch(t.Context(), j, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"parallelism":1}}`))))
	if j.ResourceVersion != version {
		t.Errorf("version %s became %s", version, j.ResourceVersion)
	}
}

func apply(t *testing.T, c client.Client, manager string, conditions ...string) []string {
	t.Helper()
	var list []batchv1.JobCondition
	for _, name := range conditions {
		list = append(list, batchv1.JobCondition{Type: batchv1.JobConditionType(name), Status: "True"})
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "a", "namespace": "n"},
		"status": map[string]any{"conditions": list},
	})
	must(t, err)
	j := job("a")
	must(t, c.Status().Patch(t.Context(), j, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner(manager), client.ForceOwnership))
	var names []string
	for _, is := range j.Status.Conditions {
		names = append(names, string(is.Type))
	}
	return names
}

func TestAnApplyRemovesWhatItsManagerLeavesOutAndNothingElse(t *testing.T) {
	_, c := begin(t)
	must(t, c.Create(t.Context(), job("a")))
	for i, step := range []struct {
		manager string
		applied []string
		want    []string
	}{
		{"one", []string{"A", "B"}, []string{"A", "B"}},
		{"two", []string{"B", "C"}, []string{"A", "B", "C"}},
		{"one", []string{"A"}, []string{"A", "B", "C"}},
		{"two", []string{"C"}, []string{"A", "C"}},
		{"one", nil, []string{"C"}},
	} {
		if diff := cmp.Diff(step.want, apply(t, c, step.manager, step.applied...)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch has ended")
		}
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("nothing comes")
	}
	return watch.Event{}
}

func TestAWatchTellsOfWhatEntersAndLeavesItsSelection(t *testing.T) {
	_, c := begin(t)
	ctx := t.Context()
	list := &batchv1.JobList{}
	must(t, c.List(ctx, list))
	j := job("a")
	must(t, c.Create(ctx, j)) // before the watch begins, after the list
	w, err := c.Watch(ctx, &batchv1.JobList{}, client.MatchingLabels{"in": "yes"}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	must(t, err)
	defer w.Stop()
	for _, labels := range []map[string]string{{"in": "yes"}, {"in": "yes", "more": "so"}, {}, {"in": "yes"}} {
		j.Labels = labels
		must(t, c.Update(ctx, j))
	}
	must(t, c.Delete(ctx, j))
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Added, watch.Deleted} {
		if e := next(t, w); e.Type != want {
			t.Errorf("%s, want %s", e.Type, want)
		}
	}
}

func TestAWatchFromBeforeWhatIsRememberedHasExpired(t *testing.T) {
	s, c := begin(t)
	for range maxHistory + maxHistory/4 + 2 {
		o := s.collection("namespaces")
		o.mu.Lock()
		_, err := o.put(map[string]any{"metadata": map[string]any{"name": "x"}})
		o.mu.Unlock()
		must(t, err)
	}
	_, err := c.Watch(t.Context(), &corev1.NamespaceList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "1"}})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v", err)
	}
}

func TestACacheSyncsAndFollows(t *testing.T) {
	s, c := begin(t)
	must(t, s.Put(jobs, job("before")))
	raw, err := s.Kubeconfig("cache", "")
	must(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	must(t, err)
	seen, err := cache.New(config, cache.Options{Scheme: clientgoscheme.Scheme})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go func() { _ = seen.Start(ctx) }()
	for seen.Get(ctx, client.ObjectKey{Namespace: "n", Name: "before"}, &batchv1.Job{}) != nil { // not started yet
		must(t, ctx.Err())
	}
	must(t, c.Create(ctx, job("after")))
	for seen.Get(ctx, client.ObjectKey{Namespace: "n", Name: "after"}, &batchv1.Job{}) != nil {
		must(t, ctx.Err())
	}
	if n := s.Requests()[Request{User: "cache", Verb: "list", Resource: "jobs.batch"}]; n > 1 {
		t.Errorf("%d lists", n)
	}
	if n := s.Requests()[Request{User: "somebody", Verb: "create", Resource: "jobs.batch"}]; n != 1 {
		t.Errorf("%d creations", n)
	}
}

func TestAChangeOnTheSpotIsToldLikeAnyOther(t *testing.T) {
	s, _ := begin(t)
	var told []string
	s.Subscribe(func(c Change) { told = append(told, string(c.Type)+" "+c.Name) })
	must(t, s.Put(jobs, job("a")))
	must(t, s.Change(jobs, "n", "a", func(fields map[string]any) { fields["status"] = map[string]any{"active": int64(1)} }))
	got := &batchv1.Job{}
	must(t, s.Get(jobs, "n", "a", got))
	if got.Status.Active != 1 || s.Count(jobs) != 1 {
		t.Errorf("it is %+v of %d", got.Status, s.Count(jobs))
	}
	if diff := cmp.Diff([]string{"ADDED a", "MODIFIED a"}, told); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
