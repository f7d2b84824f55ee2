package controller

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

	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// quotaStage is a hub with one ClusterQueue "team" of one check, and its workers.
type quotaStage struct {
	t       *testing.T
	hub     client.WithWatch
	workers map[string]*server
	fleet   *fleet.Fleet
	quota   *Quota
	refuse  error
}

func localQueue(namespace, name, queue string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(queue)},
	}
}

func quotaQueue(name, groups string) *kueue.ClusterQueue {
	return &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.ClusterQueueSpec{ResourceGroups: groupsOf(groups)}}
}

func newQuotaStage(t *testing.T, workers ...string) *quotaStage {
	t.Helper()
	scheme := testScheme(t)
	s := &quotaStage{t: t, workers: map[string]*server{}}
	queue := quotaQueue("team", "any: cpu=1")
	queue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "other"}, {Name: "mk"}}}
	objects := []client.Object{
		queue, localQueue("ns", "main", "team"), localQueue("ns", "second", "team"), localQueue("ns", "foreign", "else"),
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.AdmissionCheckSpec{
			ControllerName: kueue.MultiKueueControllerName,
			Parameters:     &kueue.AdmissionCheckParametersReference{APIGroup: kueue.GroupVersion.Group, Kind: "MultiKueueConfig", Name: "mk"},
		}},
		&kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.MultiKueueConfigSpec{
			Clusters: append(workers, "no-such-cluster"), QuotaManagement: kueue.QuotaManagementAutomated,
		}},
	}
	for _, w := range workers {
		s.workers[w] = newServer(t, scheme)
		objects = append(objects, &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: w}})
	}
	ofQueue := func(obj client.Object) []string { return []string{string(obj.(*kueue.LocalQueue).Spec.ClusterQueue)} }
	s.hub = newBuilder(t, scheme).WithObjects(objects...).WithStatusSubresource(&kueue.ClusterQueue{}).
		WithIndex(&kueue.LocalQueue{}, byClusterQueue, ofQueue).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			if s.refuse != nil {
				return s.refuse
			}
			return c.Patch(ctx, obj, p, o...)
		},
	}).Build()
	changed := &fleet.RequestSource{}
	s.fleet = fleet.New(fleet.Options{
		Origin: origin, Scheme: scheme, Kinds: withQuota(FleetKinds(nil, nil), changed),
		ProbeInterval: 20 * time.Millisecond, ProbeTimeout: time.Second, Backoff: func(int) time.Duration { return 20 * time.Millisecond },
		Dial: func(c *rest.Config) (client.WithWatch, error) { return s.workers[c.Host], nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.fleet.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	s.quota = &Quota{Client: s.hub, Fleet: s.fleet, Clock: clock.RealClock{}, Grace: time.Hour, Changed: changed}
	return s
}

func (s *quotaStage) has(worker string, objects ...client.Object) {
	s.t.Helper()
	for _, obj := range objects {
		if err := s.workers[worker].Create(context.Background(), obj); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *quotaStage) connect(worker string) {
	s.t.Helper()
	s.fleet.Connect(worker, fleet.Credentials{Config: &rest.Config{Host: worker}, Fingerprint: "1"})
	until(s.t, "connected", func() bool { state, _ := s.fleet.State(worker); return state.Connected })
}

// look reconciles until nothing is left to write, and shows the quota and the condition.
func (s *quotaStage) look() string {
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
		return showGroups(queue.Spec.ResourceGroups)
	}
	return fmt.Sprintf("%s (%s)", showGroups(queue.Spec.ResourceGroups), c.Reason)
}

func (s *quotaStage) expect(want string) {
	s.t.Helper()
	got := ""
	if !becomes(func() bool { got = s.look(); return got == want }) {
		s.t.Fatalf("the hub has %q, want %q", got, want)
	}
}

func (s *quotaStage) change(change func(*kueue.MultiKueueConfig)) {
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
	s := newQuotaStage(t, "w1", "w2")
	s.has("w1", quotaQueue("here", "a: cpu=8"), quotaQueue("unrelated", "a: cpu=100"),
		localQueue("ns", "main", "here"), localQueue("ns", "second", "here"), localQueue("elsewhere", "main", "unrelated"), localQueue("ns", "foreign", "unrelated"))
	s.has("w2", quotaQueue("one", "a: cpu=1"), quotaQueue("two", "a: cpu=2"), localQueue("ns", "main", "one"), localQueue("ns", "second", "two"))
	s.connect("w1")
	s.connect("w2")
	s.expect("any: cpu=11 (QuotaAutomated)")

	queue := &kueue.ClusterQueue{}
	if err := s.workers["w2"].Get(context.Background(), client.ObjectKey{Name: "two"}, queue); err != nil {
		t.Fatal(err)
	}
	queue.Spec.ResourceGroups = groupsOf("a: cpu=20")
	if err := s.workers["w2"].Update(context.Background(), queue); err != nil {
		t.Fatal(err)
	}
	s.expect("any: cpu=29 (QuotaAutomated)")

	s.fleet.Disconnect("w2", errors.New("no credentials"))
	until(t, "disconnected", func() bool { state, _ := s.fleet.State("w2"); return !state.Connected })
	s.expect("any: cpu=29 (QuotaAutomated)")
	s.quota.Grace = 0
	s.expect("any: cpu=8 (QuotaAutomated)")

	s.change(func(c *kueue.MultiKueueConfig) { c.Spec.Clusters = []string{"w2"} })
	s.quota.Grace = time.Hour
	s.expect("any: cpu=21 (QuotaAutomated)")
	s.change(func(c *kueue.MultiKueueConfig) { c.Spec.QuotaManagement = kueue.QuotaManagementManual })
	s.expect("any: cpu=21 (NotRequested)")
}

func TestTheConditionGoesWithTheCheck(t *testing.T) {
	s := newQuotaStage(t, "w1")
	s.connect("w1")
	s.expect("any: cpu=0 (QuotaAutomated)")
	if err := s.hub.Delete(context.Background(), &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "mk"}}); err != nil {
		t.Fatal(err)
	}
	s.expect("any: cpu=0 (UnsupportedConfiguration)")
	if err := s.hub.Delete(context.Background(), &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}}); err != nil {
		t.Fatal(err)
	}
	s.expect("any: cpu=0")
}

func TestAQuotaThatTheServerDoesNotTakeIsTold(t *testing.T) {
	s := newQuotaStage(t, "w1")
	s.has("w1", quotaQueue("here", "a: cpu=8"), localQueue("ns", "main", "here"))
	s.connect("w1")
	s.refuse = apierrors.NewInvalid(clusterQueueGVK().GroupKind(), "team", field.ErrorList{field.Invalid(field.NewPath("spec"), 1, "lends too much")})
	s.expect("any: cpu=1 (UnsupportedConfiguration)")
	s.refuse = nil
	s.expect("any: cpu=8 (QuotaAutomated)")
}

func TestAFleetThatFollowsQueuesAnywayFollowsThemOnEveryClusterForQuota(t *testing.T) {
	signal := &fleet.RequestSource{}
	told := 0
	kinds := withQuota([]fleet.WatchedKind{{
		GVK: clusterQueueGVK(), FallbackFor: localQueueGVK(), AllOrigins: true,
		RelatedWorkloads: func(client.Object) []client.ObjectKey { told++; return []client.ObjectKey{{Name: "wl"}} },
	}}, signal)
	if len(kinds) != 2 || !kinds[0].FallbackFor.Empty() || kinds[1].GVK != localQueueGVK() || !kinds[1].AllOrigins {
		t.Fatalf("kinds %+v", kinds)
	}
	if keys := kinds[0].RelatedWorkloads(&kueue.ClusterQueue{}); len(keys) != 1 || told != 1 {
		t.Errorf("the other follower is not told: %v", keys)
	}
}
