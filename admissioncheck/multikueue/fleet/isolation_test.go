package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube/polltest"
)

// isolationEnv is a fleet of many in-memory clusters, of which some are sick: the black ones answer nothing until the caller gives
// up, the slow ones answer late.
type isolationEnv struct {
	fleet     *Fleet
	unhealthy atomic.Bool // black and slow from now on
	delay     time.Duration

	mu         sync.Mutex
	hanging    map[string]int // calls that wait, by cluster
	maxHanging map[string]int // the most that ever waited at a time
}

const clusterCount, deadCount, slowCount = 20, 5, 2

func clusterName(i int) string { return fmt.Sprintf("w%02d", i) }

func isHealthy(i int) bool { return i >= deadCount+slowCount }

// delayCall lets a call in; it returns when the cluster answers.
func (c *isolationEnv) delayCall(ctx context.Context, i int) error {
	if isHealthy(i) || !c.unhealthy.Load() {
		return nil
	}
	name := clusterName(i)
	c.mu.Lock()
	c.hanging[name]++
	c.maxHanging[name] = max(c.maxHanging[name], c.hanging[name])
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.hanging[name]--; c.mu.Unlock() }()
	if i >= deadCount {
		select {
		case <-time.After(c.delay):
			return nil
		case <-ctx.Done():
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func newIsolationEnv(tb testing.TB, sick bool, change func(*Options)) *isolationEnv {
	tb.Helper()
	c := &isolationEnv{delay: 200 * time.Millisecond, hanging: map[string]int{}, maxHanging: map[string]int{}}
	c.unhealthy.Store(sick)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, corev1.AddToScheme} { // one scheme for all: nothing may be added later
		if err := add(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	servers := map[string]client.WithWatch{}
	for i := range clusterCount {
		servers[clusterName(i)] = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).
			WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
					if err := c.delayCall(ctx, i); err != nil {
						return err
					}
					return w.List(ctx, list, o...)
				},
				Create: func(ctx context.Context, w client.WithWatch, obj client.Object, o ...client.CreateOption) error {
					if err := c.delayCall(ctx, i); err != nil {
						return err
					}
					return w.Create(ctx, obj, o...)
				},
			}).Build()
	}
	options := Options{
		Origin: "hub", Scheme: scheme, Coalesce: time.Millisecond,
		Kinds: []WatchedKind{{
			GVK: workloadGVK, Required: true,
			New:         func() client.Object { return &kueue.Workload{} },
			NewList:     func() client.ObjectList { return &kueue.WorkloadList{} },
			WorkloadKey: func(o client.Object) (types.NamespacedName, bool) { return client.ObjectKeyFromObject(o), true },
		}},
		Dial: func(config *rest.Config) (client.WithWatch, error) { return servers[config.Host], nil },
	}
	if change != nil {
		change(&options)
	}
	c.fleet = New(options)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.fleet.Start(ctx) }()
	tb.Cleanup(func() { cancel(); <-ended })
	for i := range clusterCount {
		c.fleet.Connect(clusterName(i), Credentials{Config: &rest.Config{Host: clusterName(i)}, Fingerprint: "x"})
	}
	return c
}

func (c *isolationEnv) eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	if !polltest.Holds(tb, condition) {
		tb.Fatalf("never: %s", what)
	}
}

func (c *isolationEnv) waitConnected(tb testing.TB, of func(int) bool) {
	tb.Helper()
	c.eventually(tb, "connected", func() bool {
		return !slices.ContainsFunc(c.fleet.States(), func(s State) bool {
			var i int
			_, _ = fmt.Sscanf(s.Cluster, "w%d", &i)
			return of(i) && !s.Connected
		})
	})
}

// dispatch offers so many Workloads to every cluster and returns how long each took to reach each of the healthy ones.
func (c *isolationEnv) dispatch(tb testing.TB, round, workloads int) []time.Duration {
	tb.Helper()
	var mu sync.Mutex
	var took []time.Duration
	for n := range workloads {
		name := fmt.Sprintf("r%d-n%d", round, n)
		began := time.Now()
		for i := range clusterCount {
			c.fleet.SetActions(clusterName(i), keyOf(name), []Action{{ID: "create", Run: func(ctx context.Context, w client.Client) (any, error) {
				err := w.Create(ctx, remoteWorkload(name, "hub"))
				if err == nil && isHealthy(i) {
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
				}
				return nil, err
			}}})
		}
	}
	c.eventually(tb, "all healthy clusters have all", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(took) >= workloads*(clusterCount-deadCount-slowCount)
	})
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(took)
}

func TestClustersThatHangHoldUpNobodyElse(t *testing.T) {
	c := newIsolationEnv(t, false, func(o *Options) { o.ProbeTimeout, o.CallTimeout = time.Minute, time.Minute })
	c.waitConnected(t, func(int) bool { return true })
	c.unhealthy.Store(true)
	const workloads = 50
	c.dispatch(t, 0, workloads)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range deadCount {
		name := clusterName(i)
		if c.hanging[name] == 0 {
			t.Errorf("nothing hangs on %s: it shows nothing that the others were served", name)
		}
		if limit := c.fleet.options.Writers + 2; c.maxHanging[name] > limit { // a probe and an informer's list besides
			t.Errorf("%d calls at a time wait for %s", c.maxHanging[name], name)
		}
		lanes := c.fleet.lookup(name).actionQueues
		lanes.mu.Lock()
		if len(lanes.queues) > workloads {
			t.Errorf("%d lanes for %d workloads", len(lanes.queues), workloads)
		}
		lanes.mu.Unlock()
	}
}

func TestClustersThatNeverAnsweredKeepNobodyFromConnectingAndAreGivenNothing(t *testing.T) {
	c := newIsolationEnv(t, true, func(o *Options) { o.ProbeTimeout = time.Minute })
	c.waitConnected(t, isHealthy)
	c.dispatch(t, 0, 20)
	for i := range deadCount {
		if lanes := c.fleet.lookup(clusterName(i)).actionQueues; len(lanes.queues) > 0 {
			t.Errorf("%d lanes for a cluster that is away", len(lanes.queues))
		}
	}
}

// BenchmarkUnhealthyClusters reports the 99th percentile of dispatch to the healthy clusters of two fleets, of which one has sick
// clusters besides, and the ratio. Their rounds alternate, so that both suffer alike from what else the machine does.
func BenchmarkUnhealthyClusters(b *testing.B) {
	var fleets [2]*isolationEnv
	for i := range fleets {
		fleets[i] = newIsolationEnv(b, false, func(o *Options) { o.ProbeTimeout, o.CallTimeout = time.Minute, time.Minute })
		fleets[i].waitConnected(b, func(int) bool { return true })
		fleets[i].dispatch(b, 0, 10)
	}
	fleets[1].unhealthy.Store(true)
	var took [2][]time.Duration
	for n := range 10 * b.N {
		for i, c := range fleets {
			took[i] = append(took[i], c.dispatch(b, 1+n, 10)...)
		}
	}
	p99 := func(times []time.Duration) float64 {
		slices.Sort(times)
		return float64(times[len(times)*99/100]) / float64(time.Millisecond)
	}
	b.ReportMetric(p99(took[0]), "ms-p99-healthy")
	b.ReportMetric(p99(took[1]), "ms-p99-sick")
	b.ReportMetric(p99(took[1])/p99(took[0]), "ratio")
}
