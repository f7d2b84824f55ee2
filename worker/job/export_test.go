package job

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// RequestsForWorkload returns what the kind's reconciler looks at when a Workload changes.
func RequestsForWorkload[T client.Object](kind Kind[T], c client.Client, wl *kueue.Workload) []ctrl.Request {
	return newReconciler(kind, Options{}, c, c).watches.requestsForWorkload(context.Background(), wl)
}

// RequestsForClass returns what a reconciler of the kind looks at when a priority class comes.
func RequestsForClass[T client.Object](r reconcile.Reconciler, object client.Object) []ctrl.Request {
	return r.(*reconciler[T]).watches.requestsForClass(context.Background(), object)
}

// CheckMessageEvents returns the events about the job that a change of its Workload's checks brings.
func CheckMessageEvents(was, is *kueue.Workload) []kube.Event { return checkMessageEvents(was, is) }
