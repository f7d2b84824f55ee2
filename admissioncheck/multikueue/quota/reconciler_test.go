package quota

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube/polltest"
)

// quotaEnv is a hub with one ClusterQueue "team" of one check, and its workers.
type quotaEnv struct {
	t        *testing.T
	hub      client.WithWatch
	workers  map[string]client.WithWatch
	fleet    *fleet.Fleet
	quota    *Reconciler
	patchErr error
}

func newLocalQueue(namespace, name, queue string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(queue)},
	}
}

func newClusterQueue(name, groups string) *kueue.ClusterQueue {
	return &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.ClusterQueueSpec{ResourceGroups: parseGroups(groups)}}
}

func newQuotaEnv(t *testing.T, workers ...string) *quotaEnv {
	t.Helper()
	scheme := testScheme(t)
	s := &quotaEnv{t: t, workers: map[string]client.WithWatch{}}
	queue := newClusterQueue("team", "any: cpu=1")
	queue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "other"}, {Name: "mk"}}}
	objects := []client.Object{
		queue, newLocalQueue("ns", "main", "team"), newLocalQueue("ns", "second", "team"), newLocalQueue("ns", "foreign", "else"),
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.AdmissionCheckSpec{
			ControllerName: kueue.MultiKueueControllerName,
			Parameters:     &kueue.AdmissionCheckParametersReference{APIGroup: kueue.GroupVersion.Group, Kind: "MultiKueueConfig", Name: "mk"},
		}},
		&kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.MultiKueueConfigSpec{
			Clusters: append(workers, "no-such-cluster"), QuotaManagement: kueue.QuotaManagementAutomated,
		}},
	}
	for _, w := range workers {
		s.workers[w] = newBuilder(t, scheme).Build()
		objects = append(objects, &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: w}})
	}
	ofQueue := func(obj client.Object) []string { return []string{string(obj.(*kueue.LocalQueue).Spec.ClusterQueue)} }
	s.hub = newBuilder(t, scheme).WithObjects(objects...).WithStatusSubresource(&kueue.ClusterQueue{}).
		WithIndex(&kueue.LocalQueue{}, byClusterQueue, ofQueue).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			if s.patchErr != nil {
				return s.patchErr
			}
			return c.Patch(ctx, obj, p, o...)
		},
	}).Build()
	changed := &fleet.RequestSource{}
	s.fleet = fleet.New(fleet.Options{
		Origin: origin, Scheme: scheme, Kinds: WithWatchedQueues(workloadKinds(), changed),
		ProbeInterval: 20 * time.Millisecond, ProbeTimeout: time.Second, Backoff: func(int) time.Duration { return 20 * time.Millisecond },
		Dial: func(c *rest.Config) (client.WithWatch, error) { return s.workers[c.Host], nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.fleet.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	s.quota = &Reconciler{Client: s.hub, Fleet: s.fleet, Clock: clock.RealClock{}, Grace: time.Hour, Requests: changed}
	return s
}

func (s *quotaEnv) createOn(worker string, objects ...client.Object) {
	s.t.Helper()
	for _, obj := range objects {
		if err := s.workers[worker].Create(context.Background(), obj); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *quotaEnv) connect(worker string) {
	s.t.Helper()
	s.fleet.Connect(worker, fleet.Credentials{Config: &rest.Config{Host: worker}, Fingerprint: "1"})
	waitUntil(s.t, "connected", func() bool { state, _ := s.fleet.State(worker); return state.Connected })
}

// reconcile reconciles until nothing is left to write, and shows the quota and the condition.
func (s *quotaEnv) reconcile() string {
	s.t.Helper()
	for range 3 {
		if _, err := s.quota.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "team"}}); err != nil {
			s.t.Fatal(err)
		}
	}
	queue := &kueue.ClusterQueue{}
	if err := s.hub.Get(context.Background(), client.ObjectKey{Name: "team"}, queue); err != nil {
		s.t.Fatal(err)
	}
	c := meta.FindStatusCondition(queue.Status.Conditions, kueue.ClusterQueueMultiKueueManagerQuotaAutomation)
	if c == nil {
		return formatGroups(queue.Spec.ResourceGroups)
	}
	return fmt.Sprintf("%s (%s)", formatGroups(queue.Spec.ResourceGroups), c.Reason)
}

func (s *quotaEnv) waitQuota(want string) {
	s.t.Helper()
	got := ""
	if !polltest.Holds(s.t, func() bool { got = s.reconcile(); return got == want }) {
		s.t.Fatalf("the hub has %q, want %q", got, want)
	}
}

func (s *quotaEnv) updateConfig(change func(*kueue.MultiKueueConfig)) {
	s.t.Helper()
	config := &kueue.MultiKueueConfig{}
	if err := s.hub.Get(context.Background(), client.ObjectKey{Name: "mk"}, config); err != nil {
		s.t.Fatal(err)
	}
	change(config)
	if err := s.hub.Update(context.Background(), config); err != nil {
		s.t.Fatal(err)
	}
}

func TestQuotaFollowsTheQueuesOfTheWorkersThatHaveTheSameLocalQueues(t *testing.T) {
	s := newQuotaEnv(t, "w1", "w2")
	s.createOn("w1", newClusterQueue("here", "a: cpu=8"), newClusterQueue("unrelated", "a: cpu=100"),
		newLocalQueue("ns", "main", "here"), newLocalQueue("ns", "second", "here"), newLocalQueue("elsewhere", "main", "unrelated"), newLocalQueue("ns", "foreign", "unrelated"))
	s.createOn("w2", newClusterQueue("one", "a: cpu=1"), newClusterQueue("two", "a: cpu=2"), newLocalQueue("ns", "main", "one"), newLocalQueue("ns", "second", "two"))
	s.connect("w1")
	s.connect("w2")
	s.waitQuota("any: cpu=11 (QuotaAutomated)")

	queue := &kueue.ClusterQueue{}
	if err := s.workers["w2"].Get(context.Background(), client.ObjectKey{Name: "two"}, queue); err != nil {
		t.Fatal(err)
	}
	queue.Spec.ResourceGroups = parseGroups("a: cpu=20")
	if err := s.workers["w2"].Update(context.Background(), queue); err != nil {
		t.Fatal(err)
	}
	s.waitQuota("any: cpu=29 (QuotaAutomated)")

	s.fleet.Disconnect("w2", errors.New("no credentials"))
	waitUntil(t, "disconnected", func() bool { state, _ := s.fleet.State("w2"); return !state.Connected })
	s.waitQuota("any: cpu=29 (QuotaAutomated)")
	s.quota.Grace = 0
	s.waitQuota("any: cpu=8 (QuotaAutomated)")

	s.updateConfig(func(c *kueue.MultiKueueConfig) { c.Spec.Clusters = []string{"w2"} })
	s.quota.Grace = time.Hour
	s.waitQuota("any: cpu=21 (QuotaAutomated)")
	s.updateConfig(func(c *kueue.MultiKueueConfig) { c.Spec.QuotaManagement = kueue.QuotaManagementManual })
	s.waitQuota("any: cpu=21 (NotRequested)")
}

func TestTheConditionGoesWithTheCheck(t *testing.T) {
	s := newQuotaEnv(t, "w1")
	s.connect("w1")
	s.waitQuota("any: cpu=0 (QuotaAutomated)")
	if err := s.hub.Delete(context.Background(), &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "mk"}}); err != nil {
		t.Fatal(err)
	}
	s.waitQuota("any: cpu=0 (UnsupportedConfiguration)")
	if err := s.hub.Delete(context.Background(), &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}}); err != nil {
		t.Fatal(err)
	}
	s.waitQuota("any: cpu=0")
}

func TestAQuotaThatTheServerRefusesIsReported(t *testing.T) {
	s := newQuotaEnv(t, "w1")
	s.createOn("w1", newClusterQueue("here", "a: cpu=8"), newLocalQueue("ns", "main", "here"))
	s.connect("w1")
	s.patchErr = apierrors.NewInvalid(checkconfig.ClusterQueueGVK().GroupKind(), "team", field.ErrorList{field.Invalid(field.NewPath("spec"), 1, "lends too much")})
	s.waitQuota("any: cpu=1 (UnsupportedConfiguration)")
	s.patchErr = nil
	s.waitQuota("any: cpu=8 (QuotaAutomated)")
}

func TestAFleetThatFollowsQueuesAnywayFollowsThemOnEveryClusterForQuota(t *testing.T) {
	signal := &fleet.RequestSource{}
	told := 0
	kinds := WithWatchedQueues([]fleet.WatchedKind{{
		GVK: checkconfig.ClusterQueueGVK(), FallbackFor: checkconfig.LocalQueueGVK(), AllOrigins: true,
		RelatedWorkloads: func(client.Object) []client.ObjectKey { told++; return []client.ObjectKey{{Name: "wl"}} },
	}}, signal)
	if len(kinds) != 2 || !kinds[0].FallbackFor.Empty() || kinds[1].GVK != checkconfig.LocalQueueGVK() || !kinds[1].AllOrigins {
		t.Fatalf("kinds %+v", kinds)
	}
	if keys := kinds[0].RelatedWorkloads(&kueue.ClusterQueue{}); len(keys) != 1 || told != 1 {
		t.Errorf("the other follower is not told: %v", keys)
	}
}
