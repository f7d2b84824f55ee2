package install_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/charts/install"
	"switchyard.dev/e2e/clusters"
)

// podOf is what the Deployment's ReplicaSet would create.
func podOf(t *testing.T, c *clusters.Cluster) *corev1.Pod {
	t.Helper()
	d, err := clientOf(t, c).AppsV1().Deployments(namespace).Get(t.Context(), "switchyard", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.GenerateName = "switchyard-"
	return pod
}

func TestThePodPassesTheRestrictedStandard(t *testing.T) {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for role, c := range shared {
		pods := clientOf(t, c).CoreV1().Pods(namespace)
		if _, err := pods.Create(t.Context(), podOf(t, c), dry); err != nil {
			t.Errorf("%s: %v", role, err)
		}
		loose := podOf(t, c)
		loose.Spec.Containers[0].SecurityContext = nil
		if _, err := pods.Create(t.Context(), loose, dry); !apierrors.IsForbidden(err) {
			t.Errorf("%s: without its security context it would be admitted too: %v", role, err)
		}
	}
}

func TestPeoplesRolesAreGathered(t *testing.T) {
	roles := clientOf(t, shared["hub"]).RbacV1().ClusterRoles()
	for name, want := range map[string]struct{ has, lacks string }{
		"kueue-batch-admin-role": {"update clusterqueues", "update nodes"},
		"kueue-batch-user-role":  {"create jobs", "update clusterqueues"},
		"view":                   {"list localqueues", "update workloads"},
		"admin":                  {"create jobsets", "update workloads"},
	} {
		eventually(t, name, func() error {
			role, err := roles.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			var may []string
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						may = append(may, verb+" "+resource)
					}
				}
			}
			if !slices.Contains(may, want.has) || slices.Contains(may, want.lacks) {
				return fmt.Errorf("it may %s", strings.Join(may, ", "))
			}
			return nil
		})
	}
}

// What the program has written since must survive, and what an older chart installed must become new.
func TestAnUpgradeBringsNewCRDsAndKeepsWhatTheProgramWrote(t *testing.T) {
	c := shared["worker"]
	const name = "clusterqueues.kueue.x-k8s.io"
	older := objects(t, map[string]any{"role": "worker"})
	for _, o := range older {
		if o.GetName() == name {
			withoutStopPolicy(t, o)
		}
	}
	apply(t, c, older)
	crd := crdOf(t, c, name)
	if hasStopPolicy(crd) {
		t.Fatal("the older CRD has the newer field")
	}
	crd.Spec.Conversion.Webhook.ClientConfig.CABundle = authority(t)
	if _, err := crdsOf(t, c).Update(t.Context(), crd, metav1.UpdateOptions{FieldManager: "worker"}); err != nil {
		t.Fatal(err)
	}
	secrets := clientOf(t, c).CoreV1().Secrets(namespace)
	filled := []byte(`{"data":{"tls.crt":"YQ=="}}`)
	if _, err := secrets.Patch(t.Context(), certificates, types.MergePatchType, filled, metav1.PatchOptions{FieldManager: "worker"}); err != nil {
		t.Fatal(err)
	}

	apply(t, c, objects(t, map[string]any{"role": "worker", "replicas": 3}))

	crd = crdOf(t, c, name)
	if !hasStopPolicy(crd) {
		t.Error("the upgrade left the old schema")
	}
	if len(crd.Spec.Conversion.Webhook.ClientConfig.CABundle) == 0 {
		t.Error("the upgrade took the authority away")
	}
	if secret, err := secrets.Get(t.Context(), certificates, metav1.GetOptions{}); err != nil || string(secret.Data["tls.crt"]) != "a" {
		t.Errorf("the upgrade took the certificate away: %v, %v", secret.Data, err)
	}
}

const certificates = "kueue-webhook-server-cert"

func objects(t *testing.T, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	r, err := rendered(values)
	if err != nil {
		t.Fatal(err)
	}
	return r.Objects
}

func apply(t *testing.T, c *clusters.Cluster, objects []*unstructured.Unstructured) {
	t.Helper()
	applier, err := install.NewApplier(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
}

// withoutStopPolicy makes the CRD one of a chart before there was that field.
func withoutStopPolicy(t *testing.T, crd *unstructured.Unstructured) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		unstructured.RemoveNestedField(v.(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "stopPolicy")
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
}

func hasStopPolicy(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, v := range crd.Spec.Versions {
		if _, there := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["stopPolicy"]; !there {
			return false
		}
	}
	return true
}

// authority is the one of the API server: any certificate will do.
func authority(t *testing.T) []byte {
	t.Helper()
	return shared["worker"].Config.CAData
}
