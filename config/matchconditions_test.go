package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config"
)

// judge asks the API server's own code whether a write of a Workload, or of its status, calls the validating webhook.
type judge struct{ matcher matchconditions.Matcher }

func newJudge(t *testing.T) judge {
	t.Helper()
	_, validating, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(validating.Webhooks, func(h admissionregistrationv1.ValidatingWebhook) bool { return h.Name == "vworkload.kb.io" })
	compiler := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	return judge{webhook.NewValidatingWebhookAccessor("uid", "configuration", &validating.Webhooks[i]).GetCompiledMatcher(compiler)}
}

// calls is about an update, or a creation when old is nil.
func (j judge) calls(t *testing.T, subresource string, old, object map[string]any) bool {
	t.Helper()
	kind, resource := kueue.GroupVersion.WithKind("Workload"), kueue.GroupVersion.WithResource("workloads")
	after, operation := &unstructured.Unstructured{Object: object}, admission.Create
	var before runtime.Object
	if old != nil {
		before, operation = &unstructured.Unstructured{Object: old}, admission.Update
	}
	attributes := &admission.VersionedAttributes{
		Attributes:    admission.NewAttributesRecord(after, before, kind, "team", "w", resource, subresource, operation, nil, false, nil),
		VersionedKind: kind, VersionedOldObject: admission.NewLazyObject(before), VersionedObject: admission.NewLazyObject(after),
	}
	match := j.matcher.Match(t.Context(), attributes, nil, nil)
	if match.Error != nil {
		t.Fatal(match.Error)
	}
	return match.Matches
}

func TestAWriteOfAStatusCallsTheWebhookOnlyWhereItCouldObject(t *testing.T) {
	const (
		spec     = "spec: {podSets: [{name: main, count: 4}, {name: one, count: 1}]}\n"
		status   = spec + "status: "
		admitted = "admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 4, resourceUsage: {cpu: 8, memory: 4Gi}}]}"
		smaller  = "admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 2, resourceUsage: {cpu: 4, memory: 2Gi}}]}"
		pending  = `admissionChecks: [{name: c, state: Pending}]`
		ready    = `admissionChecks: [{name: c, state: Ready}]`
		updates  = `admissionChecks: [{name: c, state: Ready, podSetUpdates: [{name: main}]}]`
	)
	assigned := func(assignment string) string {
		return "{admission: {clusterQueue: q, podSetAssignments: [" + assignment + "]}}"
	}
	j := newJudge(t)
	for _, c := range []struct {
		name, old, status string
		want              bool
	}{
		{"a reason to wait", "{}", "{conditions: [" + condition("Finished") + "]}", false},
		{"a first admission of whole units", "{}", "{" + admitted + "}", false},
		{"a first admission that conditions go with", "{}", "{" + admitted + ", conditions: [" + condition("QuotaReserved") + "]}", false},
		{"a first admission without usage", "{}", assigned("{name: main}"), false},
		{"a first admission that counts what the spec counts", "{}", assigned("{name: main, resourceUsage: {cpu: 8}}"), false},
		{"a usage that does not divide", "{}", assigned("{name: main, count: 4, resourceUsage: {cpu: 7}}"), true},
		{"a usage that does not divide by the spec's count", "{}", assigned("{name: main, resourceUsage: {cpu: 2}}"), true},
		{"a usage of parts", "{}", assigned("{name: main, count: 4, resourceUsage: {cpu: 400m}}"), true},
		{"parts that one pod uses", "{}", assigned("{name: one, count: 1, resourceUsage: {cpu: 300m}}"), false},
		{"no pods", "{}", assigned("{name: main, count: 0, resourceUsage: {cpu: 0}}"), false},
		{"one assignment of two does not divide", "{}", assigned("{name: one, resourceUsage: {cpu: 1}}, {name: main, resourceUsage: {cpu: 1}}"), true},
		{"an assignment for a pod set that there is not", "{}", assigned("{name: other}"), true},
		{"an admission that stays", "{" + admitted + "}", "{" + admitted + ", conditions: [" + condition("Admitted") + "]}", false},
		{"an admission that changes", "{" + admitted + "}", "{" + smaller + "}", true},
		{"an admission that goes", "{" + admitted + "}", "{}", false},
		{"a reservation without an admission", "{}", "{conditions: [" + condition("QuotaReserved") + "]}", true},
		{"reclaimable pods", "{}", "{reclaimablePods: [{name: main, count: 1}]}", true},
		{"reclaimable pods that stay", "{reclaimablePods: [{name: main, count: 1}]}", "{reclaimablePods: [{name: main, count: 1}], conditions: [" + condition("Finished") + "]}", false},
		{"a check that begins", "{}", "{" + pending + "}", false},
		{"a check that becomes ready", "{" + pending + "}", "{" + ready + "}", false},
		{"a check that was ready changes", "{" + ready + "}", "{" + updates + "}", true},
		{"a check that was ready stays", "{" + ready + "}", "{" + ready + ", conditions: [" + condition("Admitted") + "]}", false},
		{"a cluster that was nominated", "{nominatedClusterNames: [a, b]}", "{clusterName: b}", false},
		{"a cluster that was not nominated", "{nominatedClusterNames: [a]}", "{clusterName: b}", true},
		{"a cluster though none was nominated", "{}", "{clusterName: b}", true},
		{"a cluster that stays", "{clusterName: b}", "{clusterName: b, conditions: [" + condition("Finished") + "]}", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := j.calls(t, "status", object(t, status+c.old), object(t, status+c.status)); got != c.want {
				t.Errorf("the webhook is called: %t", got)
			}
		})
	}
}

func TestAWriteOfAWorkloadCallsTheWebhookOnlyWhereItCouldObject(t *testing.T) {
	const (
		spec = "spec: {podSets: [{name: main, count: 4}]}\n"
		more = "spec: {podSets: [{name: main, count: 5}]}\n"
	)
	with := func(metadata string) string { return "metadata: {" + metadata + "}\n" + spec }
	annotated := func(key, value string) string { return with(fmt.Sprintf("annotations: {%s: %q}", key, value)) }
	j := newJudge(t)
	for _, c := range []struct {
		name, old, object string
		want              bool
	}{
		{"nothing changes", spec, spec, false},
		{"the spec changes", spec, more, true},
		{"spec.active changes", spec, "spec: {active: false, podSets: [{name: main, count: 4}]}\n", true},
		{"a finalizer goes", with("finalizers: [kueue.x-k8s.io/resource-in-use]"), spec, false},
		{"a job takes it up", spec, with("ownerReferences: [{kind: Job, name: j, uid: u}], labels: {kueue.x-k8s.io/job-uid: u}"), false},
		{"a label changes", with("labels: {a: b}"), with("labels: {a: c}"), false},
		{"a dispatcher takes a note", annotated("switchyard.dev/note", "1"), annotated("switchyard.dev/note", "2"), false},
		{"an epoch rises", annotated("switchyard.dev/epoch", "1"), annotated("switchyard.dev/epoch", "2"), true},
		{"an epoch goes", annotated("switchyard.dev/epoch", "1"), spec, true},
		{"a gate comes", spec, annotated("kueue.x-k8s.io/admission-gated-by", "a"), true},
		{"a gate goes", annotated("kueue.x-k8s.io/admission-gated-by", "a"), spec, true},
		{"a boost changes", annotated("kueue.x-k8s.io/priority-boost", "1"), annotated("kueue.x-k8s.io/priority-boost", "2"), true},
		{"a boost stays", annotated("kueue.x-k8s.io/priority-boost", "1"), annotated("kueue.x-k8s.io/priority-boost", "1"), false},
		{"annotations come, none of them judged", spec, annotated("a", "b"), false},
		{"without a spec", "metadata: {name: w}\n", "metadata: {name: w, labels: {a: b}}\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := j.calls(t, "", object(t, c.old), object(t, c.object)); got != c.want {
				t.Errorf("the webhook is called: %t", got)
			}
		})
	}
}

func TestANewWorkloadCallsTheWebhookOnlyWhereItCouldObject(t *testing.T) {
	podSet := func(rest string) string { return "spec: {podSets: [{name: main, count: 4" + rest + "}]}\n" }
	template := func(template string) string { return podSet(", template: {" + template + "}") }
	container := func(resources string) string {
		return template("spec: {containers: [{name: c, resources: {" + resources + "}}]}")
	}
	with := func(metadata string) string {
		return "metadata: {" + metadata + "}\n" + container("requests: {cpu: 1}")
	}
	long := strings.Repeat("x", 64)
	j := newJudge(t)
	for _, c := range []struct {
		name, object string
		want         bool
	}{
		{"plain pods", container("requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: '0.5'}, limits: {cpu: 2}"), false},
		{"with labels of jobs", template("metadata: {labels: {batch.kubernetes.io/job-name: train-1, app: 'a.B_c', empty: ''}}"), false},
		{"of a job", with("labels: {kueue.x-k8s.io/job-uid: u}, annotations: {a: b}, ownerReferences: [{kind: Job, name: j, uid: u}]"), false},
		{"without pods", "metadata: {name: w}\n", false},
		{"of a hub", with("labels: {kueue.x-k8s.io/multikueue-origin: hub}"), true},
		{"with a boost", with("annotations: {kueue.x-k8s.io/priority-boost: '1'}"), true},
		{"behind a gate", with("annotations: {kueue.x-k8s.io/admission-gated-by: a}"), true},
		{"with fewer pods", podSet(", minCount: 2"), true},
		{"with a topology", podSet(", topologyRequest: {}"), true},
		{"with a second pod set that is not plain", "spec: {podSets: [{name: main}, {name: more, minCount: 1}]}", true},
		{"with annotations of pods", template("metadata: {annotations: {a: b}}"), true},
		{"with a label that has spaces", template("metadata: {labels: {'a b': c}}"), true},
		{"with a label without name", template("metadata: {labels: {'example.com/': c}}"), true},
		{"with a label of a domain that is none", template("metadata: {labels: {'Example.com/a': c}}"), true},
		{"with a long label", template("metadata: {labels: {" + long + ": c}}"), true},
		{"with a label that has a long value", template("metadata: {labels: {a: " + long + "}}"), true},
		{"with a label that has a value with spaces", template("metadata: {labels: {a: b c}}"), true},
		{"with resources of the pod", template("spec: {resources: {requests: {cpu: 1}}}"), true},
		{"with a request below zero", container("requests: {cpu: -1}"), true},
		{"with a limit below zero", container("limits: {cpu: -100m}"), true},
		{"with a request for pods", container("requests: {pods: 1}"), true},
		{"with an init container that asks for less than nothing", template("spec: {initContainers: [{name: c, resources: {requests: {cpu: -1}}}]}"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := j.calls(t, "", nil, object(t, c.object)); got != c.want {
				t.Errorf("the webhook is called: %t", got)
			}
		})
	}
}
