package fleet_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/client-go/util/flowcontrol"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/kubeconfig"
	"switchyard.dev/admissioncheck/multikueue/profile"
	configapi "switchyard.dev/apis/config/v1beta2"
)

const minimalKubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: w1, cluster: {server: "https://w1.example.com"}}]
users: [{name: hub, user: {token: secret}}]
contexts: [{name: main, context: {cluster: w1, user: hub}}]
current-context: main
`

// profileConfig is the config of a ClusterProfile.
func profileConfig(t *testing.T) *rest.Config {
	t.Helper()
	p := &inventory.ClusterProfile{}
	p.Status.AccessProviders = []inventory.AccessProvider{{Name: "p", Cluster: clientcmdv1.Cluster{Server: "https://w1.example.com"}}}
	credentials, err := profile.Credentials(p, []configapi.ClusterProfileAccessProvider{{Name: "p", ExecConfig: clientcmdv1.ExecConfig{
		Command: "plugin", APIVersion: "client.authentication.k8s.io/v1",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return credentials.Config
}

func TestEveryWorkerIsDialledWithTheFleetsBudget(t *testing.T) {
	parsed, err := kubeconfig.Parse([]byte(minimalKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	limited := rest.CopyConfig(parsed)
	limited.QPS, limited.Burst, limited.RateLimiter = 1, 2, flowcontrol.NewTokenBucketRateLimiter(1, 2)
	for from, config := range map[string]*rest.Config{"a kubeconfig": parsed, "a ClusterProfile": profileConfig(t), "one that has limits": limited} {
		for _, c := range []struct {
			options fleet.Options
			qps     float32
			burst   int
		}{{fleet.Options{}, 1000, 2000}, {fleet.Options{QPS: 70, Burst: 90}, 70, 90}} {
			was := config.QPS
			got := c.options.WithRateLimits(config)
			if got.QPS != c.qps || got.Burst != c.burst || got.RateLimiter.QPS() != c.qps || got.RateLimiter == config.RateLimiter || got.Host != config.Host || got.UserAgent != "switchyard-hub" {
				t.Errorf("from %s: %v calls a second, %d at once, as %q at %s", from, got.QPS, got.Burst, got.UserAgent, got.Host)
			}
			if config.QPS != was || config.UserAgent != "" {
				t.Errorf("from %s: the config itself was changed", from)
			}
		}
	}
}

func TestWhatIsDialledIsTheConfigWithTheBudget(t *testing.T) {
	callers := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		callers <- r.UserAgent()
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1" {
			_, _ = w.Write([]byte(`{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1",
				"resources": [{"name": "configmaps", "namespaced": true, "kind": "ConfigMap", "verbs": ["list"]}]}`))
			return
		}
		_, _ = w.Write([]byte(`{"kind": "ConfigMapList", "apiVersion": "v1", "items": []}`))
	}))
	defer server.Close()
	c, err := fleet.Options{Scheme: scheme.Scheme}.DefaultDial(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.List(t.Context(), &corev1.ConfigMapList{}); err != nil {
		t.Fatal(err)
	}
	close(callers)
	calls := 0
	for caller := range callers {
		calls++
		if caller != "switchyard-hub" {
			t.Errorf("called as %q", caller)
		}
	}
	if calls < 2 {
		t.Errorf("%d calls, want one to learn of the kind and one for the list", calls)
	}
}

func TestAllThatIsCalledOverAConnectionSharesItsBudget(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/api/v1":
			_, _ = w.Write([]byte(`{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
				{"name": "configmaps", "namespaced": true, "kind": "ConfigMap", "verbs": ["list"]},
				{"name": "secrets", "namespaced": true, "kind": "Secret", "verbs": ["list"]}]}`))
		case strings.HasSuffix(r.URL.Path, "/secrets"):
			_, _ = w.Write([]byte(`{"kind": "SecretList", "apiVersion": "v1", "items": []}`))
		default:
			_, _ = w.Write([]byte(`{"kind": "ConfigMapList", "apiVersion": "v1", "items": []}`))
		}
	}))
	defer server.Close()
	const enough = 10 // calls at once, to learn of a kind and to list it; and then none for a day
	c, err := fleet.Options{Scheme: scheme.Scheme, QPS: 1e-5, Burst: enough}.DefaultDial(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range enough {
		if err = c.List(ctx, &corev1.ConfigMapList{}); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "rate limiter") {
		t.Errorf("the budget was not used up: %v", err)
	}
	if err := c.List(ctx, &corev1.SecretList{}); err == nil || !strings.Contains(err.Error(), "rate limiter") {
		t.Errorf("a list of another kind is not held back: %v", err)
	}
}
