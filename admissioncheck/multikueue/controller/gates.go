package controller

import (
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// gates remembers which clusters were asked to open the preemption gate of a Workload's copy, because that is seen only
// when it comes back from there. It need not outlive the program: what was opened by an earlier one is seen before
// anything is decided, unless it is on a cluster out of reach (DESIGN.md).
type gates struct {
	mu    sync.Mutex
	asked map[client.ObjectKey]map[string]gateAsked // by cluster
}

// gateAsked is in which epoch a cluster was asked, when first, and when the last call began that may have opened the gate: zero for
// none.
type gateAsked struct {
	epoch    int64
	from, at time.Time
}

// ask notes that a cluster is about to be asked, and no other that was not called yet.
func (g *gates) ask(key client.ObjectKey, cluster string, epoch int64, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked == nil {
		g.asked = map[client.ObjectKey]map[string]gateAsked{}
	}
	if g.asked[key] == nil {
		g.asked[key] = map[string]gateAsked{}
	}
	maps.DeleteFunc(g.asked[key], func(name string, a gateAsked) bool { return a.epoch != epoch || name != cluster && a.at.IsZero() })
	if _, known := g.asked[key][cluster]; !known {
		g.asked[key][cluster] = gateAsked{epoch: epoch, from: now}
	}
}

// during notes that a call to open the gate begins, and takes it back if the call surely has not opened it.
func (g *gates) during(key client.ObjectKey, cluster string, epoch int64, now time.Time, call func() error) error {
	g.ask(key, cluster, epoch, now)
	before := g.calling(key, cluster, now)
	err := call()
	if refusedSurely(err) {
		g.calling(key, cluster, before)
	}
	return err
}

// calling sets when the last call began, and returns what was set before.
func (g *gates) calling(key client.ObjectKey, cluster string, at time.Time) (before time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked, known := g.asked[key][cluster]
	if !known {
		return time.Time{}
	}
	before, asked.at = asked.at, at
	g.asked[key][cluster] = asked
	return before
}

// refusedSurely tells an answer of a server that has done nothing from everything else.
func refusedSurely(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// tell adds to the view of a cluster what was asked of it in this epoch, and forgets it once the copy shows it.
func (g *gates) tell(key client.ObjectKey, v *dispatch.ClusterView, epoch int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked, known := g.asked[key][v.Name]
	if !known || asked.epoch != epoch {
		return
	}
	v.GateAsked, v.GateAskedFrom, v.GateAskedAt = true, asked.from, asked.at
	if v.Copy.OpenedBy(asked.at) {
		delete(g.asked[key], v.Name) // seen
	}
}

// over forgets a Workload.
func (g *gates) over(key client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.asked, key)
}
