package clusters_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/worker/kube/polltest"
)

// The test has a cluster of its own: the shared one's other tests need its API server all the time.
func TestAnAPIServerThatWasKilledOrPausedComesBackWithItsData(t *testing.T) {
	c, err := clusters.Start(t.Context(), clusters.Options{Name: "restarts"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := kubernetes.NewForConfigOrDie(c.Config)
	data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), data, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.StopAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context(), client); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("reading from a killed API server: %v; want connection refused", err)
	}
	tearAuditLog(t, c)
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context(), client); err != nil {
		t.Errorf("reading after the restart: %v", err)
	}
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "kept-too", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if _, err := c.WriteCounts(); err != nil {
		t.Errorf("counting writes after a crash in the middle of a line: %v", err)
	}
	if err := c.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	// The signal may reach the last of its threads a moment later.
	if !polltest.Holds(t, func() bool { return errors.Is(get(t.Context(), client), context.DeadlineExceeded) }) {
		t.Error("reading from a paused API server: it answers")
	}
	if err := c.ResumeAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context(), client); err != nil {
		t.Errorf("reading after the pause: %v", err)
	}
}

func get(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := client.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{})
	return err
}

func TestAServiceAccountMayDoWhatItsRulesSayAndNothingElse(t *testing.T) {
	kubeconfig, err := shared.ServiceAccountKubeconfig(t.Context(), clusters.ServiceAccount{
		Namespace: "outside", Name: "reader",
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, kubeconfig)
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Errorf("listing nodes: %d, %v; want 2", len(nodes.Items), err)
	}
	if _, err := client.CoreV1().Secrets("outside").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing secrets: %v; want forbidden", err)
	}
}

// tearAuditLog leaves behind what a server that is killed in the middle of a write does: a line without its end.
func tearAuditLog(t *testing.T, c *clusters.Cluster) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(c.Dir, "audit.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"Resp`); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWritesAreCountedByWhoMadeThem(t *testing.T) {
	kubeconfig, err := shared.UserKubeconfig("counted", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.UserAgent = "writer/v1 (test)"
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	for _, name := range []string{"a", "b"} {
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.Delete(t.Context(), "absent", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	want := []clusters.WriteCount{
		{Write: clusters.Write{User: "counted", Agent: "writer", Verb: "create", Resource: "configmaps"}, Count: 2},
		{Write: clusters.Write{User: "counted", Agent: "writer", Verb: "delete", Resource: "configmaps", Failed: true}, Count: 1},
	}
	eventually(t, "the writes are in the audit log", func() error {
		all, err := shared.WriteCounts()
		if err != nil {
			return err
		}
		var got []clusters.WriteCount
		for _, write := range all {
			if write.User == "counted" {
				got = append(got, write)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		return nil
	})
}

func clientFor(t *testing.T, kubeconfig []byte) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "test"))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
