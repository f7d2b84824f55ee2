package v1beta2

import (
	"crypto/tls"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"switchyard.dev/apis/config/features"
)

// Bounds on custom labels of metrics (contract: kueue-api.md 7).
const (
	maxCustomLabels          = 20
	maxCustomLabelsOfKind    = 6
	maxCustomLabelsOfJobs    = 2
	maxTrackedValues         = 16
	maxTrackedValuesOfJobs   = 12
	minClientConnectionBurst = 1
)

func (c *Configuration) validateServers() field.ErrorList {
	all := validatePort(c.Webhook.Port, field.NewPath("webhook", "port"))
	all = append(all, validatePort(c.VisibilityServer.BindPort, field.NewPath("visibilityServer", "bindPort"))...)
	certs := field.NewPath("internalCertManagement")
	if *c.InternalCertManagement.Enable {
		for _, message := range validation.IsDNS1035Label(*c.InternalCertManagement.WebhookServiceName) {
			all = append(all, field.Invalid(certs.Child("webhookServiceName"), *c.InternalCertManagement.WebhookServiceName, message))
		}
		for _, message := range validation.IsDNS1123Subdomain(*c.InternalCertManagement.WebhookSecretName) {
			all = append(all, field.Invalid(certs.Child("webhookSecretName"), *c.InternalCertManagement.WebhookSecretName, message))
		}
	}
	return append(all, c.TLS.validate(field.NewPath("tls"))...)
}

func (t *TLS) validate(path *field.Path) field.ErrorList {
	if t == nil {
		return nil
	}
	var all field.ErrorList
	version, known := tlsVersions[t.MinVersion]
	if !known {
		all = append(all, field.NotSupported(path.Child("minVersion"), t.MinVersion, []string{"VersionTLS12", "VersionTLS13"}))
	}
	suites := path.Child("cipherSuites")
	if version == tls.VersionTLS13 && len(t.CipherSuites) > 0 {
		all = append(all, field.Forbidden(suites, "TLS 1.3 leaves no choice of cipher suites"))
	}
	for i, name := range t.CipherSuites {
		if _, known := cipherSuite(name); !known {
			all = append(all, field.Invalid(suites.Index(i), name, "is not a cipher suite that Go calls secure"))
		}
	}
	for i := range t.CurvePreferences {
		all = append(all, validateNumber(&t.CurvePreferences[i], 1, path.Child("curvePreferences").Index(i))...)
	}
	return all
}

func (m *Metrics) validate(gates features.Set, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if selector := m.LocalQueueMetrics.LocalQueueSelector; selector != nil {
		all = append(all, validateSelector(selector, path.Child("localQueueMetrics", "localQueueSelector"))...)
	}
	labels := path.Child("customLabels")
	if len(m.CustomLabels) > 0 && !gates.Enabled(features.CustomMetricLabels) {
		all = append(all, field.Forbidden(labels, "needs the feature gate "+string(features.CustomMetricLabels)))
	}
	if len(m.CustomLabels) > maxCustomLabels {
		all = append(all, field.TooMany(labels, len(m.CustomLabels), maxCustomLabels))
	}
	all = append(all, validateUnique(m.CustomLabels, func(l CustomLabel) string { return l.Name }, labels, "name")...)
	ofKind := map[SourceKind]int{}
	for i, label := range m.CustomLabels {
		ofKind[label.SourceKind]++
		all = append(all, label.validate(labels.Index(i))...)
	}
	for _, kind := range sortedKeys(ofKind) {
		most := maxCustomLabelsOfKind
		if kind == SourceKindWorkload {
			most = maxCustomLabelsOfJobs
		}
		if ofKind[kind] > most {
			all = append(all, field.Invalid(labels, ofKind[kind], fmt.Sprintf("at most %d labels can come from %ss", most, kind)))
		}
	}
	return all
}

func (l *CustomLabel) validate(path *field.Path) field.ErrorList {
	all := validateOneOf(l.SourceKind, path.Child("sourceKind"), SourceKindClusterQueue, SourceKindLocalQueue, SourceKindCohort, SourceKindWorkload)
	for _, message := range validation.IsCIdentifier(l.Name) {
		all = append(all, field.Invalid(path.Child("name"), l.Name, message))
	}
	if (l.SourceLabelKey == "") == (l.SourceAnnotationKey == "") {
		all = append(all, field.Invalid(path, l.Name, "exactly one of sourceLabelKey, sourceAnnotationKey must be set"))
	}
	for _, key := range []string{l.SourceLabelKey, l.SourceAnnotationKey} {
		if key == "" {
			continue
		}
		for _, message := range validation.IsQualifiedName(strings.ToLower(key)) {
			all = append(all, field.Invalid(path, key, message))
		}
	}
	values, most := path.Child("trackedValues"), maxTrackedValues
	if l.SourceKind == SourceKindWorkload {
		most = maxTrackedValuesOfJobs
		if len(l.TrackedValues) == 0 {
			all = append(all, field.Required(values, "for labels from Workloads"))
		}
	}
	if len(l.TrackedValues) > most {
		all = append(all, field.TooMany(values, len(l.TrackedValues), most))
	}
	return append(all, validateUnique(l.TrackedValues, itself, values)...)
}

func (c *Configuration) validateControl() field.ErrorList {
	var all field.ErrorList
	election, path := c.LeaderElection, field.NewPath("leaderElection")
	if *election.LeaderElect {
		if election.LeaseDuration.Duration <= election.RenewDeadline.Duration {
			all = append(all, field.Invalid(path.Child("leaseDuration"), seconds(election.LeaseDuration), "must be greater than renewDeadline, "+seconds(election.RenewDeadline)))
		}
		if election.RenewDeadline.Duration <= election.RetryPeriod.Duration {
			all = append(all, field.Invalid(path.Child("renewDeadline"), seconds(election.RenewDeadline), "must be greater than retryPeriod, "+seconds(election.RetryPeriod)))
		}
	}
	path = field.NewPath("controller")
	all = append(all, validateDuration(c.Controller.CacheSyncTimeout, path.Child("cacheSyncTimeout"))...)
	for _, kind := range sortedKeys(c.Controller.GroupKindConcurrency) {
		at, workers := path.Child("groupKindConcurrency").Key(kind), c.Controller.GroupKindConcurrency[kind]
		if kind == "" || strings.HasPrefix(kind, ".") || strings.HasSuffix(kind, ".") {
			all = append(all, field.Invalid(at, kind, "must have the form Kind.group"))
		}
		all = append(all, validateNumber(&workers, 1, at)...)
	}
	path = field.NewPath("clientConnection")
	return append(all, validateNumber(c.ClientConnection.Burst, minClientConnectionBurst, path.Child("burst"))...)
}
