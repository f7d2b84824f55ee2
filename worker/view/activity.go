package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/kube"
)

// Activity is the content of the Active condition of a queue (contract: kueue-api.md 1.13).
type Activity struct {
	Active  bool
	Reason  kueue.Reason
	Message string
}

// problem is one thing that keeps a ClusterQueue from admitting.
type problem struct {
	reason  kueue.Reason
	message string
}

// clusterQueueActivity takes the first problem as the reason and tells them all. A queue that is being deleted has no other.
func clusterQueueActivity(problems []problem) Activity {
	if len(problems) == 0 {
		return Activity{Active: true, Reason: kueue.ReasonReady, Message: "Can admit new workloads"}
	}
	if problems[0].reason == kueue.ReasonTerminating {
		return Activity{Reason: kueue.ReasonTerminating, Message: "Can't admit new workloads; clusterQueue is terminating"}
	}
	said := make([]string, 0, len(problems))
	for _, p := range problems {
		said = append(said, p.message)
	}
	return Activity{Reason: problems[0].reason, Message: "Can't admit new workloads: " + strings.Join(said, ", ") + "."}
}

// flavorNames lists the flavors of a ClusterQueue in the order of its spec, each once.
func flavorNames(cq *kueue.ClusterQueue) []string {
	var names []string
	for _, g := range cq.Spec.ResourceGroups {
		for _, f := range g.Flavors {
			if !slices.Contains(names, string(f.Name)) {
				names = append(names, string(f.Name))
			}
		}
	}
	return names
}

// multiKueueProblems are the rules about checks of multikueue: one at most, for all flavors, and none of provisioning beside it.
func multiKueueProblems(multi, perFlavor, provisioning []string) []problem {
	var found []problem
	if len(multi) > 1 {
		found = problemWithNames(kueue.ReasonMultipleMultiKueueAdmissionChecks,
			"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found", multi)
	}
	found = append(found, problemWithNames(kueue.ReasonMultiKueueAdmissionCheckAppliedPerFlavor,
		"Cannot specify MultiKueue AdmissionCheck per flavor, found", perFlavor)...)
	if len(multi) > 0 && len(provisioning) > 0 {
		found = append(found, problem{kueue.ReasonMultiKueueWithProvisioningRequest, fmt.Sprintf(
			"Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: %s, %s",
			strings.Join(multi, ","), strings.Join(provisioning, ","))})
	}
	return found
}

// sortedCheckRules are the checks of a ClusterQueue by name.
func sortedCheckRules(cq *kueue.ClusterQueue) []kueue.AdmissionCheckStrategyRule {
	return slices.SortedFunc(slices.Values(checkRules(cq)), func(a, b kueue.AdmissionCheckStrategyRule) int {
		return cmp.Compare(a.Name, b.Name)
	})
}

// problemWithNames is the one problem of all the names, in their order, or none.
func problemWithNames(reason kueue.Reason, text string, names []string) []problem {
	if len(names) == 0 {
		return nil
	}
	return []problem{{reason, text + ": " + strings.Join(names, ",")}}
}

// clusterQueueInactiveMessage is what a LocalQueue says whose ClusterQueue takes nothing; the reason tells why.
const clusterQueueInactiveMessage = "Can't submit new workloads to clusterQueue"

// ActiveCondition is the Active condition of a queue (contract: kueue-api.md 1.13).
func ActiveCondition(a Activity, generation int64, now time.Time) metav1.Condition {
	status := metav1.ConditionFalse
	if a.Active {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{
		Type: kueue.ClusterQueueActive, Status: status, Reason: string(a.Reason), ObservedGeneration: generation,
		Message: kube.Truncate(a.Message, kube.MaxConditionMessage), LastTransitionTime: metav1.NewTime(now),
	}
}

// clusterQueueProblems names every problem of the ClusterQueue, in the order of the public API (contract: messages.md 3). A cycle of
// cohorts is not among them: such a queue is active, and the core says to its workloads what keeps them.
func (x *objectIndex) clusterQueueProblems(cq *kueue.ClusterQueue) []problem {
	if !cq.DeletionTimestamp.IsZero() {
		return []problem{{kueue.ReasonTerminating, ""}}
	}
	var found []problem
	if cq.Spec.StopPolicy.Stops() {
		found = append(found, problem{kueue.ReasonStopped, "is stopped"})
	}
	missing, topologies := x.flavorProblems(cq)
	return append(append(append(found, missing...), x.checkProblems(cq)...), topologies...)
}

// flavorProblems are the flavors that are missing, and those whose topology is, in the order of the spec.
func (x *objectIndex) flavorProblems(cq *kueue.ClusterQueue) (missing, topologies []problem) {
	var names []string
	for _, name := range flavorNames(cq) {
		flavor := x.flavors[name]
		if flavor == nil {
			names = append(names, name)
		} else if t := string(flavor.Spec.TopologyName); x.opts.Topologies && t != "" && !x.topologies[t] {
			message := fmt.Sprintf("there is no Topology %q for TAS flavor %q", t, name)
			topologies = append(topologies, problem{kueue.ReasonTopologyNotFound, message})
		}
	}
	return problemWithNames(kueue.ReasonFlavorNotFound, "references missing ResourceFlavor(s)", names), topologies
}

// checkProblems returns what is wrong with the admission checks of a ClusterQueue: missing, inactive, or of kinds that
// exclude one another.
func (x *objectIndex) checkProblems(cq *kueue.ClusterQueue) []problem {
	var missing, inactive, multi, perFlavor, provisioning []string
	for _, rule := range sortedCheckRules(cq) {
		name := string(rule.Name)
		check := x.checks[name]
		if check == nil {
			missing = append(missing, name)
			continue
		}
		if !meta.IsStatusConditionTrue(check.Status.Conditions, kueue.AdmissionCheckActive) {
			inactive = append(inactive, name)
		}
		switch check.Spec.ControllerName {
		case kueue.MultiKueueControllerName:
			multi = append(multi, name)
			if len(rule.OnFlavors) > 0 {
				perFlavor = append(perFlavor, name)
			}
		case kueue.ProvisioningRequestControllerName:
			provisioning = append(provisioning, name)
		}
	}
	found := problemWithNames(kueue.ReasonAdmissionCheckNotFound, "references missing AdmissionCheck(s)", missing)
	found = append(found, problemWithNames(kueue.ReasonAdmissionCheckInactive, "references inactive AdmissionCheck(s)", inactive)...)
	return append(found, multiKueueProblems(multi, perFlavor, provisioning)...)
}

// localQueueActivity follows that of the ClusterQueue, unless the LocalQueue itself is stopped.
func (x *objectIndex) localQueueActivity(lq *kueue.LocalQueue) Activity {
	cq := x.clusterQueues[string(lq.Spec.ClusterQueue)]
	switch {
	case lq.Spec.StopPolicy.Stops():
		return Activity{Reason: kueue.ReasonStopped, Message: "LocalQueue is stopped"}
	case cq == nil:
		return Activity{Reason: kueue.ReasonClusterQueueDoesNotExist, Message: clusterQueueInactiveMessage}
	case !cq.activity.Active:
		return Activity{Reason: kueue.ReasonClusterQueueIsInactive, Message: clusterQueueInactiveMessage}
	}
	return Activity{Active: true, Reason: kueue.ReasonReady, Message: "Can submit new workloads to localQueue"}
}

// FailedChecksMessage is what a workload is told whose checks have not been reset yet (contract: messages.md 1.2).
const FailedChecksMessage = "The workload has failed admission checks"

// requeueBlock covers what the workload itself still waits for: a trigger that requeues it, pods of its group, or the reset of its
// checks.
func requeueBlock(wl *kueue.Workload) *admission.Block {
	requeued := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadRequeued)
	if requeued != nil && requeued.Status == metav1.ConditionFalse {
		return &admission.Block{Reason: admission.PendingEvaluation, Message: requeued.Message, LetsOthersPass: true}
	}
	if pods := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadWaitingForReplacementPods); pods != nil && pods.Status == metav1.ConditionTrue {
		return &admission.Block{Reason: admission.PendingEvaluation, Message: pods.Message, LetsOthersPass: true}
	}
	for i := range wl.Status.AdmissionChecks {
		switch c := &wl.Status.AdmissionChecks[i]; c.State {
		case kueue.CheckStateRetry, kueue.CheckStateRejected:
			return &admission.Block{
				Reason: admission.PendingEvaluation, Message: FailedChecksMessage, LetsOthersPass: true,
			}
		case kueue.CheckStatePending, kueue.CheckStateReady:
		}
	}
	return nil
}

// blockOf says what keeps a queued workload from being evaluated, or nil. A missing or inactive ClusterQueue is not said
// here: the core knows. The first that applies wins (contract: messages.md 1.2).
func (x *objectIndex) blockOf(wl *kueue.Workload, lq *localQueue, problem string) *admission.Block {
	if lq == nil {
		return &admission.Block{
			Reason:  admission.Misconfigured,
			Message: fmt.Sprintf("LocalQueue %s doesn't exist", wl.Spec.QueueName),
		}
	}
	if !lq.obj.DeletionTimestamp.IsZero() || lq.obj.Spec.StopPolicy.Stops() {
		return &admission.Block{
			Reason:  admission.Suspended,
			Message: fmt.Sprintf("LocalQueue %s is inactive", wl.Spec.QueueName),
		}
	}
	if b := x.namespaceBlock(wl.Namespace, lq); b != nil {
		return b
	}
	if problem != "" {
		return &admission.Block{Reason: admission.Misconfigured, Message: problem}
	}
	return requeueBlock(wl)
}

// namespaceBlock applies the ClusterQueue's namespaceSelector: nil selects none, {} all (contract: kueue-api.md 1.3).
func (x *objectIndex) namespaceBlock(namespace string, lq *localQueue) *admission.Block {
	cq := x.clusterQueues[string(lq.obj.Spec.ClusterQueue)]
	if cq == nil {
		return nil
	}
	if cq.selectorErr == nil && cq.selector.Matches(x.namespaces[namespace]) {
		return nil
	}
	message := "workload namespace doesn't match ClusterQueue selector"
	if cq.selectorErr != nil {
		message = "invalid namespace selector: " + cq.selectorErr.Error()
	}
	return &admission.Block{Reason: admission.Misconfigured, Message: message, LetsOthersPass: true}
}
