package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config/samples"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// namespace and queue are those of the samples.
const namespace, queue = "vision", "train"

// eventually waits until check finds nothing missing.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 90*time.Second, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("not in time: %s: %v", what, last)
	}
}

// sample reads the job of a sample and gives it a name, and what it wraps, too. Its pods run until they are told to end.
func sample(t *testing.T, file, name string) *unstructured.Unstructured {
	t.Helper()
	objects, err := samples.Objects("kinds/" + file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	job := objects[len(objects)-1]
	job.SetName(name)
	setWrappedNames(job, name)
	dropKey(job.Object, clusters.RunForAnnotation)
	return job
}

// setWrappedNames gives the objects in an AppWrapper a name.
func setWrappedNames(job *unstructured.Unstructured, name string) {
	components, _, _ := unstructured.NestedFieldNoCopy(job.Object, "spec", "components")
	list, _ := components.([]any)
	for _, component := range list {
		template := component.(map[string]any)["template"].(map[string]any)
		template["metadata"].(map[string]any)["name"] = name
	}
}

// dropKey removes a key from all maps in a value.
func dropKey(value any, key string) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, key)
		for _, inner := range value {
			dropKey(inner, key)
		}
	case []any:
		for _, inner := range value {
			dropKey(inner, key)
		}
	}
}

func create(t *testing.T, s *installation.Site, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := s.Create(t.Context(), object); err != nil {
			t.Fatalf("%T %s at %s: %v", object, object.GetName(), s.Name, err)
		}
	}
}

// eventuallyHas waits for what a job's status says: "Type=Status" is a condition, "path=value" a field.
func eventuallyHas(t *testing.T, s *installation.Site, job *unstructured.Unstructured, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s %s at %s has %s", job.GetKind(), job.GetName(), s.Name, want), func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err
		}
		if name, value, _ := strings.Cut(want, "="); !hasCondition(job, name, value) && !hasField(job, name, value) {
			return fmt.Errorf("status %s", statusOf(job))
		}
		return nil
	})
}

func hasField(job *unstructured.Unstructured, path, want string) bool {
	got, found, err := unstructured.NestedFieldNoCopy(job.Object, strings.Split("status."+path, ".")...)
	return err == nil && found && fmt.Sprint(got) == want
}

func hasCondition(job *unstructured.Unstructured, name, want string) bool {
	conditions, _, err := unstructured.NestedSlice(job.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name && c["status"] == want {
			return true
		}
	}
	return false
}

func statusOf(job *unstructured.Unstructured) string {
	text, err := json.Marshal(job.Object["status"])
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// eventuallyPods waits until as many pods of a job run and there are no others.
func eventuallyPods(t *testing.T, s *installation.Site, of string, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d pods of %s run at %s", want, of, s.Name), func(ctx context.Context) error {
		pods, err := listPods(ctx, s, of)
		if err != nil {
			return err
		}
		var phases []string
		running := 0
		for i := range pods {
			phases = append(phases, fmt.Sprintf("%s %s", pods[i].Name, pods[i].Status.Phase))
			if pods[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if len(pods) != want || running != want {
			return fmt.Errorf("there are %v", phases)
		}
		return nil
	})
}

// listPods are the pods whose names begin with the job's, as every operator has it.
func listPods(ctx context.Context, s *installation.Site, of string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := s.List(ctx, pods, client.InNamespace(namespace))
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !strings.HasPrefix(pod.Name, of) }), err
}

// endPods lets those of the job's pods that a label selector selects end with success.
func endPods(t *testing.T, s *installation.Site, of, selector string) {
	t.Helper()
	selected, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := listPods(t.Context(), s, of)
	if err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"metadata":{"annotations":{"` + clusters.RunForAnnotation + `":"100ms"}}}`)
	for i := range pods {
		if !selected.Matches(labels.Set(pods[i].Labels)) {
			continue
		}
		if err := s.Patch(t.Context(), &pods[i], client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// errNoWorkload tells that a job has no Workload.
var errNoWorkload = errors.New("there is no Workload")

// workloadOf is the one Workload of a job.
func workloadOf(ctx context.Context, s *installation.Site, job *unstructured.Unstructured) (*kueue.Workload, error) {
	var list kueue.WorkloadList
	if err := s.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var found []*kueue.Workload
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.Kind == job.GetKind() && owner.Name == job.GetName() {
			found = append(found, &list.Items[i])
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s %s", errNoWorkload, job.GetKind(), job.GetName())
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("there are %d Workloads of %s %s", len(found), job.GetKind(), job.GetName())
	}
	return found[0], nil
}

// eventuallyWorkload waits until a condition of the job's Workload is true, and returns the Workload.
func eventuallyWorkload(t *testing.T, s *installation.Site, job *unstructured.Unstructured, condition string) *kueue.Workload {
	t.Helper()
	var wl *kueue.Workload
	eventually(t, fmt.Sprintf("the Workload of %s %s at %s is %s", job.GetKind(), job.GetName(), s.Name, condition), func(ctx context.Context) error {
		var err error
		if wl, err = workloadOf(ctx, s, job); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(wl.Status.Conditions, condition) {
			return fmt.Errorf("its conditions are %s, its checks %+v", conditionsOf(wl), wl.Status.AdmissionChecks)
		}
		return nil
	})
	return wl
}

func conditionsOf(wl *kueue.Workload) string {
	var b strings.Builder
	for _, c := range wl.Status.Conditions {
		fmt.Fprintf(&b, "%s=%s %s (%s); ", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// setActive has a job stopped, or run again.
func setActive(t *testing.T, s *installation.Site, job *unstructured.Unstructured, active bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("the Workload of %s gets active=%t", job.GetName(), active), func(ctx context.Context) error {
		wl, err := workloadOf(ctx, s, job)
		if err != nil {
			return err
		}
		return s.Patch(ctx, wl, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"active":%t}}`, active)))
	})
}

// remove deletes a job and waits until it and its pods are gone.
func remove(t *testing.T, s *installation.Site, job *unstructured.Unstructured) {
	t.Helper()
	if err := s.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	eventuallyGone(t, s, job)
}

func eventuallyGone(t *testing.T, s *installation.Site, job *unstructured.Unstructured) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s %s is gone from %s", job.GetKind(), job.GetName(), s.Name), func(ctx context.Context) error {
		err := s.Get(ctx, client.ObjectKeyFromObject(job), job.DeepCopy())
		if err == nil {
			return fmt.Errorf("it is there: %s", statusOf(job))
		}
		return client.IgnoreNotFound(err)
	})
}

// explain tells of a failed test what each cluster holds of its job.
func explain(t *testing.T, s *stage, job *unstructured.Unstructured) {
	t.Helper()
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, site := range []*installation.Site{s.hub, s.training, s.ray} {
		held := job.DeepCopy()
		err := site.Get(ctx, client.ObjectKeyFromObject(job), held)
		t.Logf("%s at %s: %v %v\n%s", job.GetName(), site.Name, err, held.Object["spec"], statusOf(held))
		if wl, err := workloadOf(ctx, site, held); err != nil {
			t.Logf("%s at %s: %v", job.GetName(), site.Name, err)
		} else {
			t.Logf("Workload %s at %s: %s %+v", wl.Name, site.Name, conditionsOf(wl), wl.Status.AdmissionChecks)
		}
		pods, err := listPods(ctx, site, job.GetName())
		for i := range pods {
			t.Logf("pod %s at %s of %v: %s %v", pods[i].Name, site.Name, pods[i].CreationTimestamp, pods[i].Status.Phase, pods[i].Annotations)
		}
		if err != nil {
			t.Log(err)
		}
	}
}
