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

func (v *View) setClusterQueue(cq *kueue.ClusterQueue) {
	was := v.queues[cq.Name]
	if was != nil && was.obj.DeletionTimestamp.Equal(cq.DeletionTimestamp) && reflect.DeepEqual(was.obj.Spec, cq.Spec) {
		was.obj = cq
		return
	}
	is := &clusterQueue{obj: cq}
	is.selector, is.broken = metav1.LabelSelectorAsSelector(cq.Spec.NamespaceSelector)
	v.queues[cq.Name] = is
	v.refreshQueue(is)
	if was == nil || !reflect.DeepEqual(was.obj.Spec.NamespaceSelector, cq.Spec.NamespaceSelector) {
		v.putAllIn(cq.Name)
	}
	v.changedUses(was, is)
	v.changedQuota(was, is)
	v.changedQueue(cq.Name, atOnce)
}

func (v *View) dropClusterQueue(cq *kueue.ClusterQueue) {
	was := v.queues[cq.Name]
	if was == nil {
		return
	}
	delete(v.queues, cq.Name)
	delete(v.unheard.heads, cq.Name)
	v.snap.DeleteQueue(cq.Name)
	v.refreshLocalsOf(cq.Name)
	v.putAllIn(cq.Name)
	v.changedUses(was, nil)
	v.changedQuota(was, nil)
	v.changedQueue(cq.Name, atOnce)
	v.signal()
}

func (v *View) setLocalQueue(lq *kueue.LocalQueue) {
	key := keyOf(lq.Namespace, lq.Name)
	was := v.locals[key]
	if was != nil && was.obj.UID == lq.UID && reflect.DeepEqual(was.obj.Spec, lq.Spec) {
		if !maps.Equal(was.obj.Labels, lq.Labels) { // which say whether it is measured
			v.changedLocal(key, gather)
		}
		was.obj = lq
		return
	}
	if was != nil && was.obj.UID != lq.UID {
		v.closeBooks(key)
	}
	v.unlinkLocal(key)
	is := &localQueue{obj: lq}
	v.locals[key] = is
	queue := string(lq.Spec.ClusterQueue)
	if v.byQueue[queue] == nil {
		v.byQueue[queue] = map[admission.Key]*localQueue{}
	}
	v.byQueue[queue][key] = is
	is.activity = v.localQueueActivity(lq)
	v.openBooks(key)
	v.putAllThrough(key)
	v.changedLocal(key, atOnce)
}

func (v *View) dropLocalQueue(lq *kueue.LocalQueue) {
	key := keyOf(lq.Namespace, lq.Name)
	v.unlinkLocal(key)
	delete(v.locals, key)
	v.closeBooks(key)
	v.putAllThrough(key)
	v.changedLocal(key, atOnce)
}

// unlinkLocal forgets which ClusterQueue the LocalQueue points to.
func (v *View) unlinkLocal(key admission.Key) {
	was := v.locals[key]
	if was == nil {
		return
	}
	queue := string(was.obj.Spec.ClusterQueue)
	delete(v.byQueue[queue], key)
	if len(v.byQueue[queue]) == 0 {
		delete(v.byQueue, queue)
	}
}

func (v *View) setCohort(c *kueue.Cohort) {
	was := v.cohorts[c.Name]
	v.cohorts[c.Name] = c
	if was != nil && reflect.DeepEqual(was.Spec, c.Spec) {
		return
	}
	v.snap.UpsertCohort(cohortOf(c))
	v.refreshQueues(func(*kueue.ClusterQueue) bool { return true })
	v.changedCohortQuota(was, c)
	v.signal()
}

func (v *View) dropCohort(c *kueue.Cohort) {
	delete(v.cohorts, c.Name)
	v.snap.DeleteCohort(c.Name)
	v.refreshQueues(func(*kueue.ClusterQueue) bool { return true })
	v.changedCohortQuota(c, nil)
	v.signal()
}

func (v *View) setFlavor(f *kueue.ResourceFlavor) {
	was := v.flavors[f.Name]
	v.flavors[f.Name] = f
	if was != nil && reflect.DeepEqual(was.Spec, f.Spec) {
		v.changedFlavor(f.Name)
		return
	}
	v.snap.UpsertFlavor(flavorOf(f))
	v.refreshQueues(func(cq *kueue.ClusterQueue) bool { return usesFlavor(cq, f.Name) })
	v.changedFlavor(f.Name)
	v.signal()
}

func (v *View) dropFlavor(f *kueue.ResourceFlavor) {
	delete(v.flavors, f.Name)
	v.snap.DeleteFlavor(f.Name)
	v.refreshQueues(func(cq *kueue.ClusterQueue) bool { return usesFlavor(cq, f.Name) })
	v.signal()
}

// setTopology asks for nothing but the name: no places are chosen for pods yet.
func (v *View) setTopology(t *kueue.Topology) {
	if v.topologies[t.Name] {
		return
	}
	v.topologies[t.Name] = true
	v.refreshQueues(func(cq *kueue.ClusterQueue) bool { return v.usesTopology(cq, t.Name) })
}

func (v *View) dropTopology(t *kueue.Topology) {
	delete(v.topologies, t.Name)
	v.refreshQueues(func(cq *kueue.ClusterQueue) bool { return v.usesTopology(cq, t.Name) })
}

func (v *View) setCheck(ac *kueue.AdmissionCheck) {
	v.checks[ac.Name] = ac
	v.refreshQueues(func(cq *kueue.ClusterQueue) bool { return usesCheck(cq, ac.Name) })
}

func (v *View) dropCheck(ac *kueue.AdmissionCheck) {
	delete(v.checks, ac.Name)
	v.refreshQueues(func(cq *kueue.ClusterQueue) bool { return usesCheck(cq, ac.Name) })
}

func (v *View) setNamespace(ns *corev1.Namespace) {
	was, known := v.namespaces[ns.Name]
	v.namespaces[ns.Name] = ns.Labels
	if !known || !reflect.DeepEqual(map[string]string(was), ns.Labels) {
		v.putAllInNamespace(ns.Name)
	}
}

func (v *View) dropNamespace(ns *corev1.Namespace) {
	delete(v.namespaces, ns.Name)
	v.putAllInNamespace(ns.Name)
}
