package placement

import (
	"fmt"
	"hash/fnv"

	"switchyard.dev/worker/admission"
)

// Terms stand for all that decides whether workloads of a LocalQueue may be offered to a cluster at all: the kinds served, the
// LocalQueue and its ClusterQueue, their flavors, and the most that each could give. As long as they are equal, so is the
// answer for a workload of one pod set, Cordoned and Refused aside, with its words; what is free at the moment, and what waits,
// is not part of them. With several pod sets it may be another: the cluster chooses flavors for one after the other, by what is
// free. Different Terms are no promise that anything is different.
type Terms uint64

// TermsFor are those of the LocalQueue; zero of a Capacity that is not known.
func (c *Capacity) TermsFor(local admission.Key) Terms {
	if c == nil {
		return 0
	}
	digest := fnv.New64a()
	write := func(parts ...any) {
		for _, part := range parts {
			_, _ = fmt.Fprintf(digest, "%#v;", part) // it has no errors
		}
	}
	write(c.Kinds, c.IgnoresUncovered, c.FlavorsUnknown)
	if l := c.localQueue(local); l != nil {
		write(*l)
		if q := c.queue(l.Queue); q != nil {
			write(q.Name, q.Closed)
			for _, g := range q.Groups {
				write(g.Resources)
				for _, room := range g.Flavors {
					write(room.Flavor, room.Largest, c.flavor(room.Flavor) == nil)
					if flavor := c.flavor(room.Flavor); flavor != nil {
						write(*flavor)
					}
				}
			}
		}
	}
	return Terms(digest.Sum64())
}
