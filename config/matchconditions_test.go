package config_test

import (
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/cel/environment"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config"
)

// calls asks the API server's own code whether an update of a Workload, or of its status, calls the validating webhook.
func calls(t *testing.T, subresource string, old, object map[string]any) bool {
	t.Helper()
	_, validating, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(validating.Webhooks, func(h admissionregistrationv1.ValidatingWebhook) bool { return h.Name == "vworkload.kb.io" })
	compiler := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	matcher := webhook.NewValidatingWebhookAccessor("uid", "configuration", &validating.Webhooks[i]).GetCompiledMatcher(compiler)
	kind, resource := kueue.GroupVersion.WithKind("Workload"), kueue.GroupVersion.WithResource("workloads")
	before, after := &unstructured.Unstructured{Object: old}, &unstructured.Unstructured{Object: object}
	attributes := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(after, before, kind, "team", "w", resource, subresource,
			admission.Update, nil, false, nil),
		VersionedKind: kind, VersionedOldObject: runtime.Object(before), VersionedObject: after,
	}
	match := matcher.Match(t.Context(), attributes, nil, nil)
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
			if got := calls(t, "status", object(t, status+c.old), object(t, status+c.status)); got != c.want {
				t.Errorf("the webhook is called: %t", got)
			}
		})
	}
	if !calls(t, "", object(t, spec), object(t, spec)) {
		t.Error("a write of something else than the status is not judged")
	}
}
