package controller

import (
	"context"
	"math"
	"strconv"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// siblings says what the other Workloads of the same owner mean for this one: an owner with several Workloads, which bear
// their indexes, has all of them on one cluster. The first chooses it, the others wait for that (contract: multikueue.md 4
// case 8). A sibling that has finished or is going has no say.
func (r *Resolver) siblings(ctx context.Context, wl *kueue.Workload, l *dispatch.Local) {
	own, ok := ownerOf(wl)
	index, component := componentIndex(wl)
	if !ok || !component {
		return
	}
	list := &kueue.WorkloadList{}
	err := r.Client.List(ctx, list, client.InNamespace(wl.Namespace), client.MatchingFields{byOwner: ownerKey(own)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of an owner")
		l.AwaitsSibling = true
		return
	}
	first := true
	for i := range list.Items {
		other := &list.Items[i]
		at, component := componentIndex(other)
		if other.Name == wl.Name || !component || workload.IsFinished(other) || !other.DeletionTimestamp.IsZero() {
			continue
		}
		if state := stateOf(other); state.Bound != "" && !state.Retreating() && (l.Pin == "" || state.Bound < l.Pin) {
			l.Pin = state.Bound
		}
		first = first && index < at
	}
	l.AwaitsSibling = l.Pin == "" && !first
}

// componentIndex is a Workload's place among those of its owner; false if its owner has only one.
func componentIndex(wl *kueue.Workload) (int, bool) {
	text, ok := wl.Annotations[kueue.ComponentWorkloadIndexAnnotation]
	if !ok {
		return 0, false
	}
	index, err := strconv.Atoi(text)
	if err != nil {
		return math.MaxInt, true
	}
	return index, true
}

// wakeSiblings makes the resolver look at the other Workloads of the same owner, once this one has a cluster.
func (r *Resolver) wakeSiblings(ctx context.Context, wl *kueue.Workload) {
	own, ok := ownerOf(wl)
	if _, component := componentIndex(wl); !ok || !component || ptr.Deref(wl.Status.ClusterName, "") == "" {
		return
	}
	for _, request := range r.requests(ctx, client.InNamespace(wl.Namespace), client.MatchingFields{byOwner: ownerKey(own)}) {
		if request.Name != wl.Name {
			r.Fleet.Workloads().Send(request.NamespacedName, 0)
		}
	}
}
