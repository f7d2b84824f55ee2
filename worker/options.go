package worker

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/preempt"
	"switchyard.dev/worker/capacity"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/manager"
	"switchyard.dev/worker/podrequests"
	"switchyard.dev/worker/scheduler"
	"switchyard.dev/worker/view"
)

// cycleOptions are what the settings ask of a scheduling cycle (contract: kueue-api.md 6, 7).
func cycleOptions(s manager.Settings) cycle.Options {
	on := s.Gates.Enabled
	o := cycle.Options{
		MaxAdmissions:            scheduler.DefaultMaxAdmissions,
		IgnoreUndeclared:         on(features.QuotaCheckStrategy) && s.Resources != nil && s.Resources.QuotaCheckStrategy == configapi.IgnoreUndeclared,
		BlockUntilPodsReady:      blocksAdmission(s),
		PrioritizePreemptors:     on(features.PrioritizePreemptorWorkloads),
		WithoutFungibility:       !on(features.FlavorFungibility),
		WithoutPartialAdmission:  !on(features.PartialAdmission),
		WithoutPrioritySorting:   !on(features.PrioritySortingWithinCohort),
		WithoutNonBorrowingFirst: !on(features.FairSharingPrioritizeNonBorrowing),
		WithoutNominalBypass:     !on(features.FairSharingPreemptWithinNominal),
	}
	if s.FairSharing != nil {
		o.FairSharing = true
		for _, strategy := range s.FairSharing.PreemptionStrategies {
			o.Strategies = append(o.Strategies, preempt.Strategy(strategy))
		}
	}
	return o
}

// capacityOptions are what a report says of the engine itself. An engine that counts resources otherwise than they are
// requested, or not at all, may well admit a workload that asks for some that no group covers.
func capacityOptions(s manager.Settings, kinds []job.Integration) capacity.Options {
	rules := podrequests.NewRules(s.Resources)
	o := capacity.Options{
		FairSharing:      s.FairSharing != nil,
		IgnoresUncovered: cycleOptions(s).IgnoreUndeclared || len(rules.ExcludePrefixes)+len(rules.Transformations) > 0,
	}
	for _, kind := range kinds {
		o.JobKinds = append(o.JobKinds, reportedKind(kind.GVK()))
	}
	if slices.Contains(s.Integrations.Frameworks, podgroup.Name) {
		o.JobKinds = append(o.JobKinds, reportedKind(podmeta.GVK()))
	}
	return o
}

// reportedKind is a kind's name in a report.
func reportedKind(gvk schema.GroupVersionKind) string {
	return gvk.Kind + "." + gvk.Version + "." + gvk.Group
}

// waitsForPodsReady reports whether the start of pods is watched at all.
func waitsForPodsReady(s manager.Settings) bool {
	return s.WaitForPodsReady != nil && !s.WaitForPodsReady.Disabled && !s.Gates.Enabled(features.DisableWaitForPodsReady)
}

func blocksAdmission(s manager.Settings) bool {
	return waitsForPodsReady(s) && ptr.Deref(s.WaitForPodsReady.BlockAdmission, false)
}

// viewOptions are what the settings ask of the view. The stanza of admission fair sharing counts only while its gate is on.
func viewOptions(s manager.Settings) view.Options {
	o := view.OptionsFor(s.Configuration, s.Gates)
	if !s.Gates.Enabled(features.AdmissionFairSharing) {
		o.Usage = nil
	}
	return o
}
