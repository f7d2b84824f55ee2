package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // as the program does
	os.Exit(m.Run())
}

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// terminal is a run of the program against clusters in memory.
type terminal struct {
	t   *testing.T
	hub *kubeclient.Client
	// workers by the name of their context; the hub's kubeconfigs lead to them by the host https://<name>.
	workers map[string]*kubeclient.Client
	// kubectl collects what was passed to it.
	kubectl []string
	// pending is what the visibility API answers; empty if it is not served.
	pending string
	// hidesClusterQueues is set if it answers about LocalQueues only.
	hidesClusterQueues bool
	// stdin of the next command.
	stdin string
}

func newTerminal(t *testing.T, objects ...client.Object) *terminal {
	t.Helper()
	x := &terminal{t: t, workers: map[string]*kubeclient.Client{}}
	x.hub = x.site("hub", interceptor.Funcs{}, objects...)
	return x
}

// site is a cluster in memory that lets everything be seen as a real one does of these kinds.
func (x *terminal) site(name string, calls interceptor.Funcs, objects ...client.Object) *kubeclient.Client {
	x.t.Helper()
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: types.UID("uid-of-" + name)}}
	builder := fake.NewClientBuilder().WithScheme(kubeclient.Scheme()).WithRESTMapper(mapper()).
		WithObjects(append(objects, system)...).WithInterceptorFuncs(calls).
		WithStatusSubresource(&kueue.Workload{}, &kueue.MultiKueueCluster{})
	return &kubeclient.Client{
		Client: builder.Build(), Kube: kubefake.NewClientset(), Schemas: openapitest.NewFakeClient(),
		Config: &rest.Config{Host: "https://" + name, TLSClientConfig: rest.TLSClientConfig{CAData: []byte("authority of " + name)}},
	}
}

// mapper knows the scope of every kind, as an API server does.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	cluster := map[string]bool{
		"ClusterQueue": true, "Cohort": true, "ResourceFlavor": true, "MultiKueueCluster": true, "MultiKueueConfig": true,
		"AdmissionCheck": true, "WorkloadPriorityClass": true, "Topology": true, "CapacityReport": true, "Namespace": true,
		"ClusterRole": true, "ClusterRoleBinding": true, "Node": true,
	}
	for kind := range kubeclient.Scheme().AllKnownTypes() {
		if !relevant(kind) {
			continue
		}
		scope := meta.RESTScope(meta.RESTScopeNamespace)
		if cluster[kind.Kind] {
			scope = meta.RESTScopeRoot
		}
		m.Add(kind, scope)
	}
	return m
}

func relevant(kind schema.GroupVersionKind) bool {
	switch kind.Group {
	case "", "batch", "rbac.authorization.k8s.io", "kueue.x-k8s.io", "switchyard.dev", "jobset.x-k8s.io", "coordination.k8s.io", "apps":
		return kind.Version != "v1beta1" && (kind.Group != "apps" || kind.Version == "v1")
	}
	return false
}

func (x *terminal) app() (a *cli.App, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	a = cli.NewApp(genericiooptions.IOStreams{In: strings.NewReader(x.stdin), Out: out, ErrOut: errs})
	namespace := "team"
	a.Flags.Namespace = &namespace
	a.Now = func() time.Time { return now }
	a.PollInterval = time.Millisecond
	a.PendingWorkloads = func(_ context.Context, _ *kubeclient.Client, path ...string) ([]byte, error) {
		if x.hidesClusterQueues && path[0] == "clusterqueues" {
			return nil, apierrors.NewForbidden(schema.GroupResource{Resource: path[0]}, path[1], nil)
		}
		if x.pending == "" {
			return nil, errors.New("not served")
		}
		return []byte(x.pending), nil
	}
	a.Kubectl = func(_ context.Context, _ genericiooptions.IOStreams, args []string) error {
		x.kubectl = args
		return nil
	}
	a.Clusters = kubeclient.Getter{
		Hub: func() (*kubeclient.Client, error) { return x.hub, nil },
		Context: func(_, name string) (*kubeclient.Client, error) {
			if found, ok := x.workers[name]; ok {
				return found, nil
			}
			return nil, errors.New("no such context")
		},
		Credentials: func(raw []byte) (*kubeclient.Client, error) {
			for name, found := range x.workers {
				if strings.Contains(string(raw), "https://"+name) {
					return found, nil
				}
			}
			return nil, errors.New("nobody there")
		},
		Fleet: kubeclient.NewGetter(a.Flags).Fleet,
	}
	return a, out, errs
}

// run runs a command line and returns what it prints, with the exit code where that is not 0.
func (x *terminal) run(line string) (code int, out, errs string) {
	x.t.Helper()
	a, o, e := x.app()
	ctx, cancel := context.WithTimeout(x.t.Context(), 10*time.Second)
	defer cancel()
	code = runCommandLine(ctx, a, append([]string{"switchctl"}, strings.Fields(line)...))
	return code, o.String(), e.String()
}

// ok runs a command line that must succeed.
func (x *terminal) ok(line string) string {
	x.t.Helper()
	code, out, errs := x.run(line)
	if code != 0 {
		x.t.Fatalf("%s: exit code %d\n%s%s", line, code, out, errs)
	}
	return out
}

// fails runs a command line that must end with a code, and say something.
func (x *terminal) fails(line string, code int, says string) {
	x.t.Helper()
	got, out, errs := x.run(line)
	if got != code || !strings.Contains(errs+out, says) {
		x.t.Errorf("%s: exit code %d, want %d, saying %q:\n%s%s", line, got, code, says, out, errs)
	}
}

// get reads an object that must be there.
func get[T client.Object](x *terminal, from *kubeclient.Client, namespace, name string, into T) T {
	x.t.Helper()
	if err := from.Get(x.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into); err != nil {
		kind, _ := apiutil.GVKForObject(into, kubeclient.Scheme())
		x.t.Fatalf("%s %s/%s: %v", kind.Kind, namespace, name, err)
	}
	return into
}

// absent tells whether there is no such object.
func absent(x *terminal, from *kubeclient.Client, namespace, name string, kind client.Object) bool {
	x.t.Helper()
	err := from.Get(x.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, kind)
	if client.IgnoreNotFound(err) != nil {
		x.t.Fatal(err)
	}
	return err != nil
}

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run with -update if it should be so):\n%s", file, diff)
	}
}

// worker is a MultiKueueCluster as the hub has it after a registration.
func workerCluster(name string, connected metav1.ConditionStatus, reason, message string) *kueue.MultiKueueCluster {
	return &kueue.MultiKueueCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: ago(48 * time.Hour)},
		Spec: kueue.MultiKueueClusterSpec{ClusterSource: kueue.ClusterSource{
			KubeConfig: &kueue.KubeConfig{Location: name + "-kubeconfig", LocationType: kueue.SecretLocationType},
		}},
		Status: kueue.MultiKueueClusterStatus{Conditions: []metav1.Condition{{
			Type: kueue.MultiKueueClusterActive, Status: connected, Reason: reason, Message: message, LastTransitionTime: ago(5 * time.Minute),
		}}},
	}
}

func fleetConfig(name string, clusters ...string) *kueue.MultiKueueConfig {
	return &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.MultiKueueConfigSpec{Clusters: clusters}}
}
