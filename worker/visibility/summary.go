package visibility

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	visibility "switchyard.dev/apis/visibility/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
)

// clusterQueueSummary is a page of the list of a ClusterQueue.
func clusterQueueSummary(v *view.View, l *list, o *visibility.PendingWorkloadOptions) *visibility.PendingWorkloadsSummary {
	begin, end := pageOf(l.Len(), o)
	return summarize(v, l, l.places(begin, end))
}

// localQueueSummary is a page of the workloads of a LocalQueue in the list of its ClusterQueue.
func localQueueSummary(v *view.View, l *list, local admission.Key, o *visibility.PendingWorkloadOptions) *visibility.PendingWorkloadsSummary {
	positions := l.positionsOf(local)
	begin, end := pageOf(len(positions), o)
	places := make([]place, 0, end-begin)
	for i := begin; i < end; i++ {
		places = append(places, place{positions[i], int32(i)})
	}
	return summarize(v, l, places)
}

// pageOf returns where a page of so many begins and ends.
func pageOf(n int, o *visibility.PendingWorkloadOptions) (begin, end int) {
	begin = int(min(o.Offset, int64(n)))
	return begin, begin + int(min(o.Limit, int64(n-begin)))
}

// summarize describes the workloads at these places. One that is gone since the list was made is left out.
func summarize(v *view.View, l *list, places []place) *visibility.PendingWorkloadsSummary {
	workloads := make([]*admission.Workload, len(places))
	for i, at := range places {
		workloads[i] = l.At(int(at.position))
	}
	objects := v.WorkloadObjects(workloads)
	s := &visibility.PendingWorkloadsSummary{Items: make([]visibility.PendingWorkload, 0, len(places))}
	for i, at := range places {
		if wl := objects[i]; wl != nil {
			s.Items = append(s.Items, visibility.PendingWorkload{
				ObjectMeta: metadataOf(wl), Priority: ptr.Deref(wl.Spec.Priority, 0), LocalQueueName: workloads[i].LocalQueue,
				PositionInClusterQueue: at.position, PositionInLocalQueue: at.inLocalQueue,
			})
		}
	}
	return s
}

// metadataOf is what an answer says of a workload's metadata (contract: kueue-api.md 1.17).
func metadataOf(wl *kueue.Workload) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: wl.Name, Namespace: wl.Namespace, CreationTimestamp: wl.CreationTimestamp}
	for i := range wl.OwnerReferences {
		o := &wl.OwnerReferences[i]
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID})
	}
	return m
}
