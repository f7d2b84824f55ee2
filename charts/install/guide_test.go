package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"switchyard.dev/e2e/clusters"
)

// The blocks of the guide that are marked "sh" run as they stand there, by Helm and kubectl, on clusters without anything.
func TestTheGuidesCommandsInstallUpgradeAndUninstall(t *testing.T) {
	hub, worker := bare(t)
	dir := t.TempDir()
	link(t, dir, "charts")
	link(t, dir, "config")
	environment := append(os.Environ(),
		"PATH="+tools(t)+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfigs(t, hub, worker), "HOME="+dir)
	for _, block := range blocks(t, "../README.md") {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", block)
		cmd.Dir, cmd.Env = dir, environment
		out, err := cmd.CombinedOutput()
		t.Logf("%s\n%s", block, out)
		if err != nil {
			t.Fatalf("%v: the block\n%s\nsays\n%s", err, block, out)
		}
	}
	// The hub has nothing of ours left.
	cmd := exec.CommandContext(t.Context(), "bash", "-c",
		`kubectl --context hub get crds,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,priorityclasses -o name`)
	cmd.Env = environment
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left := regexp.MustCompile(`(?m)^.*(kueue|switchyard).*$`).FindAllString(string(out), -1); len(left) > 0 {
		t.Errorf("left on the hub: %v", left)
	}
}

// bare are a hub and a worker with nothing on them.
func bare(t *testing.T) (hub, worker *clusters.Cluster) {
	t.Helper()
	started, err := clusters.StartAll(t.Context(), clusters.Options{Name: "bare-hub", Controllers: true},
		clusters.Options{Name: "bare-worker", Controllers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clusters.StopAll(started...); err != nil {
			t.Error(err)
		}
	})
	return started[0], started[1]
}

func link(t *testing.T, dir, name string) {
	t.Helper()
	target, err := filepath.Abs("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// tools is a directory with helm, built from its module, and the kubectl of the control plane.
func tools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "helm"), "helm.sh/helm/v4/cmd/helm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build helm: %v\n%s", err, out)
	}
	binaries, err := clusters.FindBinaries(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binaries.Program("kubectl"), filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kubeconfigs is a file with administrators of both clusters as the contexts "hub" and "w1".
func kubeconfigs(t *testing.T, hub, worker *clusters.Cluster) string {
	t.Helper()
	all := clientcmdapi.NewConfig()
	for name, c := range map[string]*clusters.Cluster{"hub": hub, "w1": worker} {
		data, err := c.UserKubeconfig("administrator", "system:masters")
		if err != nil {
			t.Fatal(err)
		}
		one, err := clientcmd.Load(data)
		if err != nil {
			t.Fatal(err)
		}
		context := one.Contexts[one.CurrentContext]
		all.Clusters[name], all.AuthInfos[name] = one.Clusters[context.Cluster], one.AuthInfos[context.AuthInfo]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*all, file); err != nil {
		t.Fatal(err)
	}
	return file
}

var fenced = regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n")

// blocks are the guide's blocks of commands, in order.
func blocks(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range fenced.FindAllSubmatch(text, -1) {
		found = append(found, string(match[1]))
	}
	if len(found) < 8 || !strings.Contains(strings.Join(found, "\n"), "helm uninstall") {
		t.Fatalf("found only %d blocks", len(found))
	}
	return found
}
