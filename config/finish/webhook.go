package main

import (
	"fmt"
	"os"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config"
)

// finishWebhooks keeps the webhooks of jobs away from the namespaces of the system, and spares the API server and the
// program calls about Workloads that can have but one answer.
func finishWebhooks(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mutating, validating, err := config.DecodeWebhooks(data)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	for i := range mutating.Webhooks {
		hook := &mutating.Webhooks[i]
		if ofJobs(hook.Rules) {
			hook.NamespaceSelector = notOfTheSystem()
		}
		if hook.Name == "mworkload.kb.io" {
			hook.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "has-min-count", Expression: hasMinCount}}
		}
	}
	for i := range validating.Webhooks {
		hook := &validating.Webhooks[i]
		if ofJobs(hook.Rules) {
			hook.NamespaceSelector = notOfTheSystem()
		}
		if hook.Name == "vworkload.kb.io" {
			hook.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "changes-what-is-judged", Expression: changesWhatIsJudged}}
		}
	}
	return write(file, mutating, validating)
}

// hasMinCount is true of a new Workload that worker/webhook may complete: it only ever drops minCount.
const hasMinCount = `object.?spec.?podSets.orValue([]).exists(p, has(p.minCount))`

// changesWhatIsJudged is true of everything but those writes of a Workload's status in which worker/webhook looks at
// nothing: they are most of all (ends, evictions, reasons to wait), and a call costs the API server and the program some
// 3 ms each. That conditions are well formed is the CRD's schema, too.
const changesWhatIsJudged = `request.?subResource.orValue('') != 'status' || ` +
	`object.?status.?admission != oldObject.?status.?admission || ` +
	`object.?status.?reclaimablePods != oldObject.?status.?reclaimablePods || ` +
	`object.?status.?admissionChecks != oldObject.?status.?admissionChecks || ` +
	`object.?status.?clusterName != oldObject.?status.?clusterName || ` +
	`(!object.?status.?admission.hasValue() && ` +
	`object.?status.?conditions.orValue([]).exists(c, c.type == 'QuotaReserved' && c.status == 'True'))`

func ofJobs(rules []admissionregistrationv1.RuleWithOperations) bool {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			if group == kueue.GroupName {
				return false
			}
		}
	}
	return true
}

func notOfTheSystem() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kube-system", namespace},
	}}}
}
