package v1beta2

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"switchyard.dev/apis/config/features"
)

// Validate reports everything that is wrong with the configuration, each with
// the path of its field; nil when nothing is. SetDefaults must have run.
func (c *Configuration) Validate() error {
	return c.validate().ToAggregate()
}

func (c *Configuration) validate() field.ErrorList {
	var all field.ErrorList
	gates, err := features.New(c.FeatureGates)
	if err != nil {
		all = append(all, field.Invalid(field.NewPath("featureGates"), c.FeatureGates, oneLine(err)))
	}
	all = append(all, c.validateServers()...)
	all = append(all, c.Metrics.validate(gates, field.NewPath("metrics"))...)
	all = append(all, c.validateControl()...)
	all = append(all, c.validateNamespaces()...)
	all = append(all, c.WaitForPodsReady.validate(field.NewPath("waitForPodsReady"))...)
	all = append(all, c.Integrations.validate(gates, field.NewPath("integrations"))...)
	all = append(all, c.MultiKueue.validate(c.Integrations.Frameworks, field.NewPath("multiKueue"))...)
	all = append(all, c.FairSharing.validate(field.NewPath("fairSharing"))...)
	all = append(all, c.AdmissionFairSharing.validate(field.NewPath("admissionFairSharing"))...)
	all = append(all, c.Resources.validate(field.NewPath("resources"))...)
	return append(all, c.ObjectRetentionPolicies.validate(field.NewPath("objectRetentionPolicies"))...)
}

// validateNamespaces keeps the program from managing its own namespace and that
// of the system: a wrong rule there could stop what would repair it.
func (c *Configuration) validateNamespaces() field.ErrorList {
	var all field.ErrorList
	path := field.NewPath("namespace")
	for _, message := range validation.IsDNS1123Label(*c.Namespace) {
		all = append(all, field.Invalid(path, *c.Namespace, message))
	}
	path = field.NewPath("managedJobsNamespaceSelector")
	problems := validateSelector(c.ManagedJobsNamespaceSelector, path)
	if len(problems) > 0 {
		return append(all, problems...)
	}
	selector, err := metav1.LabelSelectorAsSelector(c.ManagedJobsNamespaceSelector)
	if err != nil {
		return append(all, field.Invalid(path, c.ManagedJobsNamespaceSelector, err.Error()))
	}
	for _, namespace := range []string{"kube-system", *c.Namespace} {
		if selector.Matches(labels.Set{"kubernetes.io/metadata.name": namespace}) {
			all = append(all, field.Invalid(path, metav1.FormatLabelSelector(c.ManagedJobsNamespaceSelector), fmt.Sprintf("must not match namespace %q", namespace)))
		}
	}
	return all
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

func validateDuration(duration *metav1.Duration, path *field.Path) field.ErrorList {
	if duration != nil && duration.Duration < 0 {
		return field.ErrorList{field.Invalid(path, duration.Duration.String(), "must be greater than or equal to 0")}
	}
	return nil
}

func validateNumber[N int | int32 | float32 | float64](number *N, least N, path *field.Path) field.ErrorList {
	if number != nil && *number < least {
		return field.ErrorList{field.Invalid(path, *number, fmt.Sprintf("must be greater than or equal to %v", least))}
	}
	return nil
}

func validatePort[N int | int32](port *N, path *field.Path) field.ErrorList {
	if port != nil && (*port < 1 || *port > 65535) {
		return field.ErrorList{field.Invalid(path, *port, validation.InclusiveRangeError(1, 65535))}
	}
	return nil
}

func validateOneOf[S ~string](value S, path *field.Path, values ...S) field.ErrorList {
	if !slices.Contains(values, value) {
		return field.ErrorList{field.NotSupported(path, value, values)}
	}
	return nil
}

// validateGVK checks the form Kind.version.group.
func validateGVK(name string, path *field.Path) field.ErrorList {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) != 3 || slices.Contains(parts, "") {
		return field.ErrorList{field.Invalid(path, name, "must have the form Kind.version.group")}
	}
	return nil
}

// validateUnique checks items by a key.
func validateUnique[T any, K comparable](items []T, key func(T) K, path *field.Path, name ...string) field.ErrorList {
	var all field.ErrorList
	seen := map[K]bool{}
	for i, item := range items {
		at := path.Index(i)
		for _, child := range name {
			at = at.Child(child)
		}
		if seen[key(item)] {
			all = append(all, field.Duplicate(at, key(item)))
		}
		seen[key(item)] = true
	}
	return all
}

func itself[T any](item T) T { return item }

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// oneLine puts an aggregate of errors on one line.
func oneLine(err error) string {
	var lines []string
	for _, line := range strings.Split(err.Error(), "\n") {
		if trimmed := strings.TrimLeft(line, "\t *"); trimmed != "" && !strings.HasSuffix(trimmed, "occurred:") {
			lines = append(lines, trimmed)
		}
	}
	return strings.Join(lines, "; ")
}

// seconds of a duration that is never nil, for messages.
func seconds(d metav1.Duration) string { return d.Duration.Round(time.Millisecond).String() }
