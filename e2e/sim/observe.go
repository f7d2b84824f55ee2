package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// observe makes the Observation of one Workload from what the program knows, of all clusters only where those near do not do.
func (w *World) observe(item workload) dispatch.Observation {
	all := w.observeAll(item)
	if w.parts.Shell.NeverLooksAround && item.bound != "" || !dispatch.NeedsAll(item.state(), all) {
		return all.Near(item.state())
	}
	return all
}

func (w *World) observeAll(item workload) dispatch.Observation {
	o := dispatch.Observation{Now: w.now, Local: w.local(item), CutOffEnded: w.program.cutOffEnded}
	listed := w.listedFor(item)
	o.Clusters = w.views[:0]
	if w.policy.Dispatcher == dispatch.BestFit || w.hub.draining[item.bound] {
		choices := w.rank(item)
		w.program.choices[item.name] = choices
		defer func() {
			for i := range o.Clusters {
				fit(&o.Clusters[i], choices[o.Clusters[i].Name])
			}
		}()
	}
	for _, name := range listed {
		o.Clusters = append(o.Clusters, w.view(item, name, true))
	}
	for _, c := range w.workers {
		if !slices.Contains(listed, c.name) {
			o.Clusters = append(o.Clusters, w.view(item, c.name, false))
		}
	}
	w.views = o.Clusters
	return o
}

// local is what the hub knows of a Workload, its siblings included.
func (w *World) local(item workload) dispatch.Local {
	l := local(item)
	if item.owns() || w.parts.Shell.TakesTheName {
		l.JobActive = item.status.active
	}
	l.Awaited = item.evicted && w.asked(item) && !item.forCheck
	if w.asked(item) {
		l.Check, l.CheckMessage = item.check, item.message
	}
	first := true
	for _, sibling := range w.siblings(item) {
		s := sibling.state()
		if s.Bound != "" && !s.Retreating() && (l.Pin == "" || s.Bound < l.Pin) {
			l.Pin = s.Bound
		}
		l.SiblingLeft = l.SiblingLeft || owed(s, item.bound)
		first = first && item.name < sibling.name
	}
	l.AwaitsSibling = l.Pin == "" && !first
	return l
}

// siblings are the other Workloads of the same owner that are not over, as the program sees them.
func (w *World) siblings(item workload) []workload {
	var list []workload
	for _, name := range w.hub.names() {
		other := w.program.local.get(name)
		related := other.value.gang() == item.gang()
		if other.there && name != item.name && related && other.value.finished == nil && !other.value.deleting {
			list = append(list, other.value)
		}
	}
	return list
}

func local(item workload) dispatch.Local {
	return dispatch.Local{
		Deleted:          item.deleting,
		Kept:             item.deleting && item.kept && item.owns(),
		Finished:         item.finished != nil,
		QuotaReserved:    item.quota,
		Reservation:      item.reservation,
		ReservedAt:       item.reservedAt,
		Evicted:          item.evicted,
		EvictedMessage:   item.evictedMsg,
		Evictions:        item.evictions,
		OtherChecksReady: !item.unchecked,
		KillGrace:        item.kill,
	}
}

func (w *World) view(item workload, name string, listed bool) dispatch.ClusterView {
	r := w.program.remote[name]
	v := dispatch.ClusterView{
		Name:     name,
		InConfig: listed,
		Link:     r.link,
		Gone:     w.hub.gone[name], Cordoned: w.hub.cordoned[name] || w.hub.draining[name] || w.hub.gone[name],
		Draining: w.hub.draining[name] && w.program.turns[name].gang == item.gang(), BeingDrained: w.hub.draining[name],
		RenewedAt: r.renewedAt,
		Copy:      copyFacts(item, r.watch.copies.get(item.name)),
		Job:       jobFacts(item, r.watch.jobs.get(item.name)),
	}
	v.Job.Behind = v.Job.Behind && (item.owns() || w.parts.Shell.TakesTheName)
	if r.link.State == dispatch.Connected && !w.answers(name) {
		v.Degraded = overdue
		w.reach(Degrades)
	}
	if v.Gone && r.link.Untried && w.answers(name) {
		w.reach(WordIgnored)
	}
	v.Trouble = r.trouble[item.name]
	w.tellGate(item, &v)
	if c := w.worker(name); c != nil {
		v.Lease = w.lease(c)
	}
	if o := r.offered[item.name]; o.of == (attempt{item.uid, item.state().Epoch}) {
		v.OfferedAt = o.at
	}
	v.Stopped = r.watch.stopped(item.name, !w.stock(name))
	unstamped := v.Copy.Holder == dispatch.Ours && !v.Copy.Stops
	v.Fenced = w.hub.fenced[name] && !unstamped
	w.lookBack(item, r.watch, &v)
	if a, ok := r.live[item.name]; ok {
		v.Live = &dispatch.Live{Epoch: a.epoch, At: a.at, Copy: copyFacts(item, a.copy), Job: jobFacts(item, a.job)}
		if v.Job.Holder == dispatch.Absent && v.Live.Job.Holder == dispatch.Foreign {
			v.Job = v.Live.Job
		}
	}
	return v
}

// lookBack adds what is remembered of objects that are no more: how the run ended, in whatever epoch, or that those of the present
// one were seen to go unfinished.
func (w *World) lookBack(item workload, seen *watch, v *dispatch.ClusterView) {
	now := attempt{item.uid, item.state().Epoch}
	if last, had := seen.copies.gone[item.name]; had && v.Copy.Holder == dispatch.Absent && last.uid == item.uid {
		v.Copy = dispatch.Copy{Finished: last.finished, Epoch: last.stamp(), Adopted: last.adopted, AdoptedBy: uidOf(last.adoptedBy)}
		v.EndedUnfinished = now.epoch == last.stamp() && !last.adopted && last.finished == nil
	}
	last, had := seen.jobs.gone[item.name]
	if !had || v.Job.Holder == dispatch.Ours || last.uid != item.uid {
		return
	}
	there, current := v.Job.Holder != dispatch.Absent, now.epoch == last.stamp()
	facts := jobFacts(item, present[remoteJob]{true, last})
	facts.Holder, facts.Behind, facts.Deleting = dispatch.Absent, false, false
	switch {
	case last.finished != nil && (!there || current):
		v.Job, v.EndedUnfinished = facts, false
	case !there && current:
		v.Job = facts
		v.EndedUnfinished = v.EndedUnfinished || v.Copy.Finished == nil
	}
}

// overdue is what the hub notices of a worker that has gone before it takes it for lost.
const overdue = "its answers are overdue"

// answers reports whether a worker does.
func (w *World) answers(name string) bool {
	c := w.worker(name)
	return c != nil && c.up
}

func (o owner) holder(item workload) dispatch.Holder {
	switch {
	case !o.ours:
		return dispatch.Foreign
	case o.uid != item.uid:
		return dispatch.Predecessor
	}
	return dispatch.Ours
}

func copyFacts(item workload, c present[copied]) dispatch.Copy {
	if !c.there {
		return dispatch.Copy{}
	}
	v := c.value
	same := v.gpu == item.gpu
	return dispatch.Copy{
		Holder:       v.holder(item),
		Epoch:        v.stamp(),
		SpecMatches:  same && v.priority == item.priority,
		PriorityOnly: same && v.priority != item.priority,
		Quota:        v.quota,
		Waiting:      v.waiting,
		Refused:      v.refused,
		Admitted:     v.admitted,
		AdmittedAt:   v.admittedAt,
		Evicted:      v.evicted,
		Deactivating: v.deactivating,
		Adopted:      v.adopted, AdoptedBy: uidOf(v.adoptedBy), Stamped: v.ours && v.uid == item.uid,
		Finished:     v.finished,
		Deleting:     v.deleting,
		Stops:        v.stops,
		GateClosed:   v.closed(),
		GateOpenedAt: v.openedAt, BlockedOnGate: !v.blockedAt.IsZero(), BlockedSince: v.blockedAt,
	}
}

func jobFacts(item workload, j present[remoteJob]) dispatch.Job {
	if !j.there {
		return dispatch.Job{}
	}
	v := j.value
	return dispatch.Job{
		Holder:   jobHolder(item, v),
		UID:      uidOf(v.id),
		Stamped:  v.ours && v.uid == item.uid && v.lost != theStamp,
		Named:    v.named,
		Epoch:    v.stamp(),
		Finished: v.finished,
		Deleting: v.deleting,
		Behind:   v.status() != item.status,
	}
}
