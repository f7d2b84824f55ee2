package webhook

import (
	"fmt"
	"strings"
	"testing"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestNewWorkloads(t *testing.T) {
	template := func(template string) string { return "podSets: [{name: main, count: 4, template: {" + template + "}}]" }
	container := func(resources string) string {
		return template("spec: {containers: [{name: c, resources: {" + resources + "}}]}")
	}
	request := func(request string) string {
		return "podSets: [{name: main, count: 4, template: {}, topologyRequest: {" + request + "}}]"
	}
	boosted := byDefault()
	boosted.PriorityBoost = true
	for _, c := range []struct {
		name, annotations, spec string
		gates                   Gates
		want                    string
	}{
		{"a plain one", "", container("requests: {cpu: 1}, limits: {cpu: 1}"), byDefault(), ""},
		{"one variable pod set", "", "podSets: [{name: a, count: 2, minCount: 1, template: {}}, {name: b, count: 2, template: {}}]", byDefault(), ""},
		{"two variable pod sets", "", "podSets: [{name: a, count: 2, minCount: 1, template: {}}, {name: b, count: 2, minCount: 1, template: {}}]", byDefault(), "spec.podSets at most one podSet can use minCount"},
		{"an elastic one with a least count", "kueue.x-k8s.io/elastic-job: 'true'", "podSets: [{name: a, count: 2, minCount: 1, template: {}}]", byDefault(), "spec.podSets partial admission and elastic job cannot be used together"},
		{"a request for pods", "", container("requests: {pods: 1}"), byDefault(), "spec.podSets[0].template.spec.containers[0].resources.requests[pods] Invalid value: \"pods\": the key is reserved for internal kueue use"},
		{"a limit for pods", "", container("limits: {pods: 1}"), byDefault(), "spec.podSets[0].template.spec.containers[0].resources.limits[pods] Invalid value: \"pods\": the key is reserved for internal kueue use"},
		{"a request of an init container for pods", "", template("spec: {containers: [], initContainers: [{name: i, resources: {requests: {pods: 1}}}]}"), byDefault(), "spec.podSets[0].template.spec.initContainers[0].resources.requests[pods] Invalid value: \"pods\": the key is reserved for internal kueue use"},
		{"a negative request", "", container(`requests: {cpu: "-1"}`), byDefault(), "spec.podSets[0].template.spec.containers[0].resources.requests[cpu] must be greater"},
		{"a negative limit", "", container(`limits: {cpu: "-1"}`), byDefault(), "spec.podSets[0].template.spec.containers[0].resources.limits[cpu] must be greater"},
		{"a negative limit with the gate off", "", container(`limits: {cpu: "-1"}`), Gates{}, ""},
		{"a label that pods cannot have", "", template(`metadata: {labels: {"@": b}}`), byDefault(), "spec.podSets[0].template.metadata.labels must consist of"},
		{"an annotation that pods cannot have", "", template(`metadata: {annotations: {"@": b}}`), byDefault(), "spec.podSets[0].template.metadata.annotations must consist of"},
		{"a label that pods cannot have with the gate off", "", template(`metadata: {labels: {"@": b}}`), Gates{}, ""},

		{"slices", "", request("podSetSliceRequiredTopology: rack, podSetSliceSize: 2"), byDefault(), ""},
		{"slices greater than the pod set", "", request("podSetSliceRequiredTopology: rack, podSetSliceSize: 5"), byDefault(), "spec.podSets[0].topologyRequest.podSetSliceSize must not be greater than pod set count 4"},
		{"slices of nothing", "", request("podSetSliceRequiredTopology: rack, podSetSliceSize: 0"), byDefault(), "spec.podSets[0].topologyRequest.podSetSliceSize must be greater than 0"},
		{"slices of nothing with the gate off", "", request("podSetSliceRequiredTopology: rack, podSetSliceSize: 0"), Gates{}, ""},
		{"slices without a level", "", request("podSetSliceSize: 2"), byDefault(), "spec.podSets[0].topologyRequest.podSetSliceSize Forbidden: may not be set when podSetSliceRequiredTopology is not specified"},
		{"layers", "", request("podsetSliceRequiredTopologyConstraints: [{topology: block, size: 4}, {topology: rack, size: 2}]"), byDefault(), ""},
		{"layers that do not divide", "", request("podsetSliceRequiredTopologyConstraints: [{topology: block, size: 4}, {topology: rack, size: 3}]"), byDefault(), "spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints[1].size must evenly divide the parent layer size 4"},
		{"two layers of a level", "", request("podsetSliceRequiredTopologyConstraints: [{topology: rack, size: 4}, {topology: rack, size: 2}]"), byDefault(), "spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints[1].topology Duplicate"},
		{"layers in a group", "", request("podSetGroupName: g, podsetSliceRequiredTopologyConstraints: [{topology: rack, size: 4}]"), byDefault(), "spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints Forbidden: may not be set when podSetGroupName is specified"},

		{"gates", "kueue.x-k8s.io/admission-gated-by: 'x.io/a,x.io/b'", "", byDefault(), ""},
		{"a gate with a long name", "kueue.x-k8s.io/admission-gated-by: x.io/" + strings.Repeat("a", 59), "", byDefault(), "metadata.annotations[kueue.x-k8s.io/admission-gated-by] Too long"},
		{"a gate without a name", "kueue.x-k8s.io/admission-gated-by: 'x.io/a,'", "", byDefault(), "metadata.annotations[kueue.x-k8s.io/admission-gated-by] cannot contain empty gate names"},
		{"a boost", "kueue.x-k8s.io/priority-boost: '-5'", "", boosted, ""},
		{"a boost without a number", "kueue.x-k8s.io/priority-boost: ''", "", boosted, "metadata.annotations[kueue.x-k8s.io/priority-boost] must be a valid signed integer"},
		{"a boost beyond 32 bits", "kueue.x-k8s.io/priority-boost: '2147483648'", "", boosted, "metadata.annotations[kueue.x-k8s.io/priority-boost] must be a valid signed integer"},
		{"a boost that is ignored", "kueue.x-k8s.io/priority-boost: much", "", byDefault(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			workload := read[kueue.Workload](t, fmt.Sprintf("metadata: {annotations: {%s}}\nspec: {%s}", c.annotations, c.spec))
			expect(t, c.gates.ValidateWorkload(workload), c.want)
		})
	}
}

func TestALeastCountIsDroppedWithoutPartialAdmission(t *testing.T) {
	const manifest = "spec: {podSets: [{name: a, count: 2, minCount: 1, template: {}}]}"
	kept, dropped := read[kueue.Workload](t, manifest), read[kueue.Workload](t, manifest)
	byDefault().DefaultWorkload(kept)
	Gates{}.DefaultWorkload(dropped)
	if kept.Spec.PodSets[0].MinCount == nil || dropped.Spec.PodSets[0].MinCount != nil {
		t.Errorf("with partial admission %v, without %v", kept.Spec.PodSets[0].MinCount, dropped.Spec.PodSets[0].MinCount)
	}
}
