package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"switchyard.dev/config"
)

func TestWebhooksAreThoseOfTheContract(t *testing.T) {
	mutating, validating, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	got := described(mutating, validating)
	want := []string{
		"mappwrapper.kb.io /mutate-workload-codeflare-dev-v1beta2-appwrapper CREATE [appwrappers] outside the system Fail None",
		"mclusterqueue.kb.io /mutate-kueue-x-k8s-io-v1beta2-clusterqueue CREATE [clusterqueues] everywhere Fail None",
		"mjaxjob.kb.io /mutate-kubeflow-org-v1-jaxjob CREATE [jaxjobs] outside the system Fail None",
		"mjob.kb.io /mutate-batch-v1-job CREATE [jobs] outside the system Fail None",
		"mjobset.kb.io /mutate-jobset-x-k8s-io-v1alpha2-jobset CREATE [jobsets] outside the system Fail None",
		"mleaderworkerset.kb.io /mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset CREATE,UPDATE [leaderworkersets] outside the system Fail None",
		"mmpijob.kb.io /mutate-kubeflow-org-v2beta1-mpijob CREATE [mpijobs] outside the system Fail None",
		"mpaddlejob.kb.io /mutate-kubeflow-org-v1-paddlejob CREATE [paddlejobs] outside the system Fail None",
		"mpytorchjob.kb.io /mutate-kubeflow-org-v1-pytorchjob CREATE [pytorchjobs] outside the system Fail None",
		"mraycluster.kb.io /mutate-ray-io-v1-raycluster CREATE [rayclusters] outside the system Fail None",
		"mrayjob.kb.io /mutate-ray-io-v1-rayjob CREATE [rayjobs] outside the system Fail None",
		"mrayservice.kb.io /mutate-ray-io-v1-rayservice CREATE [rayservices] outside the system Fail None",
		"mresourceflavor.kb.io /mutate-kueue-x-k8s-io-v1beta2-resourceflavor CREATE [resourceflavors] everywhere Fail None",
		"msparkapplication.kb.io /mutate-sparkoperator-k8s-io-v1beta2-sparkapplication CREATE [sparkapplications] outside the system Fail None",
		"mtfjob.kb.io /mutate-kubeflow-org-v1-tfjob CREATE [tfjobs] outside the system Fail None",
		"mtrainjob.kb.io /mutate-trainer-kubeflow-org-v1alpha1-trainjob CREATE [trainjobs] outside the system Fail None",
		"mworkload.kb.io /mutate-kueue-x-k8s-io-v1beta2-workload CREATE [workloads] everywhere Fail None",
		"mxgboostjob.kb.io /mutate-kubeflow-org-v1-xgboostjob CREATE [xgboostjobs] outside the system Fail None",
		"vappwrapper.kb.io /validate-workload-codeflare-dev-v1beta2-appwrapper CREATE,UPDATE [appwrappers] outside the system Fail None",
		"vclusterqueue.kb.io /validate-kueue-x-k8s-io-v1beta2-clusterqueue CREATE,UPDATE [clusterqueues] everywhere Fail None",
		"vcohort.kb.io /validate-kueue-x-k8s-io-v1beta2-cohort CREATE,UPDATE [cohorts] everywhere Fail None",
		"vjaxjob.kb.io /validate-kubeflow-org-v1-jaxjob CREATE,UPDATE [jaxjobs] outside the system Fail None",
		"vjob.kb.io /validate-batch-v1-job CREATE,UPDATE [jobs] outside the system Fail None",
		"vjobset.kb.io /validate-jobset-x-k8s-io-v1alpha2-jobset CREATE,UPDATE [jobsets] outside the system Fail None",
		"vleaderworkerset.kb.io /validate-leaderworkerset-x-k8s-io-v1-leaderworkerset CREATE,UPDATE [leaderworkersets] outside the system Fail None",
		"vmpijob.kb.io /validate-kubeflow-org-v2beta1-mpijob CREATE,UPDATE [mpijobs] outside the system Fail None",
		"vpaddlejob.kb.io /validate-kubeflow-org-v1-paddlejob CREATE,UPDATE [paddlejobs] outside the system Fail None",
		"vpytorchjob.kb.io /validate-kubeflow-org-v1-pytorchjob CREATE,UPDATE [pytorchjobs] outside the system Fail None",
		"vraycluster.kb.io /validate-ray-io-v1-raycluster CREATE,UPDATE [rayclusters] outside the system Fail None",
		"vrayjob.kb.io /validate-ray-io-v1-rayjob CREATE,UPDATE [rayjobs] outside the system Fail None",
		"vrayservice.kb.io /validate-ray-io-v1-rayservice CREATE,UPDATE [rayservices] outside the system Fail None",
		"vresourceflavor.kb.io /validate-kueue-x-k8s-io-v1beta2-resourceflavor CREATE,UPDATE [resourceflavors] everywhere Fail None",
		"vsparkapplication.kb.io /validate-sparkoperator-k8s-io-v1beta2-sparkapplication CREATE,UPDATE [sparkapplications] outside the system Fail None",
		"vtfjob.kb.io /validate-kubeflow-org-v1-tfjob CREATE,UPDATE [tfjobs] outside the system Fail None",
		"vtrainjob.kb.io /validate-trainer-kubeflow-org-v1alpha1-trainjob CREATE,UPDATE [trainjobs] outside the system Fail None",
		"vworkload.kb.io /validate-kueue-x-k8s-io-v1beta2-workload CREATE,UPDATE [workloads workloads/status] everywhere Fail None",
		"vxgboostjob.kb.io /validate-kubeflow-org-v1-xgboostjob CREATE,UPDATE [xgboostjobs] outside the system Fail None",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks (-contract +manifests):\n%s", diff)
	}
}

// Every pod of a cluster would wait for these.
func TestWebhooksOfPodsAreApartFromThoseOfEveryInstallation(t *testing.T) {
	mutating, validating, err := config.PodWebhooks()
	if err != nil {
		t.Fatal(err)
	}
	all, others, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	if mutating.Name != all.Name || validating.Name != others.Name {
		t.Errorf("%s and %s cannot be laid over %s and %s", mutating.Name, validating.Name, all.Name, others.Name)
	}
	want := []string{
		"mdeployment.kb.io /mutate-apps-v1-deployment CREATE,UPDATE [deployments] outside the system Fail None",
		"mpod.kb.io /mutate--v1-pod CREATE [pods] outside the system Fail None",
		"mstatefulset.kb.io /mutate-apps-v1-statefulset CREATE,UPDATE [statefulsets] outside the system Fail None",
		"vdeployment.kb.io /validate-apps-v1-deployment CREATE,UPDATE [deployments] outside the system Fail None",
		"vpod.kb.io /validate--v1-pod CREATE,UPDATE [pods] outside the system Fail None",
		"vstatefulset.kb.io /validate-apps-v1-statefulset CREATE,UPDATE [statefulsets] outside the system Fail None",
	}
	if diff := cmp.Diff(want, described(mutating, validating)); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

// described are the webhooks of both configurations, one line each, sorted.
func described(
	mutating *admissionregistrationv1.MutatingWebhookConfiguration, validating *admissionregistrationv1.ValidatingWebhookConfiguration,
) []string {
	var got []string
	for _, hook := range mutating.Webhooks {
		got = append(got, describe(hook.Name, hook.ClientConfig, hook.Rules, hook.NamespaceSelector != nil, *hook.FailurePolicy, *hook.SideEffects))
	}
	for _, hook := range validating.Webhooks {
		got = append(got, describe(hook.Name, hook.ClientConfig, hook.Rules, hook.NamespaceSelector != nil, *hook.FailurePolicy, *hook.SideEffects))
	}
	slices.Sort(got)
	return got
}

func describe(
	name string, client admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations,
	selective bool, failure admissionregistrationv1.FailurePolicyType, effects admissionregistrationv1.SideEffectClass,
) string {
	var operations []string
	for _, operation := range rules[0].Operations {
		operations = append(operations, string(operation))
	}
	where := "everywhere"
	if selective {
		where = "outside the system"
	}
	return fmt.Sprintf("%s %s %s %v %s %s %s", name, *client.Service.Path, strings.Join(operations, ","), rules[0].Resources, where, failure, effects)
}

func TestWebhooksCanBeServedFromAnywhere(t *testing.T) {
	mutating, validating, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	config.ServeWebhooks(mutating, validating, func(path string) admissionregistrationv1.WebhookClientConfig {
		url := "https://127.0.0.1:1" + path
		return admissionregistrationv1.WebhookClientConfig{URL: &url}
	})
	for _, hook := range validating.Webhooks {
		if hook.ClientConfig.Service != nil || !strings.HasPrefix(*hook.ClientConfig.URL, "https://127.0.0.1:1/validate-") {
			t.Errorf("%s is served at %v", hook.Name, hook.ClientConfig)
		}
	}
}

func TestTheKindsWhoseVersionsDifferAreConvertedFromAnywhere(t *testing.T) {
	all := crds(t)
	url := "https://127.0.0.1:1" + config.ConversionPath
	config.ServeConversion(all, apiextensionsv1.WebhookClientConfig{URL: &url})
	var converted []string
	for _, crd := range all {
		if crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
			continue
		}
		converted = append(converted, crd.Spec.Names.Kind)
		if client := crd.Spec.Conversion.Webhook.ClientConfig; client.Service != nil || *client.URL != url {
			t.Errorf("%s is converted at %v", crd.Name, client)
		}
	}
	if diff := cmp.Diff([]string{"ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "Workload"}, converted); diff != "" {
		t.Errorf("converted kinds (-want +got):\n%s", diff)
	}
}

func TestOnlyTheOldMultiKueueConfigIsNotDeprecated(t *testing.T) {
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			want := version.Name == "v1beta1" && crd.Spec.Names.Kind != "MultiKueueConfig"
			if version.Deprecated != want || (version.DeprecationWarning != nil) != want {
				t.Errorf("%s/%s: deprecated is %t", crd.Spec.Names.Kind, version.Name, version.Deprecated)
			}
			selectable := version.Name == "v1beta2" && crd.Spec.Names.Kind == "Workload"
			if (len(version.SelectableFields) > 0) != selectable {
				t.Errorf("%s/%s: selectable fields are %v", crd.Spec.Names.Kind, version.Name, version.SelectableFields)
			}
		}
	}
}
