package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
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

// problemsOf names every problem of the ClusterQueue that lies in its objects. A cycle of cohorts is not among them: the
// core finds those.
func (v *View) problemsOf(cq *kueue.ClusterQueue) []problem {
	var found []problem
	if !cq.DeletionTimestamp.IsZero() {
		found = append(found, problem{kueue.ReasonTerminating, "it is being deleted"})
	}
	if cq.Spec.StopPolicy.Stops() {
		found = append(found, problem{kueue.ReasonStopped, "it is stopped"})
	}
	return append(append(found, v.flavorProblems(cq)...), v.checkProblems(cq)...)
}

// cycleProblem has the reason Unknown, because the public API has no other for it.
func cycleProblem(cq *kueue.ClusterQueue) problem {
	return problem{kueue.ReasonUnknown, fmt.Sprintf("the parents of cohort %s form a cycle", cq.Spec.CohortName)}
}

// activityOf takes the first problem as the reason and tells them all.
func activityOf(problems []problem) Activity {
	if len(problems) == 0 {
		return Activity{Active: true, Reason: kueue.ReasonReady, Message: "Takes new workloads"}
	}
	said := make([]string, 0, len(problems))
	for _, p := range problems {
		said = append(said, p.message)
	}
	return Activity{Reason: problems[0].reason, Message: "Takes no new workloads: " + strings.Join(said, "; ")}
}

func (v *View) flavorProblems(cq *kueue.ClusterQueue) []problem {
	var missing, topologies []string
	for _, name := range flavorsOf(cq) {
		flavor := v.flavors[name]
		if flavor == nil {
			missing = append(missing, name)
		} else if t := string(flavor.Spec.TopologyName); v.opts.Topologies && t != "" && !v.topologies[t] {
			topologies = append(topologies, t)
		}
	}
	slices.Sort(topologies)
	return append(
		named(kueue.ReasonFlavorNotFound, "references missing ResourceFlavor(s)", missing),
		named(kueue.ReasonTopologyNotFound, "its ResourceFlavor(s) reference missing Topology(s)", slices.Compact(topologies))...,
	)
}

// flavorsOf lists the flavors of a ClusterQueue, sorted, each once.
func flavorsOf(cq *kueue.ClusterQueue) []string {
	var names []string
	for _, g := range cq.Spec.ResourceGroups {
		for _, f := range g.Flavors {
			names = append(names, string(f.Name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (v *View) checkProblems(cq *kueue.ClusterQueue) []problem {
	var missing, inactive, multi, perFlavor, provisioning []string
	for _, rule := range checkRules(cq) {
		name := string(rule.Name)
		check := v.checks[name]
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
	found := named(kueue.ReasonAdmissionCheckNotFound, "references missing AdmissionCheck(s)", missing)
	found = append(found, named(kueue.ReasonAdmissionCheckInactive, "references inactive AdmissionCheck(s)", inactive)...)
	if len(multi) > 1 {
		found = append(found, named(kueue.ReasonMultipleMultiKueueAdmissionChecks, "only one multikueue AdmissionCheck is allowed, found", multi)...)
	}
	found = append(found, named(kueue.ReasonMultiKueueAdmissionCheckAppliedPerFlavor,
		"a multikueue AdmissionCheck must not be restricted to flavors", perFlavor)...)
	if len(multi) > 0 {
		found = append(found, named(kueue.ReasonMultiKueueWithProvisioningRequest,
			"a multikueue AdmissionCheck must not be used together with provisioning AdmissionCheck(s)", provisioning)...)
	}
	return found
}

// named is the one problem of all the names, or none.
func named(reason kueue.Reason, text string, names []string) []problem {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []problem{{reason, text + ": " + strings.Join(names, ", ")}}
}

// localQueueActivity follows that of the ClusterQueue, unless the LocalQueue itself is stopped.
func (v *View) localQueueActivity(lq *kueue.LocalQueue) Activity {
	cq := v.queues[string(lq.Spec.ClusterQueue)]
	switch {
	case lq.Spec.StopPolicy.Stops():
		return Activity{Reason: kueue.ReasonStopped, Message: "Takes no new workloads: it is stopped"}
	case cq == nil:
		message := fmt.Sprintf("Takes no new workloads: ClusterQueue %s doesn't exist", lq.Spec.ClusterQueue)
		return Activity{Reason: kueue.ReasonClusterQueueDoesNotExist, Message: message}
	case !cq.activity.Active:
		message := fmt.Sprintf("Takes no new workloads: ClusterQueue %s is inactive", lq.Spec.ClusterQueue)
		return Activity{Reason: kueue.ReasonClusterQueueIsInactive, Message: message}
	}
	return Activity{Active: true, Reason: kueue.ReasonReady, Message: "Takes new workloads"}
}

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
