package view

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// ClusterQueueStatus is a ClusterQueue's activity and figures.
type ClusterQueueStatus struct {
	Activity
	admission.QueueStatus
	// Pending is how many workloads wait, without those that came through a LocalQueue that is closed (contract: messages.md
	// 5.8).
	Pending int
}

// ClusterQueueQuota is what a ClusterQueue has been given.
type ClusterQueueQuota struct {
	// Cohort is the parent and Root the last of its ancestors; empty without a cohort. In a cycle there is no root.
	Cohort, Root string
	// Grants are in the order of the spec.
	Grants []quota.Grant
}

// Parent is the cohort unless its parents form a cycle.
func (q ClusterQueueQuota) Parent() string {
	if q.Root == "" {
		return ""
	}
	return q.Cohort
}

// LocalQueueStatus is a LocalQueue's activity and figures.
type LocalQueueStatus struct {
	Activity
	admission.LocalQueueStatus
	// Stopped is whether its stop policy is another than None.
	Stopped bool
}

// OnConditionChange has the function called for every workload of which a condition is seen to change from now on, by any
// writer, with its state before and after. It must not block; it may read the view.
func (v *View) OnConditionChange(call func(was, is *kueue.Workload)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.onConditionChange = call
}

// CohortPath leads from the root of the cohorts to a ClusterQueue: /<root>/.../<ClusterQueue>.
func (r *Reports) CohortPath(queue string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	cohorts := r.snap.AncestorCohorts(queue)
	slices.Reverse(cohorts)
	return "/" + strings.Join(append(cohorts, queue), "/")
}

// PriorityBoostEnabled tells whether boosts of priorities count.
func (r *Reports) PriorityBoostEnabled() bool { return r.opts.PriorityBoost }

// ClusterQueueStatus returns how the queue stands, assumed reservations included; false when it is not known.
func (r *Reports) ClusterQueueStatus(name string) (ClusterQueueStatus, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cq := r.objects.clusterQueues[name]
	if cq == nil {
		return ClusterQueueStatus{}, false
	}
	standing := ClusterQueueStatus{Activity: cq.activity, QueueStatus: r.snap.QueueStatus(name)}
	standing.Pending = standing.QueueStatus.Active + standing.Inadmissible - r.countPendingInStopped(name)
	return standing, true
}

// Quota returns what the ClusterQueue has been given; false when it is not known.
func (r *Reports) Quota(name string) (ClusterQueueQuota, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, known := r.snap.ClusterQueue(name)
	if !known {
		return ClusterQueueQuota{}, false
	}
	return ClusterQueueQuota{Cohort: q.Cohort, Root: r.objects.rootCohort(q.Cohort), Grants: admission.Grants(q.Groups)}, true
}

// LocalQueueStatus returns how the queue stands; false when it is not known. A stopped queue reports no pending workloads
// (contract: kueue-api.md 1.18), and one whose ClusterQueue does not exist only those (contract: messages.md 5.8).
func (r *Reports) LocalQueueStatus(name types.NamespacedName) (LocalQueueStatus, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := keyOf(name.Namespace, name.Name)
	lq := r.objects.localQueues[key]
	if lq == nil {
		return LocalQueueStatus{}, false
	}
	standing := LocalQueueStatus{
		Activity:         lq.activity,
		LocalQueueStatus: r.snap.LocalQueueStatus(key, string(lq.obj.Spec.ClusterQueue)),
	}
	if standing.Stopped = lq.obj.Spec.StopPolicy.Stops(); standing.Stopped {
		standing.Pending = 0
	}
	if r.objects.clusterQueues[string(lq.obj.Spec.ClusterQueue)] == nil {
		standing.Reserving, standing.Admitted, standing.Reserved, standing.Used = 0, 0, nil, nil
	}
	return standing, true
}

// ClusterQueueNames lists the known ClusterQueues, sorted.
func (r *Reports) ClusterQueueNames() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.objects.clusterQueues))
	for name := range r.objects.clusterQueues {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// LocalQueueNames lists the known LocalQueues, sorted.
func (r *Reports) LocalQueueNames() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := make([]admission.Key, 0, len(r.objects.localQueues))
	for key := range r.objects.localQueues {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, admission.Key.Compare)
	names := make([]types.NamespacedName, 0, len(keys))
	for _, key := range keys {
		names = append(names, types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	}
	return names
}

// ClusterQueuesWithFlavor lists the ClusterQueues that name the ResourceFlavor, sorted.
func (r *Reports) ClusterQueuesWithFlavor(flavor string) []string {
	return r.listClusterQueues(func(cq *kueue.ClusterQueue) bool { return usesFlavor(cq, flavor) })
}

// listClusterQueues lists the ClusterQueues that a condition holds for, sorted.
func (r *Reports) listClusterQueues(uses func(*kueue.ClusterQueue) bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, cq := range r.objects.clusterQueues {
		if uses(cq.obj) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ChecksForFlavors lists the admission checks that apply to a workload that got these flavors in the ClusterQueue, sorted; false
// when the ClusterQueue is not known (contract: kueue-api.md 4.13).
func (r *Reports) ChecksForFlavors(queue string, assigned []string) ([]string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, known := r.snap.ClusterQueue(queue)
	if !known {
		return nil, false
	}
	var a admission.Assignment
	for _, flavor := range assigned {
		a.Usage = append(a.Usage, quota.Use{FlavorResource: quota.FlavorResource{Flavor: flavor}})
	}
	return q.AdmissionChecksFor(a), true
}

// ChecksWhilePending lists the admission checks that a workload has while it waits in the ClusterQueue, sorted; false when the
// ClusterQueue is not known (contract: messages.md 5.2).
func (r *Reports) ChecksWhilePending(queue string) ([]string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, known := r.snap.ClusterQueue(queue)
	if !known {
		return nil, false
	}
	return q.UnconditionalAdmissionChecks(), true
}

// LocalQueueLabels returns the labels of a LocalQueue; false when it is not known. They must not be changed.
func (r *Reports) LocalQueueLabels(name types.NamespacedName) (labels.Set, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lq := r.objects.localQueues[keyOf(name.Namespace, name.Name)]
	if lq == nil {
		return nil, false
	}
	return lq.obj.Labels, true
}
