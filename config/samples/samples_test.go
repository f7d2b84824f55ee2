package samples_test

import (
	"io/fs"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"switchyard.dev/config/samples"
	"switchyard.dev/worker"
)

func TestEverySampleIsMadeOfKnownFields(t *testing.T) {
	scheme := newScheme(t)
	for _, object := range all(t) {
		switch object.GetKind() {
		case "TrainJob", "InferenceService", "Notebook", "PipelineRun", "Workflow", "CustomResourceDefinition":
			continue // have no Go types here
		}
		typed, err := scheme.New(object.GroupVersionKind())
		if err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func TestReferencesBetweenSamplesOfAClusterResolve(t *testing.T) {
	for cluster, files := range map[string][]string{
		"hub": {"hub"}, "w1": {"workers/w1.yaml", "workers/queues.yaml"}, "w2": {"workers/w2.yaml", "workers/queues.yaml"}, "a cluster of its own": {"migration"},
	} {
		objects, err := samples.Objects(files...)
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, object := range objects {
			named[object.GetKind()+"/"+object.GetName()] = true
		}
		for _, object := range objects {
			for _, reference := range references(object) {
				if !named[reference] {
					t.Errorf("%s: %s %s refers to %s, which no file has", cluster, object.GetKind(), object.GetName(), reference)
				}
			}
		}
	}
}

func TestEveryNamespacedQueueOfTheHubExistsOnTheWorkers(t *testing.T) {
	localQueues := func(files ...string) map[string]bool {
		objects, err := samples.Objects(files...)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, object := range objects {
			if object.GetKind() == "LocalQueue" {
				found[object.GetNamespace()+"/"+object.GetName()] = true
			}
		}
		return found
	}
	onWorkers := localQueues("workers/queues.yaml")
	onHub := localQueues("hub")
	if len(onHub) != 2 {
		t.Errorf("the hub has LocalQueues %v; want one for each of two teams", onHub)
	}
	for queue := range onHub {
		if !onWorkers[queue] {
			t.Errorf("LocalQueue %s of the hub is not in workers/queues.yaml", queue)
		}
	}
}

func references(object *unstructured.Unstructured) []string {
	var found []string
	add := func(kind string, fields ...string) {
		if name, ok, _ := unstructured.NestedString(object.Object, fields...); ok {
			found = append(found, kind+"/"+name)
		}
	}
	add("ClusterQueue", "spec", "clusterQueue")
	add("Cohort", "spec", "cohortName")
	checks, _, _ := unstructured.NestedSlice(object.Object, "spec", "admissionChecksStrategy", "admissionChecks")
	for _, check := range checks {
		found = append(found, "AdmissionCheck/"+check.(map[string]any)["name"].(string))
	}
	add("MultiKueueConfig", "spec", "parameters", "name")
	clusters, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "clusters")
	for _, name := range clusters {
		found = append(found, "MultiKueueCluster/"+name)
	}
	groups, _, _ := unstructured.NestedSlice(object.Object, "spec", "resourceGroups")
	for _, group := range groups {
		flavors, _, _ := unstructured.NestedSlice(group.(map[string]any), "flavors")
		for _, flavor := range flavors {
			found = append(found, "ResourceFlavor/"+flavor.(map[string]any)["name"].(string))
		}
	}
	return found
}

func all(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	directories, err := fs.ReadDir(samples.Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, directory := range directories {
		found, err := samples.Objects(directory.Name())
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, found...)
	}
	return objects
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme, err := worker.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}
