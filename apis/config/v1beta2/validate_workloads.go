package v1beta2

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds on device classes (contract: kueue-api.md 7).
const (
	maxDeviceClassMappings = 16
	maxDeviceClasses       = 8
)

func (w *WaitForPodsReady) validate(path *field.Path) field.ErrorList {
	all := validateDuration(w.Timeout, path.Child("timeout"))
	all = append(all, validateDuration(w.RecoveryTimeout, path.Child("recoveryTimeout"))...)
	strategy, at := w.RequeuingStrategy, path.Child("requeuingStrategy")
	all = append(all, validateOneOf(*strategy.Timestamp, at.Child("timestamp"), CreationTimestamp, EvictionTimestamp)...)
	all = append(all, validateNumber(strategy.BackoffLimitCount, 0, at.Child("backoffLimitCount"))...)
	all = append(all, validateNumber(strategy.BackoffBaseSeconds, 0, at.Child("backoffBaseSeconds"))...)
	return append(all, validateNumber(strategy.BackoffMaxSeconds, 0, at.Child("backoffMaxSeconds"))...)
}

// validate accepts the three lists of strategies that make sense.
func (f *FairSharing) validate(path *field.Path) field.ErrorList {
	if f == nil {
		return nil
	}
	at := path.Child("preemptionStrategies")
	if len(f.PreemptionStrategies) == 0 {
		return field.ErrorList{field.Required(at, "must say when to preempt")}
	}
	final, initial := LessThanOrEqualToFinalShare, LessThanInitialShare
	for _, allowed := range [][]PreemptionStrategy{{final}, {initial}, {final, initial}} {
		if slices.Equal(f.PreemptionStrategies, allowed) {
			return nil
		}
	}
	return field.ErrorList{field.Invalid(at, f.PreemptionStrategies,
		"must be [LessThanOrEqualToFinalShare], [LessThanInitialShare] or both in this order")}
}

func (a *AdmissionFairSharing) validate(path *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	all := validateDuration(&a.UsageHalfLifeTime, path.Child("usageHalfLifeTime"))
	all = append(all, validateDuration(&a.UsageSamplingInterval, path.Child("usageSamplingInterval"))...)
	for _, name := range sortedKeys(a.ResourceWeights) {
		weight := a.ResourceWeights[name]
		all = append(all, validateNumber(&weight, 0, path.Child("resourceWeights").Key(string(name)))...)
	}
	return all
}

func (r *Resources) validate(path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	all := validateOneOf(r.QuotaCheckStrategy, path.Child("quotaCheckStrategy"), BlockUndeclared, IgnoreUndeclared)
	if r.QuotaCheckStrategy == IgnoreUndeclared && len(r.ExcludeResourcePrefixes) > 0 {
		all = append(all, field.Forbidden(path.Child("excludeResourcePrefixes"), "not with quotaCheckStrategy IgnoreUndeclared"))
	}
	at := path.Child("transformations")
	all = append(all, validateUnique(r.Transformations, func(t ResourceTransformation) corev1.ResourceName { return t.Input }, at, "input")...)
	for i, transformation := range r.Transformations {
		all = append(all, validateResource(transformation.Input, at.Index(i).Child("input"))...)
		all = append(all, validateOneOf(*transformation.Strategy, at.Index(i).Child("strategy"), Retain, Replace)...)
		if transformation.MultiplyBy != "" {
			all = append(all, validateResource(transformation.MultiplyBy, at.Index(i).Child("multiplyBy"))...)
		}
	}
	return append(all, validateDevices(r.DeviceClassMappings, path.Child("deviceClassMappings"))...)
}

func validateResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, message := range validation.IsQualifiedName(string(name)) {
		all = append(all, field.Invalid(path, name, message))
	}
	return all
}

func validateDevices(mappings []DeviceClassMapping, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if len(mappings) > maxDeviceClassMappings {
		all = append(all, field.TooMany(path, len(mappings), maxDeviceClassMappings))
	}
	all = append(all, validateUnique(mappings, func(m DeviceClassMapping) corev1.ResourceName { return m.Name }, path, "name")...)
	for i, mapping := range mappings {
		at, classes := path.Index(i), path.Index(i).Child("deviceClassNames")
		all = append(all, validateResource(mapping.Name, at.Child("name"))...)
		switch n := len(mapping.DeviceClassNames); {
		case n == 0:
			all = append(all, field.Required(classes, "must name a device class"))
		case n > maxDeviceClasses:
			all = append(all, field.TooMany(classes, n, maxDeviceClasses))
		}
		all = append(all, validateUnique(mapping.DeviceClassNames, itself, classes)...)
		for j, source := range mapping.Sources {
			if (source.Counter == nil) == (source.Capacity == nil) {
				all = append(all, field.Invalid(at.Child("sources").Index(j), source, "exactly one of counter, capacity must be set"))
			}
		}
	}
	return all
}

func (o *ObjectRetentionPolicies) validate(path *field.Path) field.ErrorList {
	if o == nil || o.Workloads == nil {
		return nil
	}
	at := path.Child("workloads")
	all := validateDuration(o.Workloads.AfterFinished, at.Child("afterFinished"))
	return append(all, validateDuration(o.Workloads.AfterDeactivatedByKueue, at.Child("afterDeactivatedByKueue"))...)
}
