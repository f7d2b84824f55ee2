package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// serveBrieflyConnected is a worker whose every connection breaks right after it was made: it answers the first of three probes.
func (w *testEnv) serveBrieflyConnected(name string) {
	var mu sync.Mutex
	probes := 0
	answers := func() bool {
		mu.Lock()
		defer mu.Unlock()
		probes++
		return probes%3 == 1
	}
	w.servers[name].WithWatch = fake.NewClientBuilder().WithScheme(w.scheme).
		WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(w.scheme)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			options := client.ListOptions{}
			if options.ApplyOptions(o); options.Raw != nil && options.Raw.ResourceVersion == "0" && isProbe(options) && !answers() {
				return errors.New("connection reset")
			}
			return c.List(ctx, list, o...)
		},
	}).Build()
}

func isProbe(o client.ListOptions) bool {
	requirements, _ := o.LabelSelector.Requirements()
	for _, r := range requirements {
		if r.Key() == probeLabel {
			return true
		}
	}
	return false
}

// backoffRecorder are the failures in a row that a backoff was asked for.
type backoffRecorder struct {
	mu       sync.Mutex
	failures []int
}

func (b *backoffRecorder) record(failures int, wait time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = append(b.failures, failures)
	return wait
}

func (b *backoffRecorder) recorded() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.failures)
}

func (w *testEnv) countConnections(name string) int64 {
	for _, s := range w.fleet.Stats() {
		if s.Cluster == name {
			return s.Connections
		}
	}
	return 0
}

func TestAClusterThatBreaksAgainAndAgainIsReachedForLessAndLessOften(t *testing.T) {
	var b backoffRecorder
	w := newTestEnv(t, func(o *Options) {
		o.Backoff = func(failures int) time.Duration { return b.record(failures, time.Millisecond) }
	}, "w1")
	w.serveBrieflyConnected("w1")
	w.connect("w1")
	w.eventually("it has broken several times", func() bool { return len(b.recorded()) >= 4 })
	if got := b.recorded()[:4]; !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("waits as after %v failures", got)
	}
}

func TestTheSecondSessionThatDoesNotHoldIsFollowedByAWait(t *testing.T) {
	w := newTestEnv(t, func(o *Options) { o.Backoff = func(int) time.Duration { return time.Hour } }, "w1")
	w.serveBrieflyConnected("w1")
	w.connect("w1")
	w.eventually("it waits", func() bool { s := w.state("w1"); return !s.Connected && !s.NextAttempt.IsZero() })
	if s := w.state("w1"); w.countConnections("w1") != 2 || s.Failures != 0 {
		t.Errorf("after %d connections: %+v", w.countConnections("w1"), s)
	}
}

func TestASessionThatHasHeldIsReplacedAtOnce(t *testing.T) {
	var b backoffRecorder
	w := newTestEnv(t, func(o *Options) {
		o.MinSessionDuration = time.Nanosecond
		o.Backoff = func(failures int) time.Duration { return b.record(failures, time.Hour) }
	}, "w1")
	w.serveBrieflyConnected("w1")
	w.connect("w1")
	w.eventually("it was connected often", func() bool { return w.countConnections("w1") >= 5 })
	if got := b.recorded(); len(got) > 0 {
		t.Errorf("waits as after %v failures", got)
	}
}

// A watch that goes on after the server was away tells nothing of what went meanwhile, as after a restore, if the server answers the
// probe at last.
func TestWhatWasAwayDuringAProbeIsConnectedToAnew(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	before := w.countConnections("w1")
	s := w.fleet.lookup("w1")
	var once sync.Once
	w.servers["w1"].setOnList(func() { once.Do(func() { s.stats.dropped.Add(1) }) })
	w.eventually("w1 is connected to once more", func() bool { return w.countConnections("w1") > before })
	w.waitConnected("w1")
}
