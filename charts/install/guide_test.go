package install_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/guide"
)

// blockTime is for one block of the guide; the commands in it have timeouts of their own.
const blockTime = 3 * time.Minute

// The blocks of the guide that are marked "sh" run as they stand there, by Helm, kubectl and switchctl, on clusters without
// anything. Where there is a Deployment its program runs, as a process.
func TestTheGuidesCommandsInstallRegisterUpgradeAndUninstall(t *testing.T) {
	hub, worker := bare(t)
	shell := commandShell(t, hub, worker)
	kubelets := []*kubelet{{c: hub, role: "hub"}, {c: worker, role: "worker"}}
	for _, block := range blocks(t, "../README.md") {
		follow(t, shell, block)
		for _, k := range kubelets {
			k.sync(t)
		}
	}
	left := follow(t, shell, guide.Block{Commands: `kubectl --context hub get -o name crds,clusterroles,clusterrolebindings,` +
		`mutatingwebhookconfigurations,validatingwebhookconfigurations,priorityclasses`})
	if ours := regexp.MustCompile(`(?m)^.*(kueue|switchyard).*$`).FindAllString(left, -1); len(ours) > 0 {
		t.Errorf("left on the hub: %v", ours)
	}
}

func follow(t *testing.T, shell guide.Shell, block guide.Block) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), blockTime)
	defer cancel()
	printed, err := shell.Run(ctx, block)
	t.Logf("%s\n%s", block.Commands, printed)
	if err != nil {
		t.Fatalf("%v: the block\n%s\nsays\n%s", err, block.Commands, printed)
	}
	return printed
}

// kubelet runs the program of a cluster while its Deployment is there.
type kubelet struct {
	c       *clusters.Cluster
	role    string
	process *clusters.Process
}

func (k *kubelet) sync(t *testing.T) {
	t.Helper()
	_, err := clientOf(t, k.c).AppsV1().Deployments(namespace).Get(t.Context(), "switchyard", metav1.GetOptions{})
	switch {
	case err == nil && k.process == nil:
		k.process = startReady(t, k.c, k.role)
	case apierrors.IsNotFound(err) && k.process != nil:
		if err := k.process.Stop(30 * time.Second); err != nil {
			t.Fatal(err)
		}
		k.process = nil
		k.forget(t)
	case err != nil && !apierrors.IsNotFound(err):
		t.Fatal(err)
	}
}

// forget removes what start has made on the cluster so that the program has a kubeconfig, where a pod would have a mounted
// token.
func (k *kubelet) forget(t *testing.T) {
	t.Helper()
	const made = namespace + "-switchyard"
	rbac := clientOf(t, k.c).RbacV1()
	if err := rbac.ClusterRoleBindings().Delete(t.Context(), made, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := rbac.ClusterRoles().Delete(t.Context(), made, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
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

// commandShell runs commands as an administrator of both clusters, as the contexts "hub" and "w1", at the top of the source tree.
func commandShell(t *testing.T, hub, worker *clusters.Cluster) guide.Shell {
	t.Helper()
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	switchctl := filepath.Join(tree, "bin", "switchctl")
	if _, err := os.Stat(switchctl); err != nil {
		t.Fatalf("run make build: %v", err)
	}
	shell, err := guide.CommandEnv{
		Contexts: map[string]*clusters.Cluster{"hub": hub, "w1": worker},
		Tree:     tree, Shows: []string{"charts", "config"},
		Programs: map[string]string{"helm": helm(t), "kubectl": hub.Kubectl(), "switchctl": switchctl},
	}.Setup(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return shell
}

// helm is built from its module.
func helm(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "helm")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "helm.sh/helm/v4/cmd/helm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build helm: %v\n%s", err, out)
	}
	return path
}

// blocks are the guide's blocks of commands, in order.
func blocks(t *testing.T, file string) []guide.Block {
	t.Helper()
	found, err := guide.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, b := range found {
		all += b.Commands
	}
	for _, want := range []string{"helm install", "cluster register", "helm upgrade", "helm uninstall"} {
		if !strings.Contains(all, want) {
			t.Errorf("no block says %q", want)
		}
	}
	return found
}
