package install_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"switchyard.dev/e2e/clusters"
)

// The programs run here as the kubelet would run them, with the chart's service account, roles and configuration; only
// ports and the certificate directory are of this machine.
func TestTheProgramStartsWithTheRightsOfTheChart(t *testing.T) {
	for role, c := range shared {
		t.Run(role, func(t *testing.T) {
			startReady(t, c, role)
			eventually(t, "its authority is everywhere", func() error { return authorityIsEverywhere(t, c) })
			eventually(t, "it leads", func() error { return leads(t, c) })
			if log, err := os.ReadFile(logOf(c, role)); err != nil || strings.Contains(string(log), "forbidden") {
				t.Errorf("%v, it was denied something:\n%s", err, linesWith(string(log), "forbidden"))
			}
		})
	}
}

// startReady starts the program and returns when it is ready.
func startReady(t *testing.T, c *clusters.Cluster, role string) *clusters.Process {
	t.Helper()
	health := "127.0.0.1:" + port(t)
	process := start(t, c, role, health)
	eventually(t, "readiness", func() error {
		if ended, err := process.Exited(); ended {
			t.Fatalf("it ended: %v\n%s", err, process.LogTail())
		}
		return ready(t.Context(), "http://"+health+"/readyz")
	})
	return process
}

func port(t *testing.T) string {
	t.Helper()
	reserved, err := clusters.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reserved.Release(); err != nil {
			t.Error(err)
		}
	})
	return fmt.Sprint(reserved.Number)
}

func logOf(c *clusters.Cluster, role string) string { return filepath.Join(c.Dir, role+".log") }

// start starts the program that "make build" made. It ends with the test.
func start(t *testing.T, c *clusters.Cluster, role, health string) *clusters.Process {
	t.Helper()
	kubeconfig, err := c.ServiceAccountKubeconfig(t.Context(), clusters.ServiceAccount{Namespace: namespace, Name: "switchyard"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.Dir, "chart.kubeconfig"), kubeconfig)
	write(t, filepath.Join(c.Dir, "chart.yaml"), configurationOf(t, c, role, health))
	binary, err := filepath.Abs("../../bin/" + role)
	if err != nil {
		t.Fatal(err)
	}
	process, err := clusters.StartProcess(clusters.Command{
		Name: role, Path: binary, Log: logOf(c, role),
		Args: []string{"--config=" + filepath.Join(c.Dir, "chart.yaml"), "--kubeconfig=" + filepath.Join(c.Dir, "chart.kubeconfig")},
	})
	if err != nil {
		t.Fatalf("run make build: %v", err)
	}
	t.Cleanup(func() {
		if err := process.Stop(30 * time.Second); err != nil {
			t.Error(err)
		}
	})
	return process
}

// configurationOf is the installed one with ports and a directory of this machine.
func configurationOf(t *testing.T, c *clusters.Cluster, role, health string) []byte {
	t.Helper()
	installed, err := clientOf(t, c).CoreV1().ConfigMaps(namespace).Get(t.Context(), "switchyard-"+role, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(installed.Data["config.yaml"]), &fields); err != nil {
		t.Fatal(err)
	}
	fields["webhook"] = map[string]any{"host": "127.0.0.1", "port": c.Webhooks.Port, "certDir": filepath.Join(c.Dir, "certificates")}
	fields["health"] = map[string]any{"healthProbeBindAddress": health}
	fields["metrics"] = map[string]any{"bindAddress": "127.0.0.1:" + port(t)}
	api, err := strconv.Atoi(port(t))
	if err != nil {
		t.Fatal(err)
	}
	fields["visibilityServer"] = map[string]any{"bindAddress": "127.0.0.1", "bindPort": api}
	data, err := yaml.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func ready(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", response.Status)
	}
	return nil
}

// authorityIsEverywhere where the API server needs one to call the program.
func authorityIsEverywhere(t *testing.T, c *clusters.Cluster) error {
	t.Helper()
	webhooks := clientOf(t, c).AdmissionregistrationV1()
	mutating, err := webhooks.MutatingWebhookConfigurations().Get(t.Context(), "kueue-mutating-webhook-configuration", metav1.GetOptions{})
	if err != nil {
		return err
	}
	validating, err := webhooks.ValidatingWebhookConfigurations().Get(t.Context(), "kueue-validating-webhook-configuration", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, hook := range mutating.Webhooks {
		if len(hook.ClientConfig.CABundle) == 0 {
			return fmt.Errorf("%s has none", hook.Name)
		}
	}
	for _, hook := range validating.Webhooks {
		if len(hook.ClientConfig.CABundle) == 0 {
			return fmt.Errorf("%s has none", hook.Name)
		}
	}
	crds, err := crdsOf(t, c).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, crd := range crds.Items {
		if conversion := crd.Spec.Conversion; conversion.Webhook != nil && len(conversion.Webhook.ClientConfig.CABundle) == 0 {
			return fmt.Errorf("%s has none", crd.Name)
		}
	}
	return nil
}

func leads(t *testing.T, c *clusters.Cluster) error {
	t.Helper()
	lease, err := clientOf(t, c).CoordinationV1().Leases(namespace).Get(t.Context(), "c1f6bfd2.kueue.x-k8s.io", metav1.GetOptions{})
	if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
		return fmt.Errorf("nobody holds the lease")
	}
	return err
}

func linesWith(text, word string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

func crdsOf(t *testing.T, c *clusters.Cluster) apiextensionsclient.CustomResourceDefinitionInterface {
	t.Helper()
	client, err := apiextensions.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client.ApiextensionsV1().CustomResourceDefinitions()
}

func crdOf(t *testing.T, c *clusters.Cluster, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd, err := crdsOf(t, c).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return crd
}
