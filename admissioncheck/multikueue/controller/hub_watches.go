package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// hubWatch is a kind of object on the hub, with the Workloads that a change of it requeues and the changes that count.
// DESIGN.md lists what ends each wait of a Workload.
type hubWatch struct {
	object    client.Object
	mapFunc   handler.MapFunc
	predicate predicate.Predicate
}

// hubWatches are all but that of Workloads for themselves and those of jobs. Looked at once at the start, Workloads need no second look for what
// is there by then.
func (r *WorkloadReconciler) hubWatches() []hubWatch {
	spec := predicate.GenerationChangedPredicate{}
	return []hubWatch{
		{&kueue.MultiKueueConfig{}, r.index.requestsInDispatch, predicate.And(skipInitialList(), predicate.Or[client.Object](spec, checkconfig.AnnotationsChanged()))},
		{&kueue.AdmissionCheck{}, r.index.requestsInDispatch, predicate.And[client.Object](skipInitialList(), spec)},
		{&kueue.MultiKueueCluster{}, r.requestsForCluster, predicate.And(skipInitialList(), checkconfig.AnnotationsChanged())},
		{&kueue.Workload{}, r.index.requestsForSiblings, hubworkload.SiblingChanged()},
		{&kueue.Workload{}, r.requestsForShared, predicate.And(onlyDeletions(), hubworkload.SiblingChanged())},
		{&kueue.Workload{}, r.index.requestsForSlices, sliceChanged()},
		{&kueue.ClusterQueue{}, r.index.requestsForClusterQueue, predicate.And(skipInitialList(), checkconfig.AnnotationsChanged())},
	}
}

// jobHubWatch is the watch of the hub's jobs of a kind. A job that was resumed can take a status that it could not take
// before. A job that is being deleted no longer keeps its Workload. A job that no longer shows pods lets go of the binding.
// Late is a watch that begins when Workloads may have been reconciled without it.
func (r *WorkloadReconciler) jobHubWatch(kind job.Integration, late bool) hubWatch {
	return hubWatch{kind.New(), r.index.requestsForJob(kind), predicate.Or(jobEventPredicate(late), becameIdle(kind))}
}

// skipInitialList passes all but what is there when the program starts: all Workloads are looked at then anyway, each once.
func skipInitialList() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
}

// becameIdle passes updates by which a job ceases to show pods, those that are being terminated included. They come about by writes of
// our own, which nothing else tells of: a status has no generation.
func becameIdle(kind job.Integration) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return kind.Progress(e.ObjectOld).HoldsPods() && !kind.Progress(e.ObjectNew).HoldsPods()
		},
	}
}

// onlyDeletions passes only deletions.
func onlyDeletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// jobEventPredicate passes what jobWatch does and, if it begins late, all that is there.
func jobEventPredicate(late bool) predicate.Predicate {
	changes := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, onlyDeletions())
	if late {
		return changes
	}
	return predicate.And(skipInitialList(), changes)
}
