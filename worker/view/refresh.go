package view

import (
	"slices"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// refreshClusterQueue tells the snapshot about a ClusterQueue and derives its activity and that of its LocalQueues.
func (v *View) refreshClusterQueue(cq *clusterQueue) {
	problems := v.clusterQueueProblems(cq.obj)
	v.snap.UpsertQueue(v.convertClusterQueue(cq.obj, problems))
	if cq.obj.Spec.QueueingStrategy == kueue.StrictFIFO {
		v.staleReports.strictQueues[cq.obj.Name] = true
	}
	v.requestCycle()
	was, wasCyclic := cq.activity, cq.inCohortCycle
	cq.activity, cq.inCohortCycle = clusterQueueActivity(problems), v.snap.IsInCohortCycle(cq.obj.Name)
	if was != cq.activity || wasCyclic != cq.inCohortCycle {
		v.refreshLocalQueues(cq.obj.Name)
		v.notifyClusterQueue(cq.obj.Name, notifyNow)
	}
}

func (v *View) refreshClusterQueues(affected func(*kueue.ClusterQueue) bool) {
	for _, cq := range v.clusterQueues {
		if affected(cq.obj) {
			v.refreshClusterQueue(cq)
		}
	}
}

func (v *View) refreshLocalQueues(queue string) {
	for key, lq := range v.localQueuesByClusterQueue[queue] {
		if is := v.localQueueActivity(lq.obj); is != lq.activity {
			lq.activity = is
			v.notifyLocalQueue(key, notifyNow)
		}
	}
}

// syncWorkloadsOfClusterQueue looks at every workload behind a ClusterQueue again.
func (v *View) syncWorkloadsOfClusterQueue(queue string) {
	for key := range v.localQueuesByClusterQueue[queue] {
		v.syncWorkloadsOfLocalQueue(key)
	}
}

// syncWorkloadsOfLocalQueue looks at every workload of a LocalQueue again.
func (v *View) syncWorkloadsOfLocalQueue(local admission.Key) {
	for _, w := range v.workloadsByLocalQueue[local] {
		v.syncWorkload(w)
	}
}

func (v *View) syncWorkloadsInNamespace(namespace string) {
	for key := range v.workloadsByLocalQueue {
		if key.Namespace == namespace {
			v.syncWorkloadsOfLocalQueue(key)
		}
	}
}

func usesFlavor(cq *kueue.ClusterQueue, name string) bool {
	return slices.Contains(flavorNames(cq), name)
}

func usesCheck(cq *kueue.ClusterQueue, name string) bool {
	return slices.ContainsFunc(checkRules(cq), func(r kueue.AdmissionCheckStrategyRule) bool { return string(r.Name) == name })
}
