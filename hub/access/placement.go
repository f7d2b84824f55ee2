package access

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	accessapi "switchyard.dev/apis/access/v1alpha1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// allClusters is the name of the cluster in the path of a request that is for all of them.
const allClusters = accessapi.AllClusters

// placement tells from the hub's Workloads where jobs run. It reads the program's cache.
type placement struct {
	reader client.Reader
}

// clusters returns the workers that Workloads of the namespace are bound to, by name. A Workload that has finished stays bound.
// With an only that is not allClusters no other is returned.
func (p placement) clusters(ctx context.Context, namespace, only string) ([]string, error) {
	list := &kueue.WorkloadList{}
	if err := p.reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the workloads of namespace %s: %w", namespace, err)
	}
	found := map[string]bool{}
	var names []string
	for i := range list.Items {
		name := ptr.Deref(list.Items[i].Status.ClusterName, "")
		if name != "" && !found[name] && (only == allClusters || only == name) {
			found[name] = true
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// boundWorkloads returns the Workloads of a job that are bound to a cluster. They must not be changed.
func (p placement) boundWorkloads(ctx context.Context, namespace string, kind schema.GroupVersionKind, job, cluster string) ([]kueue.Workload, error) {
	owner := hubworkload.Owner{GVK: kind, Name: job}
	list := &kueue.WorkloadList{}
	err := p.reader.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{hubworkload.ByOwner: owner.IndexValue()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the workloads of %s %s: %w", kind.Kind, job, err)
	}
	return slices.DeleteFunc(list.Items, func(wl kueue.Workload) bool { return !isBoundTo(&wl, cluster) }), nil
}

// bound returns a Workload if it is bound to a cluster, else nil. It must not be changed.
func (p placement) bound(ctx context.Context, key client.ObjectKey, cluster string) (*kueue.Workload, error) {
	wl := &kueue.Workload{}
	if err := p.reader.Get(ctx, key, wl); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !isBoundTo(wl, cluster) {
		return nil, nil
	}
	return wl, nil
}

func isBoundTo(wl *kueue.Workload, cluster string) bool {
	return ptr.Deref(wl.Status.ClusterName, "") == cluster
}
