package dispatch

import "slices"

// NeedsAll reports whether Step has to know every cluster to decide. Otherwise it is enough to show it those that the State
// names and those where something of the Workload is seen or remembered (Near), and it decides alike: most Workloads run
// where they are, and looking at a hundred clusters for each of them would cost more than everything else.
//
// All are needed to choose among them, to move a drained job, to suspect them when the record was lost, and to tell a lost
// cluster from a hub that is cut off.
func NeedsAll(s State, o Observation) bool {
	s.Epoch = max(s.Epoch, 1)
	o = o.normalizeStamps(s.Epoch)
	t := decision{state: s, observed: o}
	if slices.ContainsFunc(s.Names(), func(name string) bool { return t.view(name).Link.State == Unreachable }) {
		return true
	}
	switch l := o.Local; {
	case l.Deleted && !l.KeptForJob, l.Finished:
		return false
	case t.recordLost():
		return true
	case l.Deleted, !l.Quota.Reserved:
		return false
	case s.Retreating() && (l.Check.State == Retry || l.Check.State == Rejected || l.Quota.Evicted):
		return false
	case s.Bound == "", l.Check.State != Ready:
		return true
	}
	v := t.view(s.Bound)
	return v.Operator.Draining || v.newestEpoch() > max(s.Epoch, 1)
}

// Relevant is the Observation without the clusters that the State does not name and that show nothing.
func (o Observation) Relevant(s State) Observation {
	names := s.Names()
	near := make([]ClusterView, 0, len(names)+1)
	for _, v := range o.Clusters {
		if slices.Contains(names, v.Name) || v.showsWorkload() {
			near = append(near, v)
		}
	}
	o.Clusters = near
	return o
}

// showsWorkload reports whether anything of the Workload is seen, or remembered, on the cluster.
func (v ClusterView) showsWorkload() bool {
	return v.Copy.Holder != Absent || v.Job.Holder != Absent || v.Job.Finished != nil || v.Ended.Unfinished || v.Live != nil
}
