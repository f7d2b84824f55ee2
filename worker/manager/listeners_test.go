package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"switchyard.dev/apis/config"
	"switchyard.dev/worker/kube/polltest"
	"switchyard.dev/worker/listener"
)

// settingsOf are those of a configuration file without its head.
func settingsOf(t *testing.T, yaml string) Settings {
	t.Helper()
	cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" + yaml))
	if err != nil {
		t.Fatal(err)
	}
	return Settings{Configuration: cfg}
}

// freeAddress is one of this machine without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run runs something until the test ends, which must then end without an error.
func run(t *testing.T, start func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// from is a client with TLS of an address of the loopback network, that trusts every certificate.
func from(t *testing.T, address string) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext:     (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// get returns the status of what is there, and its text; zero without an answer.
func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// crowd opens silent connections from one address, five more than it may have, and returns when five were closed for that.
func crowd(t *testing.T, name, address string, most int64) {
	t.Helper()
	closed := func() float64 {
		return testutil.ToFloat64(closedConnections.WithLabelValues(name, string(listener.Refused)))
	}
	before := closed()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.9")}}
	for range most + 5 {
		c, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	for began := time.Now(); closed() != before+5; {
		if time.Since(began) > headerTimeout/2 { // then they are closed for being silent
			t.Fatalf("%s: of %d connections, %v were closed", name, most+5, closed()-before)
		}
	}
}

func TestNobodyWhoReachesTheWebhooksKeepsOthersFromThem(t *testing.T) {
	dir := t.TempDir()
	certificate, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newWebhookServer(settingsOf(t, ""), newTestBodies(t), dir)
	s.endpoint.address, s.endpoint.limits = "127.0.0.1:0", listener.Limits{Total: 20, Remote: 10}
	s.Register("/validate", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	ready := func() error {
		return s.StartedChecker()(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	}
	if err := ready(); !errors.Is(err, errNotServing) {
		t.Errorf("before it is started it says %v", err)
	}
	run(t, s.Start)
	if !polltest.Holds(t, func() bool { return ready() == nil }) {
		t.Fatalf("is not ready: %v", ready())
	}
	crowd(t, "webhook", (*s.serving.Load()).String(), s.endpoint.limits.Remote)
	response, err := from(t, "127.0.0.2").Post("https://"+(*s.serving.Load()).String()+"/validate", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatalf("another remote is not served: %v", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 1 {
		t.Errorf("another remote is answered with %s %s", response.Proto, response.Status)
	}
	if err := ready(); err != nil {
		t.Errorf("it is not ready any more: %v", err)
	}
}

// managerWith runs a manager with the servers of a configuration, of an API server that knows no user.
func managerWith(t *testing.T, s Settings, certs *certificates, more ...func(ctrl.Manager) error) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{"authenticated":false}}`)
	}))
	t.Cleanup(api.Close)
	mgr, err := ctrl.NewManager(&rest.Config{Host: api.URL}, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: disabled}, HealthProbeBindAddress: disabled,
		WebhookServer: certs.delayUntilReady(newWebhookServer(s, newTestBodies(t), certs.dir())),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := addServers(t.Context(), mgr, s, certs, prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	for _, add := range more {
		if err := add(mgr); err != nil {
			t.Fatal(err)
		}
	}
	run(t, mgr.Start)
}

func TestServersAnswerEverybodyButWhoHasTooMuch(t *testing.T) {
	metrics, health, profiles := freeAddress(t), freeAddress(t), freeAddress(t)
	certs := certificatesOf(t, "")
	managerWith(t, settingsOf(t, "metrics: {bindAddress: '"+metrics+"'}\nhealth: {healthProbeBindAddress: '"+health+"'}\npprofBindAddress: '"+profiles+"'\n"), certs)
	for _, c := range []struct {
		name, address string
		most          int64
		paths         map[string]int
	}{
		{"metrics", metrics, metricsLimits.Remote, map[string]int{"/metrics": 200, "/": 404}},
		{"health", health, probeLimits.Remote, map[string]int{"/healthz": 200, "/healthz/healthz": 200, "/readyz": 500, "/readyz/x": 404, "/readyzz": 404, "/": 404}},
		{"profiles", profiles, profileLimits.Remote, map[string]int{"/debug/pprof/cmdline": 200}},
	} {
		crowd(t, c.name, c.address, c.most)
		for path, want := range c.paths {
			if got, text := get(t, from(t, "127.0.0.2"), "http://"+c.address+path); got != want {
				t.Errorf("%s: %d %s, want %d", path, got, text, want)
			}
		}
	}
}

func TestMetricsAreReadByWhomTheAPIServerKnows(t *testing.T) {
	_, port, _ := net.SplitHostPort(freeAddress(t))
	managerWith(t, settingsOf(t, "metrics: {bindAddress: ':"+port+"'}\nhealth: {healthProbeBindAddress: '0'}\n"), certificatesOf(t, ""))
	if got, text := get(t, from(t, "127.0.0.2"), "https://127.0.0.1:"+port+"/metrics"); got != http.StatusUnauthorized {
		t.Errorf("%d %s", got, text)
	}
	if got, _ := get(t, from(t, "127.0.0.2"), "http://127.0.0.1:"+port+"/metrics"); got != http.StatusBadRequest {
		t.Errorf("without TLS: %d", got)
	}
}
