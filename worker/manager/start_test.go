package manager

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// fakeServer tells when it is started.
type fakeServer struct {
	webhook.Server
	started chan struct{}
}

func (f fakeServer) Start(context.Context) error     { close(f.started); return nil }
func (f fakeServer) StartedChecker() healthz.Checker { return func(*http.Request) error { return nil } }

func certificatesOf(t *testing.T, yaml string) *certificates {
	t.Helper()
	cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" + yaml))
	if err != nil {
		t.Fatal(err)
	}
	return newCertificates(Settings{Configuration: cfg})
}

func TestTheWebhookServerWaitsForCertificatesThatTheProgramMakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		certs := certificatesOf(t, "")
		server := fakeServer{started: make(chan struct{})}
		go func() { _ = certs.delayUntilReady(server).Start(t.Context()) }()
		synctest.Wait()
		if isClosed(server.started) || certs.areReady() {
			t.Fatal("started without certificates")
		}
		close(certs.ready)
		synctest.Wait()
		if !isClosed(server.started) || !certs.areReady() {
			t.Fatal("did not start with certificates")
		}
	})
}

func TestCertificatesFromADirectoryAreTakenToBeThere(t *testing.T) {
	certs := certificatesOf(t, "internalCertManagement: {enable: false}\nwebhook: {certDir: /certs}\n")
	if !certs.areReady() || certs.dir() != "/certs" {
		t.Errorf("ready %v, directory %s", certs.areReady(), certs.dir())
	}
}

func TestAProgramThatIsToldToStopDoesNotWaitForCertificates(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server := fakeServer{started: make(chan struct{})}
	if err := certificatesOf(t, "").delayUntilReady(server).Start(ctx); err != nil || isClosed(server.started) {
		t.Errorf("started %v, error %v", isClosed(server.started), err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestKindsThatAreNotServedAreNamed(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{kueue.GroupVersion})
	for kind := range scheme.KnownTypes(kueue.GroupVersion) {
		if kind != "Workload" && kind != "Cohort" {
			mapper.Add(kueue.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
		}
	}
	got, err := listUnserved(mapper, scheme, kueue.GroupVersion)
	if diff := cmp.Diff([]string{"Cohort", "Workload"}, got); diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
}

// The manager's cache cannot be made before the kinds are served, so a program that did not wait first would end.
func TestAProgramThatIsStartedBeforeItsCRDsWaitsForThem(t *testing.T) {
	asked := make(chan struct{}, 1000)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		default:
			http.NotFound(w, r)
		}
		select {
		case asked <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(api.Close)
	kubeconfig := write(t, `{"apiVersion":"v1","kind":"Config","current-context":"here","clusters":[{"name":"here","cluster":{"server":"`+
		api.URL+`"}}],"contexts":[{"name":"here","context":{"cluster":"here"}}]}`)
	t.Setenv("KUBECONFIG", kubeconfig)
	cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"))
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, clientscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	gates, err := features.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := Program{Name: "test", API: kueue.GroupVersion, Scheme: func() (*runtime.Scheme, error) { return scheme, nil }}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.serve(ctx, Settings{cfg, gates}, nil, prometheus.NewRegistry(), logr.Discard()) }()
	for range 100 { // more than one look takes
		select {
		case <-asked:
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("told to stop, it ends with %v", err)
	}
}
