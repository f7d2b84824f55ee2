package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/capacity"
	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/legacy"
	"switchyard.dev/worker/view"
)

// fieldIndex is one index of the hub's cache.
type fieldIndex struct {
	object  client.Object
	name    string
	extract client.IndexerFunc
}

// fieldIndexes are the indexes of the hub's cache that this check needs.
func fieldIndexes() []fieldIndex {
	return []fieldIndex{
		{&kueue.Workload{}, hubworkload.ByCluster, kube.TypedIndexer(hubworkload.ClusterIndexValues)},
		{&kueue.Workload{}, hubworkload.ByOwner, kube.TypedIndexer(hubworkload.OwnerIndexValues)},
		{&kueue.ClusterQueue{}, runpolicy.Index, kube.TypedIndexer(runpolicy.IndexValues)},
		{&kueue.MultiKueueCluster{}, cluster.SecretIndex, kube.TypedIndexer(cluster.SecretIndexValues)},
		{&kueue.AdmissionCheck{}, checkconfig.ByConfig, kube.TypedIndexer(checkconfig.ConfigIndexValues)},
		{&kueue.MultiKueueConfig{}, checkconfig.ByCluster, kube.TypedIndexer(func(c *kueue.MultiKueueConfig) []string { return c.Spec.Clusters })},
	}
}

// AffectedWorkloads lists the Workloads that a change of a cluster's connection may matter to: those that look for a cluster,
// and the others that name this one. All of them are listed when the hub is, or was until now, cut off from most clusters.
// Workloads that only show an object on a lost cluster are among them: what an earlier owner of the name left there no longer
// collides, but is owed. Orphans are not: nothing can be done about them before the cluster is back.
func (r *WorkloadReconciler) AffectedWorkloads(cluster string) (seekers, others []types.NamespacedName) {
	named := cluster
	if r.links.updateCutOff().AffectsAll {
		named = hubworkload.InDispatchValue
	}
	seekers, others = r.index.listIndexed(hubworkload.UnplacedValue), r.index.listIndexed(named)
	if state, known := r.Fleet.State(cluster); known && !state.Connected {
		for _, left := range r.Fleet.List(cluster, workloadGVK()) {
			if key := client.ObjectKeyFromObject(left); r.orphans.OwnsWorkload(key) {
				others = append(others, key)
			}
		}
	}
	return seekers, others
}

// requestsForCluster lists the Workloads that a word about a cluster may matter to.
func (r *WorkloadReconciler) requestsForCluster(_ context.Context, cluster client.Object) []reconcile.Request {
	seekers, others := r.AffectedWorkloads(cluster.GetName())
	var requests []reconcile.Request
	for _, key := range slices.Concat(seekers, others) {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

// FleetKinds are what the fleet follows on every worker: Workloads, and every kind of job that can be mirrored. Changes of
// a job that only count pods may wait for others; its first sight, its first pods and its end may not.
// Sharing is set to the WorkloadReconciler once it exists.
func FleetKinds(integrations []job.Integration, sharing *JobNameLookup) []fleet.WatchedKind {
	slim := legacy.Transform(view.CompactTransform())
	list := []fleet.WatchedKind{{
		GVK: workloadGVK(), Required: true,
		New:         func() client.Object { return &kueue.Workload{} },
		NewList:     func() client.ObjectList { return &kueue.WorkloadList{} },
		WorkloadKey: func(obj client.Object) (types.NamespacedName, bool) { return client.ObjectKeyFromObject(obj), true },
		Strip: func(obj client.Object) {
			mirror.StripWorkload(obj)
			_, _ = slim(obj) // it has no errors
		},
	}}
	for _, kind := range integrations {
		list = append(list, jobFleetKind(kind, sharing))
	}
	return list
}

// jobFleetKind is what the fleet follows of a kind of job.
func jobFleetKind(kind job.Integration, sharing *JobNameLookup) fleet.WatchedKind {
	workloadKey := mirror.WorkloadKeyOfJob
	if shared, ok := kind.(job.Shared); ok {
		workloadKey = mirror.WorkloadKeyOfShared(shared)
	}
	return fleet.WatchedKind{
		GVK: kind.GVK(), New: kind.New, NewList: kind.NewList, Strip: kind.Strip,
		WorkloadKey:      workloadKey,
		RelatedWorkloads: func(obj client.Object) []types.NamespacedName { return sharing.listWorkloads(kind, obj) },
		IsUrgent: func(old, now client.Object) bool {
			if old == nil || now == nil {
				return true
			}
			was, is := kind.Progress(old), kind.Progress(now)
			return (was.Finished == nil) != (is.Finished == nil) || !was.Active && is.Active ||
				now.GetDeletionTimestamp().IsZero() != old.GetDeletionTimestamp().IsZero()
		},
	}
}

// CapacityKinds are the kinds that are followed besides to know a cluster's capacity: its own report, which is the first, or
// its queues where no program keeps a report. CapacityWatcher finds out which Workloads their changes concern.
func CapacityKinds() []fleet.WatchedKind {
	nobody := func(client.Object) (types.NamespacedName, bool) { return types.NamespacedName{}, false }
	kind := func(gvk schema.GroupVersionKind, one func() client.Object, list func() client.ObjectList) fleet.WatchedKind {
		return fleet.WatchedKind{GVK: gvk, AllOrigins: true, New: one, NewList: list, WorkloadKey: nobody}
	}
	report := kind(capacity.ReportGVK(), func() client.Object { return &switchyard.CapacityReport{} },
		func() client.ObjectList { return &switchyard.CapacityReportList{} })
	report.RenewalTimeout = 3 * switchyard.CapacityReportRenewal
	queues := kind(checkconfig.ClusterQueueGVK(), func() client.Object { return &kueue.ClusterQueue{} },
		func() client.ObjectList { return &kueue.ClusterQueueList{} })
	locals := kind(checkconfig.LocalQueueGVK(), func() client.Object { return &kueue.LocalQueue{} },
		func() client.ObjectList { return &kueue.LocalQueueList{} })
	queues.FallbackFor, locals.FallbackFor = report.GVK, report.GVK
	return []fleet.WatchedKind{report, queues, locals}
}

// JobNameLookup finds the Workloads of the hub that share the name of a job: a worker may still have the job of one that was
// deleted while the hub has made another under its name.
type JobNameLookup struct{ Reconciler *WorkloadReconciler }

// listWorkloads are the Workloads that the hub's job of that name may belong to, by the cache.
func (s *JobNameLookup) listWorkloads(kind job.Integration, obj client.Object) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, request := range s.Reconciler.index.requestsForJob(kind)(context.Background(), obj) {
		keys = append(keys, request.NamespacedName)
	}
	return keys
}
