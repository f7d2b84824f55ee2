package clusters_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"switchyard.dev/e2e/clusters"
)

// kinds tests kinds of jobs on a cluster.
type kinds struct{ client client.Client }

func newClient(t *testing.T, c *clusters.Cluster) client.Client {
	t.Helper()
	made, err := client.New(c.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func (k kinds) create(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := parse(t, manifest)
	if err := k.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// refuses tests that an operator's webhook refuses an object, with words of its own.
func (k kinds) refuses(t *testing.T, why, manifest string) {
	t.Helper()
	err := k.client.Create(t.Context(), parse(t, manifest), client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("the answer is %v; want one with %q", err, why)
	}
}

func (k kinds) patch(t *testing.T, object *unstructured.Unstructured, patch string) {
	t.Helper()
	if err := k.client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// eventuallyHas waits for a condition of an object.
func (k kinds) eventuallyHas(t *testing.T, object *unstructured.Unstructured, condition, status string) {
	t.Helper()
	eventually(t, object.GetKind()+" has "+condition+"="+status, func() error {
		if err := k.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		if err != nil {
			return err
		}
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == condition && c["status"] == status {
				return nil
			}
		}
		return fmt.Errorf("status %s", statusOf(object))
	})
}

// eventuallyIs waits until a field of an object, given as a path such as "status.state", has a value.
func (k kinds) eventuallyIs(t *testing.T, object *unstructured.Unstructured, path, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has %s=%s", object.GetKind(), path, want), func() error {
		if err := k.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		got, _, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
		if err != nil {
			return err
		}
		if fmt.Sprint(got) != want {
			return fmt.Errorf("status %s", statusOf(object))
		}
		return nil
	})
}

// eventuallyPods waits until so many pods are ready and there are no others.
func (k kinds) eventuallyPods(t *testing.T, want int, of client.MatchingLabels) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d pods of %v are ready", want, of), func() error {
		pods, err := k.pods(t.Context(), of)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
			}
		}
		if len(pods) != want {
			return fmt.Errorf("there are %d", len(pods))
		}
		return nil
	})
}

// endPods lets pods end with success.
func (k kinds) endPods(t *testing.T, of client.MatchingLabels) {
	t.Helper()
	pods, err := k.pods(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"metadata":{"annotations":{"` + clusters.RunForAnnotation + `":"100ms"}}}`)
	for i := range pods {
		if err := k.client.Patch(t.Context(), &pods[i], client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
}

func (k kinds) pods(ctx context.Context, of client.MatchingLabels) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := k.client.List(ctx, pods, client.InNamespace("default"), of)
	return pods.Items, err
}

func statusOf(object *unstructured.Unstructured) []byte {
	text, err := json.Marshal(object.Object["status"])
	if err != nil {
		return []byte(err.Error())
	}
	return text
}
