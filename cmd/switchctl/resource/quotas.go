package resource

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/exit"
)

// resourceGroups are those of quotas that are given as FLAVOR:RESOURCE=QUANTITY[;...]. Flavors with the same resources are one
// group, in the order given.
func resourceGroups(nominal, borrowing, lending []string) ([]kueue.ResourceGroup, error) {
	flavors, err := parseQuotas("nominal-quota", nominal)
	if err != nil {
		return nil, err
	}
	for flag, texts := range map[string][]string{"borrowing-limit": borrowing, "lending-limit": lending} {
		limits, err := parseQuotas(flag, texts)
		if err != nil {
			return nil, err
		}
		for _, l := range limits {
			for _, r := range l.Resources {
				to := findQuota(flavors, l.Name, r.Name)
				if to == nil {
					return nil, exit.Usagef("--%s %s:%s has no --nominal-quota", flag, l.Name, r.Name)
				}
				limit := r.NominalQuota
				if flag == "borrowing-limit" {
					to.BorrowingLimit = &limit
				} else {
					to.LendingLimit = &limit
				}
			}
		}
	}
	var groups []kueue.ResourceGroup
	for _, f := range flavors {
		var covered []corev1.ResourceName
		for _, r := range f.Resources {
			covered = append(covered, r.Name)
		}
		at := slices.IndexFunc(groups, func(g kueue.ResourceGroup) bool { return slices.Equal(g.CoveredResources, covered) })
		if at < 0 {
			groups = append(groups, kueue.ResourceGroup{CoveredResources: covered})
			at = len(groups) - 1
		}
		groups[at].Flavors = append(groups[at].Flavors, f)
	}
	return groups, nil
}

// findQuota returns the quota of a flavor for a resource, for the caller to change; nil if the flavor has none.
func findQuota(flavors []kueue.FlavorQuotas, flavor kueue.ResourceFlavorReference, name corev1.ResourceName) *kueue.ResourceQuota {
	for i := range flavors {
		for j := range flavors[i].Resources {
			if flavors[i].Name == flavor && flavors[i].Resources[j].Name == name {
				return &flavors[i].Resources[j]
			}
		}
	}
	return nil
}

// parseQuotas reads FLAVOR:RESOURCE=QUANTITY[;RESOURCE=QUANTITY...], one text a flavor. Errors name the flag.
func parseQuotas(flag string, texts []string) ([]kueue.FlavorQuotas, error) {
	var flavors []kueue.FlavorQuotas
	for _, text := range texts {
		name, rest, ok := strings.Cut(text, ":")
		if !ok || name == "" || rest == "" {
			return nil, exit.Usagef("--%s %q: want FLAVOR:RESOURCE=QUANTITY[;RESOURCE=QUANTITY...]", flag, text)
		}
		f := kueue.FlavorQuotas{Name: kueue.ResourceFlavorReference(name)}
		for pair := range strings.SplitSeq(rest, ";") {
			key, value, _ := strings.Cut(pair, "=")
			quantity, err := resource.ParseQuantity(value)
			if err != nil || key == "" {
				return nil, exit.Usagef("--%s %q: %q is no RESOURCE=QUANTITY", flag, text, pair)
			}
			f.Resources = append(f.Resources, kueue.ResourceQuota{Name: corev1.ResourceName(key), NominalQuota: quantity})
		}
		flavors = append(flavors, f)
	}
	return flavors, nil
}

// parseTaint reads KEY[=VALUE]:EFFECT.
func parseTaint(text string) (corev1.Taint, error) {
	left, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(left, "=")
	if !ok || key == "" || !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect) {
		return corev1.Taint{}, exit.Usagef("--node-taints %q: want KEY[=VALUE]:EFFECT, with the effect NoSchedule, PreferNoSchedule or NoExecute", text)
	}
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, nil
}

// parseToleration reads KEY[=VALUE][:EFFECT]. Without a value the key is enough, without an effect all effects are
// tolerated.
func parseToleration(text string) (corev1.Toleration, error) {
	left, effect, _ := strings.Cut(text, ":")
	key, value, equal := strings.Cut(left, "=")
	if key == "" || !slices.Contains([]string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}, effect) {
		return corev1.Toleration{}, exit.Usagef("--tolerations %q: want KEY[=VALUE][:EFFECT], with the effect NoSchedule, PreferNoSchedule or NoExecute", text)
	}
	t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if equal {
		t.Operator, t.Value = corev1.TolerationOpEqual, value
	}
	return t, nil
}
