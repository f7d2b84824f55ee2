package placement

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission"
)

// Rank returns one Choice for each cluster of the fleet, the best first: those that may be offered the workload by score,
// then the others, by name. The order of the fleet does not matter.
func Rank(r Request, fleet []Cluster) []Choice {
	choices := make([]Choice, 0, len(fleet))
	for i := range fleet {
		choices = append(choices, evaluateCluster(&r, &fleet[i]))
	}
	slices.SortFunc(choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Cluster, b.Cluster))
	})
	return choices
}

// evaluateCluster returns the Choice for one cluster: first comes what rules it out, then how well the workload fits. A workload
// that fits waits all the same if others wait before it in a strict queue. Its own copy, if it was offered there, is not one of
// them.
func evaluateCluster(r *Request, c *Cluster) Choice {
	if reason, message := excluded(r, c); reason != "" {
		return Choice{Cluster: c.Name, Reason: reason, Message: message}
	}
	if c.Capacity == nil {
		return unknownChoice(r, c)
	}
	q, reason, message := c.Capacity.findQueue(r)
	if reason != "" {
		return Choice{Cluster: c.Name, Reason: reason, Message: message}
	}
	f := assignFlavors(r, c, q)
	if f.grade > waits {
		return Choice{Cluster: c.Name, Reason: f.grade.reason(), Message: f.message(q)}
	}
	ahead := q.countAhead(r.Priority)
	if c.Offered {
		ahead = max(ahead-1, 0)
	}
	queued := q.Strict && ahead > 0 && f.grade < waits
	if queued {
		f.grade, f.share = waits, permille
	}
	return eligibleChoice(r, c, f, ahead, f.reasonText(q, queued, ahead))
}

// eligibleChoice is that of a cluster that may be offered the workload. What it has said of its room does not count while it is
// degraded.
func eligibleChoice(r *Request, c *Cluster, f assignment, ahead int, message string) Choice {
	if c.Degraded != "" {
		message = c.Degraded + "; " + message
	}
	if c.isShunned() && f.grade <= unsure {
		f.grade, f.share = unsure, 0
	}
	return Choice{
		Cluster: c.Name, Eligible: true, Reason: f.grade.reason(), Message: message,
		Score: score(r, c, f, ahead), Claims: f.claims(),
	}
}

// excluded returns why the workload must not be offered to the cluster, whatever room it has.
func excluded(r *Request, c *Cluster) (Reason, string) {
	if c.Cordoned {
		return Cordoned, "the cluster is cordoned"
	}
	for _, refused := range r.Refused {
		switch {
		case refused.Cluster != c.Name:
		case refused.Message == "":
			return Refused, "the cluster has refused the workload"
		default:
			return Refused, "the cluster has refused the workload: " + refused.Message
		}
	}
	return "", ""
}

// findQueue returns the ClusterQueue that the workload would wait in. If there is none, it returns nil with the reason and its
// message.
func (c *Capacity) findQueue(r *Request) (*Queue, Reason, string) {
	if c.Kinds != nil && r.Kind != "" {
		if _, served := slices.BinarySearch(c.Kinds, r.Kind); !served {
			return nil, KindNotServed, "jobs of kind " + r.Kind + " are not served there"
		}
	}
	name := r.Namespace + "/" + r.LocalQueue
	local := c.localQueue(admission.Key{Namespace: r.Namespace, Name: r.LocalQueue})
	switch {
	case local == nil:
		return nil, NoLocalQueue, "LocalQueue " + name + " doesn't exist there"
	case local.Closed != "":
		return nil, QueueClosed, "LocalQueue " + name + " admits nothing: " + local.Closed
	}
	q := c.queue(local.Queue)
	switch {
	case q == nil:
		return nil, QueueClosed, "ClusterQueue " + local.Queue + " doesn't exist there"
	case q.Closed != "":
		return nil, QueueClosed, "ClusterQueue " + q.Name + " admits nothing: " + q.Closed
	}
	return q, "", ""
}

// unknownChoice is the choice of a cluster that says nothing of its room.
func unknownChoice(r *Request, c *Cluster) Choice {
	known := eligibleChoice(r, c, assignment{grade: unsure, share: idleShare(r, c)}, 0, "what the cluster has room for is not known")
	known.Claims = unassignedClaims(r)
	return known
}
