package controller

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gates remembers which cluster was asked last to open the preemption gate of a Workload's copy, because that is seen only
// when it comes back from there. It need not outlive the program: what was opened by an earlier one is seen before
// anything is decided.
type gates struct {
	mu    sync.Mutex
	asked map[client.ObjectKey]gateAsked
}

type gateAsked struct {
	cluster string
	epoch   int64
}

// ask notes that a cluster is asked.
func (g *gates) ask(key client.ObjectKey, cluster string, epoch int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked == nil {
		g.asked = map[client.ObjectKey]gateAsked{}
	}
	g.asked[key] = gateAsked{cluster, epoch}
}

// isAsked tells whether it is the one that was asked last, and in this epoch.
func (g *gates) isAsked(key client.ObjectKey, cluster string, epoch int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[key] == gateAsked{cluster, epoch}
}

// over forgets a Workload.
func (g *gates) over(key client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.asked, key)
}
