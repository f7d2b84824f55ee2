package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/profile"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube/polltest"
)

// clusterEnv is a hub with the MultiKueueCluster "w1", and its controller.
type clusterEnv struct {
	t          *testing.T
	hub        client.WithWatch
	reconciler *Reconciler
	events     *events.FakeRecorder

	mu     sync.Mutex
	tokens []string // with which the worker was dialled
}

func newClusterEnv(t *testing.T, source kueue.ClusterSource, objects ...client.Object) *clusterEnv {
	t.Helper()
	scheme := testScheme(t)
	worker := newBuilder(t, scheme).Build()
	o := &clusterEnv{t: t, events: events.NewFakeRecorder(10)}
	o.hub = newBuilder(t, scheme).WithObjects(append(objects, &kueue.MultiKueueCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: "u1", Generation: 1}, Spec: kueue.MultiKueueClusterSpec{ClusterSource: source},
	})...).Build()
	f := fleet.New(fleet.Options{
		Origin: origin, Scheme: scheme, Kinds: workloadKinds(),
		Dial: func(c *rest.Config) (client.WithWatch, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.tokens = append(o.tokens, c.BearerToken)
			return worker, nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = f.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	o.reconciler = &Reconciler{
		Client: o.hub, Fleet: f, Clock: clock.RealClock{}, Recorder: o.events,
		Credentials: CredentialsLoader{Secrets: o.hub, Namespace: "kueue-system"},
	}
	return o
}

// reconcile reconciles once, and returns the result with the condition as "reason: message", "" if there is none.
func (o *clusterEnv) reconcile() (ctrl.Result, string) {
	o.t.Helper()
	result, err := o.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "w1"}})
	if err != nil {
		o.t.Errorf("reconcile: %v", err)
	}
	cluster := &kueue.MultiKueueCluster{}
	if err := o.hub.Get(context.Background(), client.ObjectKey{Name: "w1"}, cluster); err != nil {
		o.t.Fatal(err)
	}
	if c := meta.FindStatusCondition(cluster.Status.Conditions, kueue.MultiKueueClusterActive); c != nil {
		return result, c.Reason + ": " + c.Message
	}
	return result, ""
}

func (o *clusterEnv) waitCondition(want string) {
	o.t.Helper()
	got := ""
	if !polltest.Holds(o.t, func() bool { _, got = o.reconcile(); return got == want }) {
		o.t.Fatalf("condition %q, want %q", got, want)
	}
}

// listTokens returns the tokens with which the worker was connected to so far.
func (o *clusterEnv) listTokens() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.tokens, " ")
}

func withToken(token string) string {
	return strings.Replace(sampleKubeconfig, "token: secret", "token: "+token, 1)
}

func TestARotatedSecretConnectsAnewAndAnEqualOneDoesNot(t *testing.T) {
	o := newClusterEnv(t, kueue.ClusterSource{KubeConfig: &kueue.KubeConfig{Location: "w1"}}, kubeconfigSecret("w1", "kubeconfig", withToken("one")))
	o.waitCondition("Active: Connected")
	rotate := func(content string) {
		t.Helper()
		if err := o.hub.Update(context.Background(), kubeconfigSecret("w1", "kubeconfig", content)); err != nil {
			t.Fatal(err)
		}
	}
	rotate(withToken("one"))
	o.waitCondition("Active: Connected")
	rotate(withToken("two"))
	waitUntil(t, "connected with the new token", func() bool { o.reconcile(); return o.listTokens() == "one two" })
	o.waitCondition("Active: Connected")
	rotate(strings.Replace(sampleKubeconfig, "https:", "http:", 1))
	o.waitCondition("InsecureKubeConfig: load client config failed: server URL must use https for cluster w1")
	waitUntil(t, "disconnected", func() bool { s, _ := o.reconciler.Fleet.State("w1"); return !s.Connected })
	rotate(withToken("three"))
	o.waitCondition("Active: Connected")
	if got := o.listTokens(); got != "one two three" {
		t.Errorf("connected with %s", got)
	}
}

// A mounted Secret changes by a link that is made to point elsewhere.
func TestARotatedFileIsNoticedWhenItIsReadAgain(t *testing.T) {
	prefix := t.TempDir()
	mount := func(name, token string) {
		t.Helper()
		dir := filepath.Join(prefix, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "w1"), []byte(withToken(token)), 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(prefix, "..new")
		if err := os.Symlink(dir, link); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link, filepath.Join(prefix, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(prefix, "w1")
	o := newClusterEnv(t, kueue.ClusterSource{KubeConfig: &kueue.KubeConfig{Location: file, LocationType: kueue.PathLocationType}})
	o.reconciler.Credentials.PathPrefix = prefix
	for range 20 {
		result, got := o.reconcile()
		if !strings.HasPrefix(got, "BadKubeConfig: load client config failed: lstat ") || result.RequeueAfter != kubeconfigRereadInterval {
			t.Fatalf("without a file: %s, to be read again after %v", got, result.RequeueAfter)
		}
	}
	mount("first", "one")
	if err := os.Symlink(filepath.Join("..data", "w1"), file); err != nil {
		t.Fatal(err)
	}
	o.waitCondition("Active: Connected")
	if result, _ := o.reconcile(); result.RequeueAfter != kubeconfigRereadInterval {
		t.Errorf("the file is read again after %v", result.RequeueAfter)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if result, got := o.reconcile(); !strings.HasPrefix(got, "BadKubeConfig: ") || result.RequeueAfter != kubeconfigRereadInterval {
		t.Errorf("with the file gone: %s, to be read again after %v", got, result.RequeueAfter)
	}
	waitUntil(t, "disconnected", func() bool { s, _ := o.reconciler.Fleet.State("w1"); return !s.Connected })
	mount("second", "two")
	if err := os.Symlink(filepath.Join("..data", "w1"), file); err != nil {
		t.Fatal(err)
	}
	o.waitCondition("Active: Connected")
	mount("third", "three")
	waitUntil(t, "connected with the new token", func() bool { o.reconcile(); return o.listTokens() == "one two three" })
	if len(o.events.Events) != 0 {
		t.Errorf("event %s about a file below the prefix", <-o.events.Events)
	}
}

func TestAFileFromAnywhereIsReadOnlyIfTheGateIsOffAndWarnedAboutOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "w1")
	if err := os.WriteFile(file, []byte(sampleKubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newClusterEnv(t, kueue.ClusterSource{KubeConfig: &kueue.KubeConfig{Location: file, LocationType: kueue.PathLocationType}})
	o.reconciler.Credentials.PathPrefix = t.TempDir()
	if _, got := o.reconcile(); !strings.HasPrefix(got, "BadKubeConfig: load client config failed: kubeconfig path is not under the allowed prefix: ") {
		t.Errorf("with the gate on: %s", got)
	}
	o.reconciler.Credentials.PathPrefix = ""
	o.waitCondition("Active: Connected")
	o.reconcile()
	if event := <-o.events.Events; !strings.HasPrefix(event, "Warning DeprecatedPathUsage Using locationType=Path without MultiKueueKubeConfigPathValidation feature gate is deprecated") {
		t.Errorf("event %q", event)
	}
	if len(o.events.Events) != 0 {
		t.Errorf("it was told again: %s", <-o.events.Events)
	}
}

// delayedProfiles is a book of profiles that is opened later.
type delayedProfiles struct {
	mu       sync.Mutex
	profiles ProfileReader
}

// Get implements Profiles.
func (l *delayedProfiles) Get(ctx context.Context, name string) (*inventory.ClusterProfile, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.profiles == nil {
		return nil, profile.ErrUnknown
	}
	return l.profiles.Get(ctx, name)
}

func TestNothingIsSaidOfAClusterWhoseProfileIsNotKnownYet(t *testing.T) {
	profiles := &delayedProfiles{}
	o := newClusterEnv(t, kueue.ClusterSource{ClusterProfileRef: &kueue.ClusterProfileReference{Name: "p"}})
	o.reconciler.Credentials.Profiles = profiles
	if result, got := o.reconcile(); got != "" || result.RequeueAfter != 0 {
		t.Errorf("condition %q, result %+v", got, result)
	}
	if _, known := o.reconciler.Fleet.State("w1"); known {
		t.Error("the cluster was taken for one without credentials")
	}
	profiles.profiles = fakeProfiles{}
	o.waitCondition(`BadClusterProfile: load client config failed: clusterprofiles.multicluster.x-k8s.io "p" not found`)
}

func TestClustersOfAProfileAreRequeuedWhenItChanges(t *testing.T) {
	scheme := testScheme(t)
	cluster := func(name, profile string) *kueue.MultiKueueCluster {
		c := &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if profile != "" {
			c.Spec.ClusterSource.ClusterProfileRef = &kueue.ClusterProfileReference{Name: profile}
		}
		return c
	}
	hub := newBuilder(t, scheme).WithObjects(cluster("a", "p"), cluster("b", "q"), cluster("c", "p"), cluster("d", "")).Build()
	for name, want := range map[string]string{"p": "a c", "q": "b", "": "a b c", "none": ""} {
		r := &Reconciler{Client: hub, Fleet: fleet.New(fleet.Options{Origin: origin, Scheme: scheme, Kinds: workloadKinds()})}
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		if err := r.Fleet.ClusterRequests().Source().Start(context.Background(), queue); err != nil {
			t.Fatal(err)
		}
		r.enqueueForProfile(name)
		var got []string
		for queue.Len() > 0 {
			request, _ := queue.Get()
			got = append(got, request.Name)
			queue.Done(request)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("profile %q: looks at %q, want %q", name, text, want)
		}
	}
}

func TestAClusterThatIsRefusedForItsSecretIsNotTriedAgainUntilItChanges(t *testing.T) {
	o := newClusterEnv(t, kueue.ClusterSource{KubeConfig: &kueue.KubeConfig{Location: "w1"}}, kubeconfigSecret("w1", "kubeconfig", "{"))
	result, err := o.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "w1"}})
	if err != nil || result != (ctrl.Result{}) {
		t.Errorf("result %+v, error %v", result, err)
	}
	if _, got := o.reconcile(); !strings.HasPrefix(got, "InsecureKubeConfig: load client config failed: failed to parse kubeconfig") {
		t.Errorf("condition %s", got)
	}
}

func TestFailuresDelayAClusterNoLongerThanItsFileIsReread(t *testing.T) {
	limiter, request := clusterControllerOptions().RateLimiter, ctrl.Request{NamespacedName: client.ObjectKey{Name: "w1"}}
	first := limiter.When(request)
	var last time.Duration
	for range 50 {
		last = limiter.When(request)
	}
	if first != minRetryDelay || last != kubeconfigRereadInterval {
		t.Errorf("after a failure %v, after many %v", first, last)
	}
}
