package view

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/podrequests"
)

// convertPreemption converts the preemption policies. Without any, nothing may be preempted.
func convertPreemption(p *kueue.ClusterQueuePreemption) admission.Preemption {
	if p == nil {
		return admission.Preemption{}
	}
	out := admission.Preemption{
		WithinQueue:         admission.PreemptionPolicy(p.WithinClusterQueue),
		ReclaimWithinCohort: admission.PreemptionPolicy(p.ReclaimWithinCohort),
	}
	if b := p.BorrowWithinCohort; b != nil {
		out.BorrowWithinCohort, out.BorrowThreshold = admission.PreemptionPolicy(b.Policy), b.MaxPriorityThreshold
	}
	return out
}

func checkRules(cq *kueue.ClusterQueue) []kueue.AdmissionCheckStrategyRule {
	if cq.Spec.AdmissionChecksStrategy == nil {
		return nil
	}
	return cq.Spec.AdmissionChecksStrategy.AdmissionChecks
}

func convertCheckRule(rule kueue.AdmissionCheckStrategyRule) admission.AdmissionCheckRule {
	out := admission.AdmissionCheckRule{Name: string(rule.Name)}
	for _, flavor := range rule.OnFlavors {
		out.OnFlavors = append(out.OnFlavors, string(flavor))
	}
	return out
}

func convertCohort(c *kueue.Cohort) admission.Cohort {
	return admission.Cohort{
		Name: c.Name, Parent: string(c.Spec.ParentName), Groups: convertResourceGroups(c.Spec.ResourceGroups), Weight: fairSharingWeight(c.Spec.FairSharing),
	}
}

func convertFlavor(f *kueue.ResourceFlavor) admission.Flavor {
	return admission.Flavor{
		Name:        f.Name,
		Labels:      convertLabels(f.Spec.NodeLabels),
		Taints:      convertTaints(f.Spec.NodeTaints),
		Tolerations: convertTolerations(f.Spec.Tolerations),
	}
}

// convertResourceGroups converts resource groups, in the order of the spec.
func convertResourceGroups(groups []kueue.ResourceGroup) []admission.ResourceGroup {
	out := make([]admission.ResourceGroup, 0, len(groups))
	for _, g := range groups {
		group := admission.ResourceGroup{}
		for _, name := range g.CoveredResources {
			group.Resources = append(group.Resources, string(name))
		}
		for _, f := range g.Flavors {
			group.Flavors = append(group.Flavors, convertFlavorQuotas(f))
		}
		out = append(out, group)
	}
	return out
}

// convertFlavorQuotas converts the quotas of one flavor, with amounts in the units of package amount.
func convertFlavorQuotas(f kueue.FlavorQuotas) admission.FlavorQuota {
	out := admission.FlavorQuota{Flavor: string(f.Name)}
	for _, r := range f.Resources {
		name := string(r.Name)
		out.Resources = append(out.Resources, admission.ResourceQuota{
			Resource: name,
			Limits: quota.Limits{
				Nominal:   podrequests.ToAmount(name, r.NominalQuota),
				Borrowing: convertLimit(name, r.BorrowingLimit),
				Lending:   convertLimit(name, r.LendingLimit),
			},
		})
	}
	return out
}

// convertLimit is a limit; one that is not set does not limit.
func convertLimit(name string, q *resource.Quantity) amount.Amount {
	if q == nil {
		return amount.Unlimited
	}
	return podrequests.ToAmount(name, *q)
}

// convertClusterQueue turns a ClusterQueue into the core's. An inactive one tells its waiting workloads why.
func (x *objectIndex) convertClusterQueue(cq *kueue.ClusterQueue, problems []problem) admission.ClusterQueue {
	q := admission.ClusterQueue{
		Name:       cq.Name,
		Cohort:     string(cq.Spec.CohortName),
		Strategy:   admission.QueueingStrategy(cq.Spec.QueueingStrategy),
		Groups:     convertResourceGroups(cq.Spec.ResourceGroups),
		Preemption: convertPreemption(cq.Spec.Preemption),
		Weight:     fairSharingWeight(cq.Spec.FairSharing),
		UsageBased: x.opts.Usage != nil && cq.Spec.AdmissionScope != nil &&
			cq.Spec.AdmissionScope.AdmissionMode == kueue.UsageBasedAdmissionFairSharing,
	}
	if f := cq.Spec.FlavorFungibility; f != nil {
		q.Fungibility = admission.Fungibility{
			WhenCanBorrow:  admission.FlavorSearch(f.WhenCanBorrow),
			WhenCanPreempt: admission.FlavorSearch(f.WhenCanPreempt),
			Preference:     admission.FlavorPreference(f.Preference),
		}
	}
	for _, rule := range checkRules(cq) {
		q.AdmissionChecks = append(q.AdmissionChecks, convertCheckRule(rule))
	}
	if len(problems) > 0 {
		message := fmt.Sprintf("ClusterQueue %s is inactive", cq.Name)
		q.Inactive = &admission.Block{Reason: admission.Suspended, Message: message}
	}
	return q
}
