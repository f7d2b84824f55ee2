package main

import (
	"fmt"
	"os"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config"
)

// finishWebhooks keeps the webhooks of jobs away from the namespaces of the system.
func finishWebhooks(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mutating, validating, err := config.DecodeWebhooks(data)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	for i := range mutating.Webhooks {
		if hook := &mutating.Webhooks[i]; ofJobs(hook.Rules) {
			hook.NamespaceSelector = notOfTheSystem()
		}
	}
	for i := range validating.Webhooks {
		if hook := &validating.Webhooks[i]; ofJobs(hook.Rules) {
			hook.NamespaceSelector = notOfTheSystem()
		}
	}
	return write(file, mutating, validating)
}

func ofJobs(rules []admissionregistrationv1.RuleWithOperations) bool {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			if group == kueue.GroupName {
				return false
			}
		}
	}
	return true
}

func notOfTheSystem() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kube-system", namespace},
	}}}
}
