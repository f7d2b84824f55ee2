package fleet

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube/polltest"
)

var workloadGVK = kueue.GroupVersion.WithKind("Workload")

// testEnv is a fleet over in-memory API servers.
type testEnv struct {
	t       *testing.T
	scheme  *runtime.Scheme
	fleet   *Fleet
	servers map[string]*fakeServer

	mu       sync.Mutex
	affected []string
}

type fakeServer struct {
	client.WithWatch
	mu      sync.Mutex
	err     error  // what every call answers
	onList  func() // during every list; nil for nothing
	watches int    // opened so far
	lists   int    // so far
}

func (s *fakeServer) addWatches(more int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches += more
	return s.watches
}

func (s *fakeServer) setError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// setOnList has something happen during every list.
func (s *fakeServer) setOnList(happens func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onList = happens
}

func (s *fakeServer) runOnList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onList != nil {
		s.onList()
	}
}

// recordList counts a list, and says what it answers.
func (s *fakeServer) recordList() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	return s.err
}

func (w *testEnv) countLists(name string) int {
	s := w.servers[name]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func newTestEnv(t *testing.T, change func(*Options), names ...string) *testEnv {
	t.Helper()
	w := &testEnv{t: t, scheme: runtime.NewScheme(), servers: map[string]*fakeServer{}}
	// The fake client adds kinds that it does not know to the scheme, which all servers share: it is to know them all.
	if err := errors.Join(kueue.AddToScheme(w.scheme), corev1.AddToScheme(w.scheme)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		w.servers[name] = w.newServer(testrestmapper.TestOnlyStaticRESTMapper(w.scheme))
	}
	options := Options{
		Origin: "hub", Scheme: w.scheme, ProbeInterval: 5 * time.Millisecond, Coalesce: time.Millisecond,
		Backoff: func(int) time.Duration { return 5 * time.Millisecond },
		Kinds: []WatchedKind{{
			GVK: workloadGVK, Required: true,
			New:         func() client.Object { return &kueue.Workload{} },
			NewList:     func() client.ObjectList { return &kueue.WorkloadList{} },
			WorkloadKey: func(o client.Object) (types.NamespacedName, bool) { return client.ObjectKeyFromObject(o), true },
		}},
		Dial: func(c *rest.Config) (client.WithWatch, error) { return w.servers[c.Host], nil },
		AffectedWorkloads: func(cluster string) (seekers, others []types.NamespacedName) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.affected = append(w.affected, cluster)
			return nil, nil
		},
	}
	if change != nil {
		change(&options)
	}
	w.fleet = New(options)
	w.start()
	return w
}

func (w *testEnv) newServer(mapper meta.RESTMapper) *fakeServer {
	s := &fakeServer{}
	s.WithWatch = fake.NewClientBuilder().WithScheme(w.scheme).WithRESTMapper(mapper).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if err := s.recordList(); err != nil {
				return err
			}
			s.runOnList()
			return c.List(ctx, list, o...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
			opened, err := c.Watch(ctx, list, o...)
			s.addWatches(1)
			return opened, err
		},
	}).Build()
	return s
}

func (w *testEnv) start() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.fleet.Start(ctx)
	}()
	w.t.Cleanup(func() { cancel(); <-ended })
}

func (w *testEnv) connect(names ...string) {
	for _, name := range names {
		w.fleet.Connect(name, Credentials{Config: &rest.Config{Host: name}, Fingerprint: name})
	}
}

func (w *testEnv) state(name string) State {
	s, _ := w.fleet.State(name)
	return s
}

func (w *testEnv) eventually(what string, condition func() bool) {
	w.t.Helper()
	if !polltest.Holds(w.t, condition) {
		w.t.Fatalf("never: %s; states %+v", what, w.fleet.States())
	}
}

// waitConnected waits until the clusters are followed: what changes between a list and the watch after it is lost on in-memory
// servers, and on no other.
func (w *testEnv) waitConnected(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.eventually(name+" connected", func() bool { return w.state(name).Connected && w.servers[name].addWatches(0) > 0 })
	}
}

func remoteWorkload(name, origin string) *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{kueue.MultiKueueOriginLabel: origin},
	}}
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func (w *testEnv) create(cluster string, obj client.Object) {
	w.t.Helper()
	if err := w.servers[cluster].Create(context.Background(), obj); err != nil {
		w.t.Fatal(err)
	}
}

func (w *testEnv) hasWorkload(cluster, name string) bool {
	obj, _ := w.fleet.Get(cluster, workloadGVK, keyOf(name))
	return obj != nil
}

func TestObjectsOfOurOriginAreSeenAndNoOthers(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	w.create("w1", remoteWorkload("before", "hub"))
	w.create("w1", remoteWorkload("foreign", "other"))
	w.connect("w1")
	w.waitConnected("w1")
	w.create("w1", remoteWorkload("after", "hub"))
	w.eventually("both seen", func() bool { return w.hasWorkload("w1", "before") && w.hasWorkload("w1", "after") })
	if w.hasWorkload("w1", "foreign") {
		t.Error("an object of another origin is seen")
	}
}

func TestARequestThatGetsNoAnswerIsLookedIntoAtOnce(t *testing.T) {
	var dialled atomic.Pointer[rest.Config]
	clock := clocktesting.NewFakeClock(noon) // stands still: nothing is due
	w := newTestEnv(t, func(o *Options) {
		dial := o.Dial
		o.Clock, o.Dial = clock, func(c *rest.Config) (client.WithWatch, error) {
			dialled.Store(c)
			return dial(c)
		}
	}, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	through, err := rest.HTTPClientFor(dialled.Load())
	if err != nil {
		t.Fatal(err)
	}
	request := func() {
		t.Helper()
		if response, err := through.Get("http://" + refusingAddress(t)); err == nil {
			_ = response.Body.Close()
			t.Fatal("somebody answers")
		}
	}
	before := w.countLists("w1")
	request()
	w.eventually("it is probed", func() bool { return w.countLists("w1") > before })
	if !w.state("w1").Connected {
		t.Error("the cluster is lost although it answers")
	}
	w.servers["w1"].setError(errors.New("connection refused"))
	request()
	w.eventually("it is lost", func() bool { return !w.state("w1").Connected })
}

// refusingAddress is an address without a listener.
func refusingAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}()
	return listener.Addr().String()
}

func TestTheClustersForAWorkloadAreThoseWithObjectsDeletedObjectsOrActions(t *testing.T) {
	w := newTestEnv(t, nil, "w1", "w2", "w3", "w4", "w5")
	w.create("w1", remoteWorkload("a", "hub"))
	w.create("w2", remoteWorkload("a", "hub"))
	w.create("w5", remoteWorkload("other", "hub"))
	w.connect("w1", "w2", "w3", "w4", "w5")
	w.waitConnected("w1", "w2", "w3", "w4", "w5")
	w.deleteWorkload("w2", "a")
	w.eventually("the deletion", func() bool { return !w.hasWorkload("w2", "a") })
	w.fleet.SetActions("w3", keyOf("a"), []Action{{ID: "fails", Run: func(context.Context, client.Client) (any, error) { return nil, errors.New("no") }}})
	near := func() []string {
		return w.fleet.ClustersFor(keyOf("a"), workloadGVK, schema.GroupVersionKind{}, types.NamespacedName{})
	}
	w.eventually("the failure", func() bool { return len(w.fleet.ActionResults("w3", keyOf("a"))) > 0 })
	w.eventually("all of them", func() bool { return slices.Equal(near(), []string{"w1", "w2", "w3"}) })
	w.fleet.ClearActions(keyOf("a"), func(cluster string) bool { return cluster == "w3" })
	if diff := cmp.Diff([]string{"w1", "w2", "w3"}, near()); diff != "" {
		t.Error("w3 was not to be left", diff)
	}
	w.fleet.ClearActions(keyOf("a"), func(string) bool { return false })
	if diff := cmp.Diff([]string{"w1", "w2"}, near()); diff != "" {
		t.Error(diff)
	}
	w.fleet.ForgetWorkload(keyOf("a"))
	if diff := cmp.Diff([]string{"w1"}, near()); diff != "" {
		t.Error(diff)
	}
}

func TestAClusterThatWasNeverReachedIsLostSinceItsSupervisorBegan(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	w := newTestEnv(t, func(o *Options) { o.Clock = clock; o.Backoff = nil }, "w1")
	w.servers["w1"].setError(errors.New("no route to host"))
	w.connect("w1")
	w.eventually("the first failure", func() bool { return w.state("w1").Failures == 1 })
	clock.Step(5 * time.Second)
	w.eventually("the second failure", func() bool { return w.state("w1").Failures == 2 })
	s := w.state("w1")
	if !s.LostSince.Equal(noon) || !s.NextAttempt.Equal(noon.Add(15*time.Second)) || s.Err == nil {
		t.Errorf("state %+v", s)
	}
	w.servers["w1"].setError(nil)
	clock.Step(10 * time.Second)
	w.waitConnected("w1")
	if s := w.state("w1"); !s.LostSince.IsZero() || s.Failures != 0 || s.Err != nil {
		t.Errorf("state %+v", s)
	}
}

func TestTheFirstLossCountsAndWhatWasSeenStaysReadable(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	w := newTestEnv(t, func(o *Options) { o.Clock = clock; o.Backoff = nil; o.ProbeInterval = 10 * time.Second }, "w1")
	w.create("w1", remoteWorkload("a", "hub"))
	w.connect("w1")
	w.waitConnected("w1")
	w.servers["w1"].setError(errors.New("no route to host"))
	w.eventually("lost", func() bool { clock.Step(time.Second); return !w.state("w1").Connected })
	lost := w.state("w1").LostSince
	w.eventually("three failures", func() bool { clock.Step(time.Second); return w.state("w1").Failures >= 3 })
	if got := w.state("w1").LostSince; !got.Equal(lost) {
		t.Errorf("lost since %v, then %v", lost, got)
	}
	if !w.hasWorkload("w1", "a") {
		t.Error("the last known state is gone")
	}
}

func TestAClusterThatNeverAnswersDelaysNoOther(t *testing.T) {
	w := newTestEnv(t, func(o *Options) { o.ProbeTimeout = 50 * time.Millisecond }, "dead", "alive")
	hole := silentAddress(t)
	w.fleet.options.Dial = func(c *rest.Config) (client.WithWatch, error) {
		if c.Host == "alive" {
			return w.servers["alive"], nil
		}
		return w.fleet.options.dial(&rest.Config{Host: hole})
	}
	w.connect("dead", "alive")
	w.waitConnected("alive")
	ran := make(chan struct{})
	w.fleet.SetActions("alive", keyOf("a"), []Action{{ID: "x", Run: func(context.Context, client.Client) (any, error) {
		close(ran)
		return nil, nil
	}}})
	<-ran
	w.eventually("the dead one has failed", func() bool { return w.state("dead").Failures > 0 })
	w.fleet.Remove("dead")
}

// silentAddress is an address that accepts connections and never says anything.
func silentAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var held []net.Conn
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			held = append(held, conn)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
		for _, conn := range held {
			_ = conn.Close()
		}
	})
	return "http://" + listener.Addr().String()
}

func TestAnActionThatHangsHoldsUpNoOtherWorkload(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	hanging := make(chan struct{})
	w.fleet.SetActions("w1", keyOf("slow"), []Action{{ID: "x", Run: func(ctx context.Context, _ client.Client) (any, error) {
		close(hanging)
		<-ctx.Done()
		return nil, ctx.Err()
	}}})
	<-hanging
	ran := make(chan struct{})
	w.fleet.SetActions("w1", keyOf("fast"), []Action{{ID: "x", Run: func(context.Context, client.Client) (any, error) {
		close(ran)
		return nil, nil
	}}})
	<-ran
}

func TestNothingIsDoneOnAClusterThatIsNotConnected(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	w.servers["w1"].setError(errors.New("down"))
	w.connect("w1")
	w.eventually("a failure", func() bool { return w.state("w1").Failures > 0 })
	w.fleet.SetActions("w1", keyOf("a"), []Action{{ID: "x", Run: func(context.Context, client.Client) (any, error) {
		t.Error("the action ran")
		return nil, nil
	}}})
	w.servers["w1"].setError(nil)
	w.waitConnected("w1")
	w.fleet.SetActions("w1", keyOf("b"), []Action{{ID: "x", Run: func(context.Context, client.Client) (any, error) { return "done", nil }}})
	w.eventually("the later action ran", func() bool { return len(w.fleet.ActionResults("w1", keyOf("b"))) == 1 })
}

func TestAKindThatAClusterDoesNotServeKeepsItNotFromConnecting(t *testing.T) {
	job := schema.GroupVersionKind{Group: "batch.example.com", Version: "v1", Kind: "Odd"}
	w := newTestEnv(t, func(o *Options) {
		odd := o.Kinds[0]
		odd.GVK, odd.Required = job, false
		o.Kinds = append(o.Kinds, odd)
	}, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	w.eventually("the kind is reported", func() bool {
		s := w.state("w1")
		return len(s.Unserved) == 1 && s.Unserved[0].GVK == job && s.Unserved[0].Err != nil
	})
	if _, served := w.fleet.Get("w1", job, keyOf("a")); served {
		t.Error("the kind counts as served")
	}
}

func TestAClusterWithoutWorkloadsDoesNotConnect(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	w.servers["w1"] = w.newServer(meta.NewDefaultRESTMapper(nil))
	w.connect("w1")
	w.eventually("the failure is told", func() bool {
		s := w.state("w1")
		return s.Err != nil && strings.Contains(s.Err.Error(), `no matches for kind "Workload"`)
	})
}

func TestNewCredentialsReplaceTheConnectionAndWithdrawnOnesEndIt(t *testing.T) {
	w := newTestEnv(t, nil, "w1", "w1-new")
	w.connect("w1")
	w.waitConnected("w1")
	w.create("w1-new", remoteWorkload("there", "hub"))
	w.fleet.Connect("w1", Credentials{Config: &rest.Config{Host: "w1-new"}, Fingerprint: "new"})
	w.eventually("the new server is seen", func() bool { return w.state("w1").Fingerprint == "new" && w.hasWorkload("w1", "there") })
	reason := errors.New("the secret is gone")
	w.fleet.Disconnect("w1", reason)
	w.eventually("disconnected", func() bool { s := w.state("w1"); return !s.Connected && errors.Is(s.Err, reason) })
	if w.state("w1").LostSince.IsZero() {
		t.Error("it is not known since when")
	}
}

func TestAnObservedDeletionIsDistinguishedFromAMissedOne(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	for _, name := range []string{"watched", "missed"} {
		w.create("w1", remoteWorkload(name, "hub"))
	}
	w.connect("w1")
	w.waitConnected("w1")
	w.deleteWorkload("w1", "watched")
	w.eventually("the deletion is seen", func() bool { return !w.hasWorkload("w1", "watched") })
	w.fleet.Disconnect("w1", errors.New("maintenance"))
	w.eventually("disconnected", func() bool { return !w.state("w1").Connected })
	w.deleteWorkload("w1", "missed")
	w.connect("w1")
	w.waitConnected("w1")
	for name, want := range map[string]bool{"watched": true, "missed": false} {
		gone, ok := w.fleet.LastDeleted("w1", workloadGVK, keyOf(name))
		if !ok || gone.DeletionObserved != want || gone.LastState.GetName() != name {
			t.Errorf("%s: %+v, known %v", name, gone, ok)
		}
	}
	w.fleet.ForgetWorkload(keyOf("watched"))
	if _, ok := w.fleet.LastDeleted("w1", workloadGVK, keyOf("watched")); ok {
		t.Error("it is remembered for ever")
	}
}

func TestIndexEntriesAreRemovedWithTheirSession(t *testing.T) {
	w := newTestEnv(t, nil, "w1", "w1-new")
	w.create("w1", remoteWorkload("old", "hub"))
	w.create("w1", remoteWorkload("both", "hub"))
	w.create("w1-new", remoteWorkload("both", "hub"))
	w.connect("w1")
	w.waitConnected("w1")
	near := func(name string) bool {
		return len(w.fleet.ClustersFor(keyOf(name), workloadGVK, schema.GroupVersionKind{}, types.NamespacedName{})) > 0
	}
	places := func() int {
		w.fleet.index.mu.RLock()
		defer w.fleet.index.mu.RUnlock()
		return len(w.fleet.index.entries)
	}
	w.fleet.Disconnect("w1", errors.New("maintenance"))
	w.eventually("disconnected", func() bool { return !w.state("w1").Connected })
	if !near("old") || !near("both") {
		t.Error("what was seen is forgotten while the cluster is away")
	}
	w.fleet.Connect("w1", Credentials{Config: &rest.Config{Host: "w1-new"}, Fingerprint: "new"})
	w.eventually("connected anew", func() bool { return w.state("w1").Connected })
	if !near("old") || !near("both") {
		t.Error("what vanished meanwhile is not remembered")
	}
	w.fleet.ForgetWorkload(keyOf("old"))
	w.eventually("the old session's findings are gone", func() bool { return !near("old") && places() == 1 })
	if !near("both") {
		t.Error("what is there is forgotten with the old session")
	}
	w.fleet.Remove("w1")
	if near("both") || places() > 0 {
		t.Error("a cluster that was removed is still found")
	}
}

func (w *testEnv) deleteWorkload(cluster, name string) {
	w.t.Helper()
	if err := w.servers[cluster].Delete(context.Background(), remoteWorkload(name, "hub")); err != nil {
		w.t.Fatal(err)
	}
}

func TestEveryAffectedWorkloadIsRequeuedAfterAConnectionAndALoss(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	told := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(slices.DeleteFunc(slices.Clone(w.affected), func(c string) bool { return c != "w1" }))
	}
	w.connect("w1")
	w.waitConnected("w1")
	w.eventually("told of the connection", func() bool { return told() == 1 })
	w.servers["w1"].setError(errors.New("down"))
	w.eventually("told of the loss", func() bool { return told() >= 2 })
}

func TestEveryAffectedWorkloadIsRequeuedWhenAClusterHasNoCredentials(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	told := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.affected)
	}
	for range 2 {
		w.fleet.Disconnect("w1", errors.New("no such Secret"))
		w.eventually("told that it cannot be reached", func() bool { return told() == 1 })
	}
}

func TestWorkerRulesNameEveryKindOfJobOnce(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	rules := workeraccess.WorkerRules(jobs, schema.GroupResource{Group: "jobset.x-k8s.io", Resource: "jobsets"}, jobs)
	var got []string
	for _, r := range rules {
		got = append(got, r.APIGroups[0]+"/"+r.Resources[0])
		if slices.Contains(r.Verbs, "*") {
			t.Errorf("rule %v asks for everything", r)
		}
	}
	want := []string{
		"kueue.x-k8s.io/workloads", "kueue.x-k8s.io/workloads/status", "kueue.x-k8s.io/clusterqueues",
		"switchyard.dev/capacityreports", "/namespaces", "batch/jobs", "jobset.x-k8s.io/jobsets",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules for %v, want %v", got, want)
	}
}
