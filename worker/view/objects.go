package view

import (
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// The set and drop methods below are what informer events do; the caller holds the mutex. Setting what is known already
// costs a comparison and changes nothing.

// setClusterQueue takes a ClusterQueue in. A change of the status alone costs a comparison.
func (v *View) setClusterQueue(cq *kueue.ClusterQueue) {
	was := v.clusterQueues[cq.Name]
	if was != nil && was.obj.DeletionTimestamp.Equal(cq.DeletionTimestamp) && reflect.DeepEqual(was.obj.Spec, cq.Spec) {
		was.obj = cq
		return
	}
	is := &clusterQueue{obj: cq}
	is.selector, is.selectorErr = metav1.LabelSelectorAsSelector(cq.Spec.NamespaceSelector)
	v.clusterQueues[cq.Name] = is
	v.refreshClusterQueue(is)
	if was == nil || !reflect.DeepEqual(was.obj.Spec.NamespaceSelector, cq.Spec.NamespaceSelector) {
		v.syncWorkloadsOfClusterQueue(cq.Name)
	}
	v.notifyFlavorsOf(was, is)
	v.notifyClusterQueueQuota(was, is)
	v.notifyClusterQueue(cq.Name, notifyNow)
}

// deleteClusterQueue takes the deletion of a ClusterQueue in. Its workloads stay, and get the reason that it is missing.
func (v *View) deleteClusterQueue(cq *kueue.ClusterQueue) {
	was := v.clusterQueues[cq.Name]
	if was == nil {
		return
	}
	delete(v.clusterQueues, cq.Name)
	delete(v.staleReports.reportedHeads, cq.Name)
	v.snap.DeleteQueue(cq.Name)
	v.refreshLocalQueues(cq.Name)
	v.syncWorkloadsOfClusterQueue(cq.Name)
	v.notifyFlavorsOf(was, nil)
	v.notifyClusterQueueQuota(was, nil)
	v.notifyClusterQueue(cq.Name, notifyNow)
	v.requestCycle()
}

// setLocalQueue takes a LocalQueue in. One of another UID begins its recent usage anew.
func (v *View) setLocalQueue(lq *kueue.LocalQueue) {
	key := keyOf(lq.Namespace, lq.Name)
	was := v.localQueues[key]
	if was != nil && was.obj.UID == lq.UID && reflect.DeepEqual(was.obj.Spec, lq.Spec) {
		if !maps.Equal(was.obj.Labels, lq.Labels) { // which say whether it is measured
			v.notifyLocalQueue(key, notifyBatched)
		}
		was.obj = lq
		return
	}
	if was != nil && was.obj.UID != lq.UID {
		v.untrackUsage(key)
	}
	v.unindexLocalQueue(key)
	is := &localQueue{obj: lq}
	v.localQueues[key] = is
	queue := string(lq.Spec.ClusterQueue)
	if v.localQueuesByClusterQueue[queue] == nil {
		v.localQueuesByClusterQueue[queue] = map[admission.Key]*localQueue{}
	}
	v.localQueuesByClusterQueue[queue][key] = is
	is.activity = v.localQueueActivity(lq)
	v.trackUsage(key)
	v.syncWorkloadsOfLocalQueue(key)
	v.notifyLocalQueue(key, notifyNow)
}

func (v *View) deleteLocalQueue(lq *kueue.LocalQueue) {
	key := keyOf(lq.Namespace, lq.Name)
	v.unindexLocalQueue(key)
	delete(v.localQueues, key)
	v.untrackUsage(key)
	v.syncWorkloadsOfLocalQueue(key)
	v.notifyLocalQueue(key, notifyNow)
}

// setCohort takes a Cohort in. A changed spec may end or begin a cycle, so that all ClusterQueues are looked at.
func (v *View) setCohort(c *kueue.Cohort) {
	was := v.cohorts[c.Name]
	v.cohorts[c.Name] = c
	if was != nil && reflect.DeepEqual(was.Spec, c.Spec) {
		return
	}
	v.snap.UpsertCohort(convertCohort(c))
	v.refreshClusterQueues(func(*kueue.ClusterQueue) bool { return true })
	v.notifyCohortQuota(was, c)
	v.requestCycle()
}

func (v *View) deleteCohort(c *kueue.Cohort) {
	delete(v.cohorts, c.Name)
	v.snap.DeleteCohort(c.Name)
	v.refreshClusterQueues(func(*kueue.ClusterQueue) bool { return true })
	v.notifyCohortQuota(c, nil)
	v.requestCycle()
}

// setFlavor takes a ResourceFlavor in.
func (v *View) setFlavor(f *kueue.ResourceFlavor) {
	was := v.flavors[f.Name]
	v.flavors[f.Name] = f
	if was != nil && reflect.DeepEqual(was.Spec, f.Spec) {
		v.notifyFlavor(f.Name)
		return
	}
	v.snap.UpsertFlavor(convertFlavor(f))
	v.refreshClusterQueues(func(cq *kueue.ClusterQueue) bool { return usesFlavor(cq, f.Name) })
	v.notifyFlavor(f.Name)
	v.requestCycle()
}

func (v *View) deleteFlavor(f *kueue.ResourceFlavor) {
	delete(v.flavors, f.Name)
	v.snap.DeleteFlavor(f.Name)
	v.refreshClusterQueues(func(cq *kueue.ClusterQueue) bool { return usesFlavor(cq, f.Name) })
	v.requestCycle()
}

// setTopology asks for nothing but the name: no places are chosen for pods yet.
func (v *View) setTopology(t *kueue.Topology) {
	if v.topologies[t.Name] {
		return
	}
	v.topologies[t.Name] = true
	v.refreshClusterQueues(func(cq *kueue.ClusterQueue) bool { return v.usesTopology(cq, t.Name) })
}

func (v *View) deleteTopology(t *kueue.Topology) {
	delete(v.topologies, t.Name)
	v.refreshClusterQueues(func(cq *kueue.ClusterQueue) bool { return v.usesTopology(cq, t.Name) })
}

func (v *View) setCheck(ac *kueue.AdmissionCheck) {
	v.checks[ac.Name] = ac
	v.refreshClusterQueues(func(cq *kueue.ClusterQueue) bool { return usesCheck(cq, ac.Name) })
}

func (v *View) deleteCheck(ac *kueue.AdmissionCheck) {
	delete(v.checks, ac.Name)
	v.refreshClusterQueues(func(cq *kueue.ClusterQueue) bool { return usesCheck(cq, ac.Name) })
}

func (v *View) setNamespace(ns *corev1.Namespace) {
	was, known := v.namespaces[ns.Name]
	v.namespaces[ns.Name] = ns.Labels
	if !known || !reflect.DeepEqual(map[string]string(was), ns.Labels) {
		v.syncWorkloadsInNamespace(ns.Name)
	}
}

func (v *View) deleteNamespace(ns *corev1.Namespace) {
	delete(v.namespaces, ns.Name)
	v.syncWorkloadsInNamespace(ns.Name)
}
