package install_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"switchyard.dev/charts"
	"switchyard.dev/charts/install"
	"switchyard.dev/e2e/clusters"
)

const namespace = "kueue-system"

// shared are the clusters of the tests, by role: each has the chart on it, in a namespace that enforces the pod security
// standard "restricted".
var shared = map[string]*clusters.Cluster{}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	started, err := clusters.StartAll(ctx, clusters.Options{Name: "hub", Controllers: true}, clusters.Options{Name: "worker"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := clusters.StopAll(started...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	for _, c := range started {
		if err := prepare(ctx, c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		shared[c.Name] = c
	}
	return m.Run()
}

func prepare(ctx context.Context, c *clusters.Cluster) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	r, err := rendered(map[string]any{"role": c.Name})
	if err != nil {
		return err
	}
	applier, err := install.NewApplier(c.Config)
	if err != nil {
		return err
	}
	return applier.Apply(ctx, r.Objects)
}

func rendered(values map[string]any) (charts.Rendered, error) {
	return charts.Render(charts.Release{Chart: "../switchyard", Name: "switchyard", Namespace: namespace, Values: values})
}

func clientOf(t *testing.T, c *clusters.Cluster) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually polls until the check succeeds, for at most a minute.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline, ticker := time.After(time.Minute), time.NewTicker(100*time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		}
	}
}
