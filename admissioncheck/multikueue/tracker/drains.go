package tracker

import (
	"slices"

	"switchyard.dev/worker/admission"
)

// NextToDrain returns which of the Workloads bound to a cluster, in the given order, is the next one to leave it: the first that
// had no turn. If all of them had one, the turns begin anew. False if there are none.
func (t *Tracker) NextToDrain(cluster string, bound []admission.Key) (admission.Key, bool) {
	if len(bound) == 0 {
		return admission.Key{}, false
	}
	c := t.cluster(cluster)
	var next *admission.Key
	drained := map[admission.Key]bool{}
	for i, key := range bound {
		switch {
		case c.drained[key]:
			drained[key] = true
		case next == nil:
			next = &bound[i]
		}
	}
	if next == nil {
		next, drained = &bound[0], map[admission.Key]bool{}
	}
	c.drained = drained
	return *next, true
}

// SetDrainTargets gives the turn to leave a cluster to the Workloads of one job, or to none.
func (t *Tracker) SetDrainTargets(cluster string, workloads []admission.Key) {
	if len(workloads) == 0 && t.clusters[cluster] == nil {
		return
	}
	c := t.cluster(cluster)
	c.draining = workloads
	if c.drained == nil {
		c.drained = map[admission.Key]bool{}
	}
	for _, key := range workloads {
		c.drained[key] = true
	}
}

// EndDrain forgets the turns of a cluster that is not being drained any more.
func (t *Tracker) EndDrain(cluster string) {
	if c := t.clusters[cluster]; c != nil {
		c.draining, c.drained = nil, nil
	}
}

// isDraining reports whether it is the turn of a Workload to leave a cluster.
func (t *Tracker) isDraining(cluster string, key admission.Key) bool {
	c := t.clusters[cluster]
	return c != nil && slices.Contains(c.draining, key)
}
