package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"switchyard.dev/cmd/switchctl/exit"
)

// hubKubeconfig is somebody's: two hubs, one with files beside it.
const hubKubeconfig = `{apiVersion: v1, kind: Config, current-context: hub,
clusters: [{name: h, cluster: {server: "https://hub.example.com:6443", certificate-authority: ca.crt, tls-server-name: kubernetes}},
  {name: far, cluster: {server: "https://rancher.example.com/k8s/clusters/c-1/", insecure-skip-tls-verify: true}}],
users: [{name: me, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, args: [--hub], interactiveMode: IfAvailable}}},
  {name: other, user: {client-certificate-data: YQ==, client-key-data: Yg==}}],
contexts: [{name: hub, context: {cluster: h, user: me, namespace: vision}}, {name: far, context: {cluster: far, user: other}}]}`

// hubFiles puts the kubeconfig where the program finds it, and tells where.
func hubFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "config")
	for file, content := range map[string]string{name: hubKubeconfig, filepath.Join(dir, "ca.crt"): "authority", filepath.Join(dir, "port.crt"): "other authority"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", name)
	return name
}

func parseKubeconfig(t *testing.T, text string) *clientcmdapi.Config {
	t.Helper()
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return config
}

func TestAKubeconfigLeadsThroughTheHubWithTheUsersOwnCredentials(t *testing.T) {
	hubFiles(t)
	x := newTerminal(t)
	x.withFleet(nil)
	golden(t, "access-kubeconfig.txt", x.ok("access kubeconfig"))
	for _, c := range []struct{ line, context, server, namespace string }{
		{"-n other", "hub-fleet", "https://hub.example.com:6443/apis/access.switchyard.dev/v1alpha1/clusters/all/proxy", "other"},
		{"--cluster w1", "hub-w1", "https://hub.example.com:6443/apis/access.switchyard.dev/v1alpha1/clusters/w1/proxy", "team"},
		{"--context far", "far-fleet", "https://rancher.example.com/k8s/clusters/c-1/apis/access.switchyard.dev/v1alpha1/clusters/all/proxy", "team"},
		{"--server https://port.example.com:9444", "hub-fleet", "https://port.example.com:9444/apis/access.switchyard.dev/v1alpha1/clusters/all/proxy", "team"},
	} {
		config := parseKubeconfig(t, x.ok("access kubeconfig "+c.line))
		current := config.Contexts[config.CurrentContext]
		if len(config.Contexts) != 1 || config.CurrentContext != c.context || current.Namespace != c.namespace {
			t.Errorf("%s: context %s, %+v", c.line, config.CurrentContext, current)
		}
		if cluster := config.Clusters[current.Cluster]; cluster == nil || cluster.Server != c.server {
			t.Errorf("%s: %+v", c.line, cluster)
		}
		if config.AuthInfos[current.AuthInfo] == nil {
			t.Errorf("%s: no user", c.line)
		}
	}
}

func TestAKubeconfigForTheHubsOwnPortHasItsAuthorityAndNeedsAToken(t *testing.T) {
	file := hubFiles(t)
	x := newTerminal(t)
	line := "access kubeconfig --server https://10.0.0.1:9444 --certificate-authority " + filepath.Join(filepath.Dir(file), "port.crt")
	code, out, errs := x.run(line + " --token t0k3n")
	config := parseKubeconfig(t, out)
	cluster, user := config.Clusters["hub-fleet"], config.AuthInfos["me"]
	if code != 0 || errs != "" || string(cluster.CertificateAuthorityData) != "other authority" || cluster.TLSServerName != "" || user.Token != "t0k3n" {
		t.Errorf("code %d, %q: %+v %+v", code, errs, cluster, user)
	}
	_, out, errs = x.run(line + " --context far")
	cluster = parseKubeconfig(t, out).Clusters["far-fleet"]
	if !strings.Contains(errs, `warning: user "other" has no token`) || len(cluster.CertificateAuthorityData) > 0 || !cluster.InsecureSkipTLSVerify {
		t.Errorf("%q: %+v", errs, cluster)
	}
}

func TestAContextIsMergedBesideTheOthers(t *testing.T) {
	file := hubFiles(t)
	x := newTerminal(t)
	x.withFleet(nil)
	before, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out := x.ok("access kubeconfig --merge -n vision"); out != "context hub-fleet: kubectl --context hub-fleet get pods\n" {
		t.Errorf("%q", out)
	}
	after, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	made, context := after.Clusters["hub-fleet"], after.Contexts["hub-fleet"]
	if made == nil || context == nil || context.AuthInfo != "me" || context.Namespace != "vision" || made.CertificateAuthority != "ca.crt" ||
		!strings.HasSuffix(made.Server, "/clusters/all/proxy") {
		t.Fatalf("%+v %+v", made, context)
	}
	delete(after.Clusters, "hub-fleet")
	delete(after.Contexts, "hub-fleet")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	x.fails("access kubeconfig --merge --context hub-fleet", exit.Usage, "leads through a hub already")
	x.fails("access kubeconfig --merge --token t", exit.Usage, "no credentials of the command line")
}

func TestAKubeconfigIsPrintedForAHubThatMayServeItLater(t *testing.T) {
	hubFiles(t)
	x := newTerminal(t)
	code, out, errs := x.run("access kubeconfig")
	if code != 0 || !strings.Contains(out, "current-context: hub-fleet") || !strings.Contains(errs, "chart value access.enabled=true") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	x.fails("access kubeconfig --cluster W_1", exit.Usage, "cannot be a cluster's name")
	x.fails("access kubeconfig --server nowhere", exit.Usage, "is no server's URL")
}
