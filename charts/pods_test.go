package charts_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"switchyard.dev/charts"
)

// hooksOf are the names of the webhooks about objects of the core kinds that every cluster is full of.
func hooksOf(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var names []string
	for _, o := range objects {
		if !strings.HasSuffix(o.GetKind(), "WebhookConfiguration") {
			continue
		}
		for _, hook := range o.Object["webhooks"].([]any) {
			name, _, _ := unstructured.NestedString(hook.(map[string]any), "name")
			rules, _, _ := unstructured.NestedSlice(hook.(map[string]any), "rules")
			groups, _, _ := unstructured.NestedStringSlice(rules[0].(map[string]any), "apiGroups")
			if slices.Contains(groups, "") || slices.Contains(groups, "apps") {
				names = append(names, strings.TrimSuffix(name, ".kb.io"))
			}
		}
	}
	slices.Sort(names)
	return names
}

// A webhook that fails closed is in the way of every pod of the cluster while no replica answers.
func TestPodsWaitForWebhooksOnlyWhereTheConfigurationAsksForIt(t *testing.T) {
	for name, c := range map[string]struct {
		frameworks string
		want       []string
	}{
		"nothing said":   {"", nil},
		"none":           {"config: {integrations: {frameworks: []}}", nil},
		"jobs":           {"config: {integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}}", nil},
		"null":           {"config: {integrations: {frameworks: null}}", nil},
		"pods":           {"config: {integrations: {frameworks: [batch/job, pod]}}", []string{"mpod", "vpod"}},
		"Deployments":    {"config: {integrations: {frameworks: [deployment]}}", []string{"mdeployment", "mpod", "vdeployment", "vpod"}},
		"StatefulSets":   {"config: {integrations: {frameworks: [statefulset]}}", []string{"mpod", "mstatefulset", "vpod", "vstatefulset"}},
		"LeaderWorkers":  {"config: {integrations: {frameworks: [leaderworkerset.x-k8s.io/leaderworkerset]}}", []string{"mpod", "vpod"}},
		"pods, on a hub": {"{role: hub, config: {integrations: {frameworks: [batch/job, pod]}}}", []string{"mpod", "vpod"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := hooksOf(t, render(t, valuesOf(t, []byte(c.frameworks))).Objects)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("webhooks (-want +got):\n%s", diff)
			}
		})
	}
}

// What excludes the system's own namespaces from the webhooks of jobs does so from these.
func TestTheSystemsPodsWaitForNoWebhook(t *testing.T) {
	values := "{webhooks: {excludedNamespaces: [platform]}, config: {integrations: {frameworks: [pod, deployment, statefulset]}}}"
	seen := 0
	for name, hook := range rendered(t, values) {
		if name != "vpod.kb.io" && name != "vdeployment.kb.io" && name != "vstatefulset.kb.io" {
			continue
		}
		seen++
		if diff := cmp.Diff([]string{"kube-system", namespace, "platform"}, hook.NamespaceSelector.MatchExpressions[0].Values); diff != "" {
			t.Errorf("%s is kept out of (-want +got):\n%s", name, diff)
		}
	}
	if seen != 3 {
		t.Errorf("%d webhooks were looked at", seen)
	}
}

func TestAnOverlayTakesUpTheWebhooksOfPodsAsAComponent(t *testing.T) {
	directory := t.TempDir()
	if err := os.CopyFS(filepath.Join(directory, "config"), os.DirFS("../config")); err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(directory, "overlay")
	if err := os.Mkdir(overlay, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../config/worker]\ncomponents: [../config/pods]\n"
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := charts.Overlay(overlay)
	if err != nil {
		t.Fatal(err)
	}
	checkStrictly(t, strictDecoder(t), objects)
	want := []string{"mdeployment", "mpod", "mstatefulset", "vdeployment", "vpod", "vstatefulset"}
	if diff := cmp.Diff(want, hooksOf(t, objects)); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
	if got := len(validating(t, objects)); got <= 3 {
		t.Errorf("the others are gone, there are %d", got)
	}
}
