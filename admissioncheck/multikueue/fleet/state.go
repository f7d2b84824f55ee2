package fleet

import (
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Credentials are how to reach a cluster.
type Credentials struct {
	// Config was accepted by kubeconfig.CheckRESTConfig.
	Config *rest.Config
	// Fingerprint is equal for equal credentials; a new one makes the supervisor connect anew.
	Fingerprint string
}

// State is how a cluster's connection stands.
type State struct {
	// Cluster is its name.
	Cluster string
	// Connected tells that the last probe was answered and the required informers are complete.
	Connected bool
	// ConnectionNumber counts the connections that there have been since this program started, this one included. What was seen over an
	// earlier one says nothing of what there is: the cluster may have been put back to a backup.
	ConnectionNumber int64
	// EverConnected tells that it has been connected at some time since this program started.
	EverConnected bool
	// DegradedReason says why a cluster that is connected may not do what is asked of it: an answer takes much longer than
	// usual, or the last one did, or calls fail one after the other. Empty if there is no such sign. OnTrial is set when it
	// is to be given something all the same, because otherwise the hub would never find out that it works again.
	DegradedReason string
	AllowTrial     bool
	// LostSince is when contact was lost, zero while connected. The first loss counts, failed attempts since do not move
	// it; before the first contact it is when the supervisor began (contract: multikueue.md 2, "Connection state").
	LostSince time.Time
	// Failures is the number of failed attempts in a row.
	Failures int
	// NextAttempt is when the next attempt is due, zero when there is none to wait for: one that follows failures, or sessions
	// that did not hold.
	NextAttempt time.Time
	// Err is why the last attempt failed or the connection was lost; nil while connected or before the first attempt.
	Err error
	// Fingerprint is that of the credentials the other fields speak of, empty before the first attempt.
	Fingerprint string
	// Fencing is how the hub's run lease and the worker's fence stand.
	Fencing Fencing
	// ServesSwitchyard tells that the API group of our program was served when the connection was made: a worker of ours refuses what others let
	// pass.
	ServesSwitchyard bool
	// Identity is that of the cluster which the connection leads, or led last, to: the UID of its namespace kube-system. It is empty
	// before the first connection, and where the hub may not read it; Unidentified says why then.
	Identity      types.UID
	IdentityError string
	// Unserved are the kinds that the cluster does not serve to us, sorted.
	Unserved []Unserved
}

// Unserved is a kind that a cluster does not serve to us, and why.
type Unserved struct {
	GVK schema.GroupVersionKind
	Err error
}

// IsDenied tells whether the cluster serves the kind, to others than us.
func (u Unserved) IsDenied() bool { return apierrors.IsForbidden(u.Err) }

// Stats are figures about one cluster since the program began to supervise it.
type Stats struct {
	// Cluster is its name, and Connected as in its State.
	Cluster   string
	Connected bool
	// Connections counts how often contact was made.
	Connections int64
	// Calls counts HTTP requests, watches included, and Errors those without answer or with one of 5xx or 429.
	Calls, Errors int64
	// Queued is how many Workloads have something left to be done: it waits for a writer, for a retry or for the breaker.
	Queued int
}

// Stats returns the figures of every cluster, by name.
func (f *Fleet) Stats() []Stats {
	f.mu.RLock()
	defer f.mu.RUnlock()
	list := make([]Stats, 0, len(f.supervisors))
	for _, name := range slices.Sorted(maps.Keys(f.supervisors)) {
		list = append(list, f.supervisors[name].collectStats())
	}
	return list
}

// collectStats returns the figures of the cluster's connection.
func (s *supervisor) collectStats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	figures := Stats{
		Cluster: s.name, Connected: s.state.Connected, Connections: s.stats.connections.Load(), Calls: s.stats.calls.Load(),
		Errors: s.stats.errors.Load(),
	}
	if s.state.Connected {
		figures.Queued = s.actionQueues.countWaiting(s.options.Clock.Now())
	}
	return figures
}

// countWaiting counts the action queues in which something is left to be done. What has succeeded is not, while its effect may still show.
func (l *actionQueues) countWaiting(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, ln := range l.queues {
		if slices.ContainsFunc(ln.pending, func(a Action) bool { return !now.Before(ln.succeeded[a.ID].until) }) {
			n++
		}
	}
	return n
}

// callStats are the counters of one supervisor.
type callStats struct {
	// onUnanswered is called for each request that got no answer although its caller did not give it up.
	onUnanswered func()

	connections, calls, errors atomic.Int64
	// dropped counts the requests that got no answer although their callers did not give them up.
	dropped atomic.Int64
}

// wrapConfig returns the config, made to count what is called by it.
func (s *callStats) wrapConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &countingTransport{next: next, stats: s} })
	return config
}

// countingTransport counts the requests that pass through it.
type countingTransport struct {
	next  http.RoundTripper
	stats *callStats
}

// RoundTrip implements http.RoundTripper.
func (c *countingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	c.stats.calls.Add(1)
	response, err := c.next.RoundTrip(request)
	if err != nil && request.Context().Err() == nil {
		c.stats.dropped.Add(1)
		c.stats.onUnanswered()
	}
	if err != nil || response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests {
		c.stats.errors.Add(1)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find what it looks for beneath.
func (c *countingTransport) WrappedRoundTripper() http.RoundTripper { return c.next }
