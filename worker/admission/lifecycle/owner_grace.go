package lifecycle

import "time"

// deferToOwner leaves what the public API leaves to others for them to do first (contract: messages.md 5.4). A program or
// person that plays the owner of a workload without one gives the quota back, and may reserve by hand before there is such a
// queue. Only what has not been done after the policy's OwnerGrace is done here.
func (p *Plan) deferToOwner(o Observation) Observation {
	reserved, _ := p.Next.Condition(QuotaReserved)
	if p.Next.Reservation == nil || o.ClusterQueue.State != QueueMissing && o.LocalQueue.State != QueueMissing || !p.isInOwnerGrace(reserved.Since, o) {
		return o
	}
	for _, queue := range []*Queue{&o.ClusterQueue, &o.LocalQueue} {
		if queue.State == QueueMissing {
			queue.State = QueueUnknown
		}
	}
	return o
}

// isInOwnerGrace tells whether others may still act upon what is so since then, and asks to look again when they no longer may.
func (p *Plan) isInOwnerGrace(since time.Time, o Observation) bool {
	until := since.Add(o.Policy.OwnerGracePeriod)
	if !until.After(o.Now) {
		return false
	}
	p.scheduleRecheck(until)
	return true
}
