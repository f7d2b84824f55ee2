package v1beta2

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func (i *Integrations) validate(gates features.Set, path *field.Path) field.ErrorList {
	at := path.Child("frameworks")
	all := validateUnique(i.Frameworks, itself, at)
	for n, name := range i.Frameworks {
		all = append(all, validateOneOf(name, at.Index(n), frameworkNames()...)...)
		if name == sparkFramework && !gates.Enabled(features.SparkApplicationIntegration) {
			all = append(all, field.Forbidden(at.Index(n), "needs the feature gate "+string(features.SparkApplicationIntegration)))
		}
	}
	at = path.Child("externalFrameworks")
	all = append(all, validateUnique(i.ExternalFrameworks, itself, at)...)
	for n, name := range i.ExternalFrameworks {
		all = append(all, validateGVK(name, at.Index(n))...)
	}
	for n, key := range i.LabelKeysToCopy {
		for _, message := range validation.IsQualifiedName(key) {
			all = append(all, field.Invalid(path.Child("labelKeysToCopy").Index(n), key, message))
		}
	}
	return all
}

func (m *MultiKueue) validate(frameworks []string, path *field.Path) field.ErrorList {
	all := validateDuration(m.GCInterval, path.Child("gcInterval"))
	all = append(all, validateDuration(m.WorkerLostTimeout, path.Child("workerLostTimeout"))...)
	for _, message := range validation.IsValidLabelValue(*m.Origin) {
		all = append(all, field.Invalid(path.Child("origin"), *m.Origin, message))
	}
	if *m.DispatcherName == "" {
		all = append(all, field.Required(path.Child("dispatcherName"), "must say who nominates clusters"))
	}
	if config := m.IncrementalDispatcherConfig; config != nil {
		at := path.Child("incrementalDispatcherConfig")
		if *m.DispatcherName != kueue.IncrementalDispatcherName {
			all = append(all, field.Forbidden(at, "only with dispatcherName "+kueue.IncrementalDispatcherName))
		}
		all = append(all, validateNumber(config.StepSize, 1, at.Child("stepSize"))...)
	}
	all = append(all, m.validateExternal(frameworks, path.Child("externalFrameworks"))...)
	all = append(all, m.Access.validate(path.Child("access"))...)
	all = append(all, m.ClusterProfile.validate(path.Child("clusterProfile"))...)
	return append(all, m.ObjectRetentionPolicies.validate(path.Child("objectRetentionPolicies"))...)
}

func (p *MultiKueueObjectRetentionPolicies) validate(path *field.Path) field.ErrorList {
	if p == nil || p.RemoteObjects == nil {
		return nil
	}
	return validateDuration(p.RemoteObjects.AfterFinished, path.Child("remoteObjects", "afterFinished"))
}

// Limits of what is kept of logs. Each tail is an object of up to a megabyte in the hub's etcd.
const (
	maxLogTailJobs = 5000
	maxLogTailAge  = 30 * 24 * time.Hour
)

func (a *MultiKueueAccess) validate(path *field.Path) field.ErrorList {
	if a.LogTails == nil {
		return nil
	}
	var all field.ErrorList
	at := path.Child("logTails")
	if jobs := *a.LogTails.MaxJobs; jobs < 1 || jobs > maxLogTailJobs {
		all = append(all, field.Invalid(at.Child("maxJobs"), jobs, fmt.Sprintf("must be from 1 to %d; without logTails none are kept", maxLogTailJobs)))
	}
	if age := a.LogTails.MaxAge.Duration; age <= 0 || age > maxLogTailAge {
		all = append(all, field.Invalid(at.Child("maxAge"), age.String(), fmt.Sprintf("must be more than 0 and at most %s", maxLogTailAge)))
	}
	return all
}

func (m *MultiKueue) validateExternal(frameworks []string, path *field.Path) field.ErrorList {
	all := validateUnique(m.ExternalFrameworks, func(f MultiKueueExternalFramework) string { return f.Name }, path, "name")
	for i, external := range m.ExternalFrameworks {
		at := path.Index(i).Child("name")
		all = append(all, validateGVK(external.Name, at)...)
		if slices.Contains(mirrored(frameworks), external.Name) {
			all = append(all, field.Invalid(at, external.Name, "conflicts with a built-in MultiKueue adapter"))
		}
	}
	return all
}

func (p *ClusterProfile) validate(path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var all field.ErrorList
	if len(p.AccessProviders) > 0 && len(p.CredentialsProviders) > 0 {
		all = append(all, field.Forbidden(path.Child("credentialsProviders"), "not with accessProviders, whose old spelling it is"))
	}
	all = append(all, validateProviders(p.AccessProviders, path.Child("accessProviders"))...)
	return append(all, validateProviders(p.CredentialsProviders, path.Child("credentialsProviders"))...)
}

func validateProviders(providers []ClusterProfileAccessProvider, path *field.Path) field.ErrorList {
	all := validateUnique(providers, func(p ClusterProfileAccessProvider) string { return p.Name }, path, "name")
	for i, provider := range providers {
		at := path.Index(i)
		exec := at.Child("execConfig")
		all = append(all, required(provider.Name, at.Child("name"))...)
		all = append(all, required(provider.ExecConfig.Command, exec.Child("command"))...)
		all = append(all, required(provider.ExecConfig.APIVersion, exec.Child("apiVersion"))...)
		for j, variable := range provider.ExecConfig.Env {
			all = append(all, required(variable.Name, exec.Child("env").Index(j).Child("name"))...)
		}
	}
	return all
}

func required(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}
