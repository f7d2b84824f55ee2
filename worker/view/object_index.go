package view

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// objectIndex has the objects that the informers showed last, but for Workloads, and what refers to what. Callers hold the view's mutex.
type objectIndex struct {
	opts          Options
	clusterQueues map[string]*clusterQueue
	localQueues   map[admission.Key]*localQueue
	// localQueuesByClusterQueue finds the LocalQueues of a ClusterQueue, which need not exist.
	localQueuesByClusterQueue map[string]map[admission.Key]*localQueue
	cohorts                   map[string]*kueue.Cohort
	flavors                   map[string]*kueue.ResourceFlavor
	checks                    map[string]*kueue.AdmissionCheck
	// topologies are the names of those that exist.
	topologies map[string]bool
	// namespaces are the labels of each namespace.
	namespaces map[string]labels.Set
}

func newObjectIndex(opts Options) *objectIndex {
	return &objectIndex{
		opts:                      opts,
		clusterQueues:             map[string]*clusterQueue{},
		localQueues:               map[admission.Key]*localQueue{},
		localQueuesByClusterQueue: map[string]map[admission.Key]*localQueue{},
		cohorts:                   map[string]*kueue.Cohort{},
		flavors:                   map[string]*kueue.ResourceFlavor{},
		checks:                    map[string]*kueue.AdmissionCheck{},
		topologies:                map[string]bool{},
		namespaces:                map[string]labels.Set{},
	}
}

func (x *objectIndex) usesTopology(cq *kueue.ClusterQueue, name string) bool {
	return slices.ContainsFunc(flavorNames(cq), func(flavor string) bool {
		f := x.flavors[flavor]
		return f != nil && string(f.Spec.TopologyName) == name
	})
}

// isLocalQueueStopped tells whether a LocalQueue is not there, going, or stopped. What came through it waits in no queue (contract:
// messages.md 5.8, 6.1).
func (x *objectIndex) isLocalQueueStopped(local admission.Key) bool {
	lq := x.localQueues[local]
	return lq == nil || lq.isStopped()
}

func (x *objectIndex) clusterQueueOf(local admission.Key) string {
	if lq := x.localQueues[local]; lq != nil {
		return string(lq.obj.Spec.ClusterQueue)
	}
	return ""
}

// rootCohort returns the last ancestor of a cohort, itself if it has no parent, and empty if the parents form a cycle.
func (x *objectIndex) rootCohort(cohort string) string {
	seen := map[string]bool{}
	for !seen[cohort] {
		seen[cohort] = true
		c := x.cohorts[cohort]
		if c == nil || c.Spec.ParentName == "" {
			return cohort
		}
		cohort = string(c.Spec.ParentName)
	}
	return ""
}

// localQueueInactiveMessage says why a LocalQueue lets nothing through, though its ClusterQueue may admit.
func (x *objectIndex) localQueueInactiveMessage(namespace string, lq *localQueue) string {
	if lq.activity.Reason == kueue.ReasonStopped || !lq.obj.DeletionTimestamp.IsZero() {
		return "it is stopped"
	}
	if b := x.namespaceBlock(namespace, lq); b != nil {
		return b.Message
	}
	return ""
}

// unindexLocalQueue forgets which ClusterQueue the LocalQueue points to.
func (x *objectIndex) unindexLocalQueue(key admission.Key) {
	was := x.localQueues[key]
	if was == nil {
		return
	}
	queue := string(was.obj.Spec.ClusterQueue)
	delete(x.localQueuesByClusterQueue[queue], key)
	if len(x.localQueuesByClusterQueue[queue]) == 0 {
		delete(x.localQueuesByClusterQueue, queue)
	}
}
