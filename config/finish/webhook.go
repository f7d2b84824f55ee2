package main

import (
	"fmt"
	"os"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
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

// changesWhatIsJudged is true of everything but those new Workloads, and those updates of one or its status, in which
// worker/webhook would find nothing: they are nearly all (plain pods; reservations, ends, evictions, reasons to wait;
// finalizers, owners, labels and a dispatcher's notes), and a call costs the API server and the program some 3 ms each. That
// conditions are well formed is the CRD's schema, too.
const changesWhatIsJudged = `request.operation == 'CREATE' ? ` + creationIsJudged + ` : (request.?subResource.orValue('') == 'status' ? ` +
	statusIsJudged + ` : ` + objectIsJudged + `)`

// creationIsJudged is true of a new Workload that a hub has made, that has one of the annotations that are judged, or of
// which some pod set is more than a number of pods with plain templates.
const creationIsJudged = `(object.?metadata.?labels[?'` + kueue.MultiKueueOriginLabel + `'].hasValue() || ['` +
	kueue.PriorityBoostAnnotation + `', '` + kueue.AdmissionGatedByAnnotation + `'].exists(a, ` +
	`object.?metadata.?annotations[?a].hasValue()) || !object.?spec.?podSets.orValue([]).all(p, ` +
	`!has(p.minCount) && !has(p.topologyRequest) && ` + plainTemplate + `))`

// plainTemplate is true of a pod template whose labels pods can have, without annotations and without resources of the pod
// as a whole, and in which no container asks for less than nothing or for pods. Only a quantity below zero begins with a minus.
const plainTemplate = `!p.?template.?metadata.?annotations.hasValue() && !p.?template.?spec.?resources.hasValue() && ` +
	`p.?template.?metadata.?labels.orValue({}).all(k, k.size() < 64 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?` +
	`([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && ` +
	`p.template.metadata.labels[k].size() < 64 && p.template.metadata.labels[k].matches('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')) && ` +
	`[p.?template.?spec.?initContainers.orValue([]), p.?template.?spec.?containers.orValue([])].all(l, l.all(c, ` +
	`[c.?resources.?requests.orValue({}), c.?resources.?limits.orValue({})].all(m, m.all(r, r != 'pods' && !string(m[r]).startsWith('-')))))`

// statusIsJudged is about an update of the status, which changes nothing else.
const statusIsJudged = `(` + admissionIsJudged + ` || object.?status.?reclaimablePods != oldObject.?status.?reclaimablePods || ` +
	checksAreJudged + ` || ` + clusterIsJudged + `)`

// objectIsJudged is about any other update, which cannot change the status: the webhook judges the spec, the label of the
// hub that made a copy, and six annotations, and only where they change.
const objectIsJudged = `(object.?spec != oldObject.?spec || ['` + kueue.PriorityBoostAnnotation + `', '` +
	kueue.AdmissionGatedByAnnotation + `', '` + switchyard.EpochAnnotation + `', '` + switchyard.OwnerUIDAnnotation + `', '` +
	switchyard.HubUIDAnnotation + `', '` + switchyard.OnHubLostAnnotation + `'].exists(a, ` +
	`object.?metadata.?annotations[?a] != oldObject.?metadata.?annotations[?a]) || ` +
	`object.?metadata.?labels[?'` + kueue.MultiKueueOriginLabel + `'] != oldObject.?metadata.?labels[?'` + kueue.MultiKueueOriginLabel + `'])`

// admissionIsJudged is true of an admission that changes, of a first one that is not plainly right, and of a reservation
// without one. Plainly right is one of pod sets that exist, each with one pod or with whole units that divide by the count.
const admissionIsJudged = `(object.?status.?admission.hasValue() ? ` +
	`object.?status.?admission != oldObject.?status.?admission && (oldObject.?status.?admission.hasValue() || ` +
	`!object.status.admission.?podSetAssignments.orValue([]).all(a, object.spec.podSets.exists(p, p.name == a.name && ` +
	`(a.?count.orValue(p.?count.orValue(0)) <= 1 || a.?resourceUsage.orValue({}).all(r, ` +
	`isQuantity(string(a.resourceUsage[r])) && quantity(string(a.resourceUsage[r])).isInteger() && ` +
	`quantity(string(a.resourceUsage[r])).asInteger() % a.?count.orValue(p.?count.orValue(0)) == 0))))) : ` +
	`object.?status.?conditions.orValue([]).exists(c, c.type == 'QuotaReserved' && c.status == 'True'))`

// checksAreJudged is true where a check that was Ready may say something else now, or a check wants to change pods.
const checksAreJudged = `(object.?status.?admissionChecks != oldObject.?status.?admissionChecks && ` +
	`(oldObject.?status.?admissionChecks.orValue([]).exists(c, c.?state.orValue('') == 'Ready') || ` +
	`object.?status.?admissionChecks.orValue([]).exists(c, c.?podSetUpdates.orValue([]).size() > 0)))`

// clusterIsJudged is true of a first cluster that was not nominated before.
const clusterIsJudged = `(object.?status.?clusterName.hasValue() && !oldObject.?status.?clusterName.hasValue() && ` +
	`!(object.status.clusterName in oldObject.?status.?nominatedClusterNames.orValue([])))`

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
