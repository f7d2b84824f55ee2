package view

import (
	"slices"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// refreshQueue tells the snapshot about a ClusterQueue and derives its activity and that of its LocalQueues.
func (v *View) refreshQueue(cq *clusterQueue) {
	problems := v.problemsOf(cq.obj)
	v.snap.UpsertQueue(v.queueOf(cq.obj, problems))
	if cq.obj.Spec.QueueingStrategy == kueue.StrictFIFO {
		v.unheard.queues[cq.obj.Name] = true
	}
	v.signal()
	was, wasCyclic := cq.activity, cq.cyclic
	cq.activity, cq.cyclic = activityOf(problems), v.snap.CohortCycle(cq.obj.Name)
	if was != cq.activity || wasCyclic != cq.cyclic {
		v.refreshLocalsOf(cq.obj.Name)
		v.changedQueue(cq.obj.Name, atOnce)
	}
}

func (v *View) refreshQueues(affected func(*kueue.ClusterQueue) bool) {
	for _, cq := range v.queues {
		if affected(cq.obj) {
			v.refreshQueue(cq)
		}
	}
}

func (v *View) refreshLocalsOf(queue string) {
	for key, lq := range v.byQueue[queue] {
		if is := v.localQueueActivity(lq.obj); is != lq.activity {
			lq.activity = is
			v.changedLocal(key, atOnce)
		}
	}
}

// putAllIn looks at every workload behind a ClusterQueue again.
func (v *View) putAllIn(queue string) {
	for key := range v.byQueue[queue] {
		v.putAllThrough(key)
	}
}

// putAllThrough looks at every workload of a LocalQueue again.
func (v *View) putAllThrough(local admission.Key) {
	for _, w := range v.byLocal[local] {
		v.put(w)
	}
}

func (v *View) putAllInNamespace(namespace string) {
	for key := range v.byLocal {
		if key.Namespace == namespace {
			v.putAllThrough(key)
		}
	}
}

func usesFlavor(cq *kueue.ClusterQueue, name string) bool {
	return slices.Contains(flavorsOf(cq), name)
}

func (v *View) usesTopology(cq *kueue.ClusterQueue, name string) bool {
	return slices.ContainsFunc(flavorsOf(cq), func(flavor string) bool {
		f := v.flavors[flavor]
		return f != nil && string(f.Spec.TopologyName) == name
	})
}

func usesCheck(cq *kueue.ClusterQueue, name string) bool {
	return slices.ContainsFunc(checkRules(cq), func(r kueue.AdmissionCheckStrategyRule) bool { return string(r.Name) == name })
}
