package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// writeCache remembers the Workloads as they were written last, until the cache has caught up with them: two Workloads must not
// both be promised the same thing because the first promise is still on its way. No cache is waited for longer than kube.MaxCacheLag.
type writeCache struct {
	mu     sync.Mutex
	writes map[client.ObjectKey]cachedWrite
}

// cachedWrite is a Workload as the server returned it, and when.
type cachedWrite struct {
	*kueue.Workload
	at time.Time
}

// record remembers a Workload as the server returned it.
func (r *writeCache) record(wl *kueue.Workload, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writes == nil {
		r.writes = map[client.ObjectKey]cachedWrite{}
	}
	r.writes[client.ObjectKeyFromObject(wl)] = cachedWrite{wl, now}
}

func (r *writeCache) forget(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.writes, key)
}

// isNewerThan tells whether our last write is newer than what the cache has, and forgets it if not. Versions that cannot be
// compared count as equal.
func (r *writeCache) isNewerThan(cached *kueue.Workload, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(cached)
	last, known := r.writes[key]
	if !known {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, last.ResourceVersion)
	if err == nil && order < 0 && cached.UID == last.UID && now.Sub(last.at) <= kube.MaxCacheLag {
		return true
	}
	delete(r.writes, key)
	return false
}

// listNamespace lists what was written in a namespace and may be newer than the cache.
func (r *writeCache) listNamespace(namespace string) []*kueue.Workload {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*kueue.Workload
	for key, last := range r.writes {
		if key.Namespace == namespace {
			list = append(list, last.Workload)
		}
	}
	return list
}

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
	for _, last := range r.recentWrites.listNamespace(namespace) {
		cached := &kueue.Workload{}
		switch err := r.Client.Get(ctx, client.ObjectKeyFromObject(last), cached); {
		case apierrors.IsNotFound(err):
			r.recentWrites.forget(client.ObjectKeyFromObject(last)) // it was in the cache before we wrote it, so it is gone
		case err != nil:
			return fmt.Errorf("read workload %s/%s: %w", last.Namespace, last.Name, err)
		case r.recentWrites.isNewerThan(cached, r.Clock.Now()) && isReady(last, checks):
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
