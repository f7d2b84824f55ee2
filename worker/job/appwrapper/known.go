package appwrapper

import (
	"errors"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shape tells where an object of a kind has its pod templates.
type shape struct {
	// list, optional, is the path of a list each of whose entries has a template; the other paths are relative to an entry then.
	list []string
	// template is the path of the pod template; where that of required is missing, there is no group.
	template, required []string
	// factors are the paths of numbers, 1 if missing, whose product is the number of pods; most, optional, is that of a number which
	// the first of them does not exceed.
	factors [][]string
	most    []string
}

// shapes are the kinds whose pods are known without being declared (contract: job-kinds.md 8): those that the AppWrapper's controller knows, counted
// as it does.
func shapes(gvk schema.GroupVersionKind) []shape {
	switch gvk {
	case schema.GroupVersionKind{Version: "v1", Kind: "Pod"}:
		return []shape{{}}
	case schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}:
		return []shape{{template: at("spec", "template"), factors: [][]string{at("spec", "replicas")}}}
	case schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}:
		return []shape{{template: at("spec", "template"), factors: [][]string{at("spec", "parallelism")}, most: at("spec", "completions")}}
	case schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}:
		return []shape{{
			list: at("spec", "replicatedJobs"), required: at("template"), template: at("template", "spec", "template"),
			factors: [][]string{at("template", "spec", "parallelism"), at("replicas")}, most: at("template", "spec", "completions"),
		}}
	case schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}:
		return []shape{pytorchReplica("Master"), pytorchReplica("Worker")}
	case schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}:
		return rayCluster("spec")
	case schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}:
		return rayCluster("spec", "rayClusterSpec")
	}
	return nil
}

func at(path ...string) []string { return path }

func pytorchReplica(name string) shape {
	prefix := at("spec", "pytorchReplicaSpecs", name)
	path := below(prefix, "template")
	return shape{template: path, required: path, factors: [][]string{below(prefix, "replicas")}}
}

func rayCluster(prefix ...string) []shape {
	return []shape{
		{template: below(prefix, "headGroupSpec", "template")},
		{list: below(prefix, "workerGroupSpecs"), required: at("template"), template: at("template"), factors: [][]string{at("replicas")}},
	}
}

// below is a path that shares nothing with the one that it begins with.
func below(prefix []string, path ...string) []string {
	return append(append([]string(nil), prefix...), path...)
}

// knownGroups returns the groups of pods of an object of a known kind; none of another kind. An error says what is wrong with the object.
func knownGroups(obj *unstructured.Unstructured) ([]group, error) {
	var groups []group
	for _, s := range shapes(obj.GroupVersionKind()) {
		found, err := s.groups(obj)
		if err != nil {
			return nil, err
		}
		groups = append(groups, found...)
	}
	for _, g := range groups {
		if _, err := podTemplate(obj, g.path); err != nil {
			return nil, fmt.Errorf("%s is not a pod template: %w", g.path, err)
		}
	}
	return groups, nil
}

// groups returns the groups of pods that the shape finds in an object.
func (s *shape) groups(obj *unstructured.Unstructured) ([]group, error) {
	const root = "template"
	if s.list == nil {
		return s.group(nil, obj.Object, root)
	}
	entries, _, _ := unstructured.NestedFieldNoCopy(obj.Object, s.list...)
	list, _ := entries.([]any) // none of something else: the kind's own webhook refuses it
	if len(list) > maxGroups {
		return nil, fmt.Errorf("%d groups of pods, and a Workload has at most %d", len(list), maxGroups)
	}
	var groups []group
	for i, entry := range list {
		content, _ := entry.(map[string]any)
		var err error
		if groups, err = s.group(groups, content, dotted(root, s.list)+fmt.Sprintf("[%d]", i)); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// group adds the group that content has, if any.
func (s *shape) group(groups []group, content map[string]any, path string) ([]group, error) {
	if s.required != nil {
		if _, found, _ := unstructured.NestedFieldNoCopy(content, s.required...); !found {
			return groups, nil
		}
	}
	count := int64(1)
	for i, factor := range s.factors {
		n, err := number(content, factor, 1)
		if err == nil && i == 0 && s.most != nil {
			var most int64
			most, err = number(content, s.most, n)
			n = min(n, most)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dotted(path, factor), err)
		}
		count *= n // at most two factors of 31 bits
	}
	return append(groups, group{path: dotted(path, s.template), count: count}), nil
}

// dotted is a path in the AppWrapper's notation.
func dotted(path string, fields []string) string {
	for _, f := range fields {
		path += "." + f
	}
	return path
}

// errNoCount says that something else is where a number of pods should be.
var errNoCount = errors.New("must be a number of 0 to 2147483647")

// number reads a number of pods or replicas.
func number(content map[string]any, path []string, missing int64) (int64, error) {
	value, found, err := unstructured.NestedFieldNoCopy(content, path...)
	if err != nil {
		return 0, errNoCount
	}
	if !found || value == nil {
		return missing, nil
	}
	n, ok := value.(int64)
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0, errNoCount
	}
	return n, nil
}
