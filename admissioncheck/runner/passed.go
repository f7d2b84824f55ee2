package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// listPassed lists the other Workloads of the namespace that hold quota and that a check of this controller has let pass, by
// name.
func (r *WorkloadReconciler[O]) listPassed(ctx context.Context, of *kueue.Workload) ([]*kueue.Workload, error) {
	byName := map[string]*kueue.Workload{}
	list := &kueue.WorkloadList{}
	checks, err := listCheckNames(ctx, r.Client, r.Resolver.Controller)
	if err != nil {
		return nil, err
	}
	for _, check := range checks {
		err := r.Client.List(ctx, list, client.InNamespace(of.Namespace), client.UnsafeDisableDeepCopy,
			client.MatchingFields{indexName(r.Resolver.Controller): indexValue(check, kueue.CheckStateReady)})
		if err != nil {
			return nil, fmt.Errorf("list the workloads that AdmissionCheck %s has let pass: %w", check, err)
		}
		for i := range list.Items {
			byName[list.Items[i].Name] = &list.Items[i]
		}
		list = &kueue.WorkloadList{}
	}
	if err := r.mergeRecentWrites(ctx, of.Namespace, checks, byName); err != nil {
		return nil, err
	}
	delete(byName, of.Name)
	return slices.SortedFunc(maps.Values(byName), func(a, b *kueue.Workload) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// mergeRecentWrites puts what was written last in place of what the cache still shows.
func (r *WorkloadReconciler[O]) mergeRecentWrites(ctx context.Context, namespace string, checks []string, byName map[string]*kueue.Workload) error {
	for _, last := range r.recentWrites.Values() {
		if last.Namespace != namespace {
			continue
		}
		cached := &kueue.Workload{}
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(last), cached)
		switch {
		case apierrors.IsNotFound(err), err == nil && cached.UID != last.UID:
			r.recentWrites.Forget(last.UID) // it was in the cache before we wrote it, so it is gone
		case err != nil:
			return fmt.Errorf("read workload %s/%s: %w", last.Namespace, last.Name, err)
		case r.recentWrites.IsNewerThan(cached, r.Clock.Now()) && isReady(last, checks):
			byName[last.Name] = last
		}
	}
	return nil
}

// isReady tells whether one of the checks has let the Workload pass.
func isReady(wl *kueue.Workload, checks []string) bool {
	return slices.ContainsFunc(stateIndexValues(wl), func(value string) bool {
		return slices.ContainsFunc(checks, func(check string) bool { return value == indexValue(check, kueue.CheckStateReady) })
	})
}
