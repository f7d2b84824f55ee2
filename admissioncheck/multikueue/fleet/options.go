package fleet

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Options tell a fleet what to follow and how patient to be. Zero durations, numbers and functions mean the default given
// with each.
type Options struct {
	// Origin is the value of the origin label: only objects that carry it are seen at all. Never empty.
	Origin string
	// Kinds are followed on every cluster, besides those that are added later; at least one is required. The first required one serves as the probe.
	Kinds []WatchedKind
	// Scheme knows the Go types of all kinds.
	Scheme *runtime.Scheme
	// AffectedWorkloads lists the Workloads to look at again when a cluster was connected or lost: those that look for a cluster, and
	// others.
	AffectedWorkloads func(cluster string) (seekers, others []types.NamespacedName)

	// OnRemoved, optional, is told of every cluster that is removed.
	OnRemoved func(cluster string)
	// OwnsWorkload tells whether a Workload is one of the hub's, or was until now; by default all are. Of others nothing is remembered, and
	// those of one cluster are looked at ten a second.
	OwnsWorkload func(types.NamespacedName) bool
	// Lease, optional, makes the supervisors keep a run lease on the workers.
	Lease *LeaseOptions

	// Dial makes a client; by default a typed client with its own transport and lazy discovery.
	Dial func(*rest.Config) (client.WithWatch, error)
	// Clock is the source of time.
	Clock clock.WithTickerAndDelayedExecution
	// Backoff before the next connection attempt, given the failures in a row; by default ReconnectBackoff.
	Backoff func(failures int) time.Duration
	// ConnectTimeout is how long an attempt may take, given the failures in a row; by default ConnectTimeout.
	ConnectTimeout func(failures int) time.Duration
	// MinSessionDuration is how long a session must last to have held (1 min): the next attempt after some that did not waits as after failures.
	MinSessionDuration time.Duration
	// ProbeInterval is the time between probes of a connected cluster (10 s), ProbeTimeout the patience with one (5 s). A
	// cluster is lost when two probes in a row fail, or one during which it drops requests.
	ProbeInterval, ProbeTimeout time.Duration
	// CallTimeout bounds one action (15 s).
	CallTimeout time.Duration
	// Coalesce is how long a change that is not urgent may wait for others (400 ms).
	Coalesce time.Duration
	// KindRecheckInterval is how often a cluster is asked for a kind that it did not serve (1 min).
	KindRecheckInterval time.Duration
	// Writers is how many actions run at a time on one cluster (32); QPS and Burst are its budget of calls a second, for everything
	// that is called over one connection (1000, 2000).
	Writers int
	QPS     float32
	Burst   int

	// kinds are Kinds, and those that are added later.
	kinds *kindSet
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if o.AffectedWorkloads == nil {
		o.AffectedWorkloads = func(string) (seekers, others []types.NamespacedName) { return nil, nil }
	}
	if o.OwnsWorkload == nil {
		o.OwnsWorkload = func(types.NamespacedName) bool { return true }
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Backoff == nil {
		o.Backoff = ReconnectBackoff
	}
	if o.ConnectTimeout == nil {
		o.ConnectTimeout = ConnectTimeout
	}
	o.MinSessionDuration = valueOr(o.MinSessionDuration, time.Minute)
	o.ProbeInterval = valueOr(o.ProbeInterval, 10*time.Second)
	o.ProbeTimeout = valueOr(o.ProbeTimeout, 5*time.Second)
	o.CallTimeout = valueOr(o.CallTimeout, 15*time.Second)
	o.Coalesce = valueOr(o.Coalesce, 400*time.Millisecond)
	o.KindRecheckInterval = valueOr(o.KindRecheckInterval, time.Minute)
	o.Writers = valueOr(o.Writers, 32)
	o.QPS = valueOr(o.QPS, 1000)
	o.Burst = valueOr(o.Burst, 2000)
	o.kinds = newKindSet(o.Kinds)
	if o.Lease != nil {
		lease := o.Lease.withDefaults(o.Origin)
		o.Lease = &lease
	}
	if o.Dial == nil {
		o.Dial = o.dial
	}
	return o
}

func valueOr[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// dial makes a typed client. Discovery takes no context, so it gets a timeout of its own: a server that accepts connections
// and says nothing would hang it, and with it the end of the session, for half a minute.
func (o Options) dial(config *rest.Config) (client.WithWatch, error) {
	budgeted := o.withRateLimits(config)
	discovery := rest.CopyConfig(budgeted)
	discovery.Timeout = o.ProbeTimeout
	transport, err := rest.HTTPClientFor(discovery)
	if err != nil {
		return nil, fmt.Errorf("make a transport for discovery: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(discovery, transport)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	return client.NewWithWatch(budgeted, client.Options{Scheme: o.Scheme, Mapper: mapper})
}

// withRateLimits is a cluster's config with the fleet's budget, wherever the credentials are from: configs that say nothing would be
// held to client-go's 5 calls a second. All clients that are made of it share the budget: there is one for each kind of object,
// and one for discovery.
func (o Options) withRateLimits(config *rest.Config) *rest.Config {
	budgeted := rest.CopyConfig(config)
	budgeted.QPS, budgeted.Burst = o.QPS, o.Burst
	budgeted.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(o.QPS, o.Burst)
	budgeted.UserAgent = "switchyard-hub"
	return budgeted
}

// ConnectTimeout is how long a connection attempt may take after the given number of failures in a row: 1 min, 2 min, 4
// min and so on, never more than 10 min (contract: multikueue.md 2).
func ConnectTimeout(failures int) time.Duration {
	const most = 10 * time.Minute
	return min(time.Minute<<min(max(failures, 0), 4), most)
}
