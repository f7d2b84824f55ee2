package workload

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// maxGateNameLength is the longest name in the annotation admission-gated-by, in bytes.
const maxGateNameLength = 63

// ValidateAdmissionGates says what is wrong with the annotation admission-gated-by of a new job or Workload (contract: messages.md 4.4).
func ValidateAdmissionGates(value string) field.ErrorList {
	path := field.NewPath("metadata", "annotations").Key(kueue.AdmissionGatedByAnnotation)
	var all field.ErrorList
	seen := map[string]bool{}
	for _, name := range parseGateNames(value) {
		switch {
		case name == "":
			all = append(all, field.Invalid(path, value, "cannot contain empty gate names"))
			continue
		case seen[name]:
			all = append(all, field.Invalid(path, value, "duplicate gate name: "+name))
			continue
		}
		seen[name] = true
		all = append(all, validation.IsDomainPrefixedPath(path, name)...)
		if len(name) > maxGateNameLength {
			all = append(all, field.TooLong(path, name, maxGateNameLength))
		}
	}
	return all
}

// ValidateAdmissionGatesUpdate refuses gates that were not there before: they can only be removed. How those are spelt that stay is not
// judged again.
func ValidateAdmissionGatesUpdate(old, value string) field.ErrorList {
	path := field.NewPath("metadata", "annotations").Key(kueue.AdmissionGatedByAnnotation)
	before := parseGateNames(old)
	for _, name := range parseGateNames(value) {
		switch {
		case slices.Contains(before, name):
		case len(before) == 0:
			return field.ErrorList{field.Forbidden(path, "cannot add admission gate after creation")}
		default:
			return field.ErrorList{field.Forbidden(path, "can only remove gates, not add new ones")}
		}
	}
	return nil
}

// parseGateNames are the names as they are written, but for blanks around them; none of an empty value.
func parseGateNames(value string) []string {
	if value == "" {
		return nil
	}
	names := strings.Split(value, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}
