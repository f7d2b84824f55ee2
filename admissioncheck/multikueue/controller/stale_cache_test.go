package controller

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/workload"
)

// staleWorkloadCache is a cache whose watch on Workloads has stopped.
type staleWorkloadCache struct {
	client.Client
	shows atomic.Pointer[kueue.Workload] // nil: it has caught up
}

func (b *staleWorkloadCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	if wl, ok := obj.(*kueue.Workload); ok {
		if old := b.shows.Load(); old != nil {
			old.DeepCopyInto(wl)
			return nil
		}
	}
	return b.Client.Get(ctx, key, obj, o...)
}

// restartWithStaleCache replaces the hub's program by one whose cache still shows an old Workload.
func (st *testEnv) restartWithStaleCache(old *kueue.Workload) *staleWorkloadCache {
	st.t.Helper()
	cache := &staleWorkloadCache{Client: st.hub}
	cache.shows.Store(old)
	st.cache = cache
	st.restart(st.policy)
	st.waitConnected()
	st.queue.Add(reconcile.Request{NamespacedName: workloadKey()})
	return cache
}

// refreshCache lets the cache show the Workload as it is.
func (st *testEnv) refreshCache(cache *staleWorkloadCache) {
	cache.shows.Store(nil)
	st.queue.Add(reconcile.Request{NamespacedName: workloadKey()})
}

// waitDeclined waits until a removal or an offer on a worker was given up.
func (st *testEnv) waitDeclined(worker string) {
	st.t.Helper()
	st.eventually("what was to be done on "+worker+" is given up", func() bool {
		for _, answer := range st.fleet.ActionResults(worker, workloadKey()) {
			if apierrors.IsConflict(answer.Err) && strings.Contains(answer.Err.Error(), errStaleDecision.Error()) {
				return true
			}
		}
		return false
	})
}

func TestAHubThatTakesOverWithAnOldCacheLeavesARunningJobAlone(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.enqueue()
	queued := st.hubWorkload()
	st.reserveQuota()
	st.runOn("w1")
	before := st.jobOn("w1")

	cache := st.restartWithStaleCache(queued)
	st.waitDeclined("w1")
	if j := st.jobOn("w1"); j == nil || j.UID != before.UID || !j.DeletionTimestamp.IsZero() || st.copyOn("w1") == nil {
		t.Fatalf("the job of a Workload that only the cache shows without quota is gone: %v", j)
	}

	st.refreshCache(cache)
	completeJobOn(st, "w1")
	st.eventually("finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
}

func TestAHubThatTakesOverWithTheBindingBeforeLastLeavesTheLastAlone(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.runOn("w1")
	old := st.hubWorkload()
	st.setConditionOn("w1", kueue.WorkloadEvicted, "Preempted", "preempted there")
	st.eventually("check Retry", func() bool { return st.checkState().State == kueue.CheckStateRetry })
	st.evictAndRelease("AdmissionCheck")
	st.eventually("w1 clean", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
	st.reserveQuota()
	st.runOn("w2")
	st.eventually("w1 has lost its offer", func() bool { return st.copyOn("w1") == nil })
	before := st.jobOn("w2")

	cache := st.restartWithStaleCache(old)
	st.eventually("it looks for the job on w1", func() bool {
		return len(st.fleet.ActionResults("w1", workloadKey())) > 0 || ptr.Deref(st.hubWorkload().Status.ClusterName, "") != "w2"
	})
	if j := st.jobOn("w2"); j == nil || j.UID != before.UID || st.copyOn("w2") == nil {
		t.Fatalf("the job of the present binding is gone: %v", j)
	}

	st.refreshCache(cache)
	completeJobOn(st, "w2")
	st.eventually("finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
}

func TestAHubThatTakesOverWithAnOldCacheOffersNothingAnew(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.waitOffered("w1", "w2")
	nominated := st.hubWorkload()
	st.runOn("w1")
	st.eventually("w2 has lost its offer", func() bool { return st.copyOn("w2") == nil })
	st.stop()
	for _, obj := range []client.Object{st.jobOn("w1"), st.copyOn("w1")} { // it has run, and its time to live is over
		if err := st.workers["w1"].WithWatch.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}

	cache := st.restartWithStaleCache(nominated)
	st.waitDeclined("w1")
	st.waitDeclined("w2")

	st.refreshCache(cache)
	st.eventually("nobody knows how it ended", func() bool { return strings.Contains(st.checkState().Message, "Result unknown") })
	if st.copyOn("w1") != nil || st.copyOn("w2") != nil {
		t.Error("what has run is offered again")
	}
}

func TestAHubThatTakesOverMakesTheOffersThatAreMissing(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.workers["w2"].setCreateError(errors.New("no"))
	st.submit()
	st.waitOffered("w1")
	st.restart(st.policy)
	st.workers["w2"].setCreateError(nil)
	st.waitConnected()
	st.waitOffered("w1", "w2")
	if st.apiReader.count.Load() == 0 {
		t.Error("nobody has asked whether they are still wanted")
	}
}

func TestAJobThatIsDispatchedAndEndsCostsNoReadOfTheHubsAPIServer(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.waitOffered("w1", "w2")
	st.runOn("w1")
	completeJobOn(st, "w1")
	st.eventually("nothing left", func() bool {
		return st.copyOn("w1") == nil && st.jobOn("w1") == nil && st.copyOn("w2") == nil
	})
	if got := st.apiReader.count.Load(); got != 0 {
		t.Errorf("%d reads", got)
	}
}

func TestWhatIsAskedBeforeAJobIsRemoved(t *testing.T) {
	made := func(uid string) mirror.Found {
		return mirror.Found{Workload: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{switchyard.OwnerUIDAnnotation: uid}}}}
	}
	cached := &kueue.Workload{}
	cached.Namespace, cached.Name, cached.UID, cached.ResourceVersion = "team", "job-train", "u", "7"
	for _, c := range []struct {
		name          string
		seen          mirror.Found
		finished      bool
		gone, deleted bool
		live          *kueue.Workload
		asks, sure    bool
	}{
		{name: "what has finished is removed unasked", seen: made("u"), finished: true, sure: true},
		{name: "but not what may be another's", seen: made("v"), finished: true, live: withVersion(cached, "v", "9"), asks: true},
		{name: "whoever is gone was asked for already", seen: made("u"), gone: true, sure: true},
		{name: "the hub has it as the cache does", seen: made("u"), live: withVersion(cached, "u", "7"), asks: true, sure: true},
		{name: "the hub has another version", seen: made("u"), live: withVersion(cached, "u", "8"), asks: true},
		{name: "the hub has none", seen: made("u"), asks: true, sure: true},
		{name: "it goes, whatever its version", seen: made("u"), deleted: true, live: withVersion(cached, "u", "8"), asks: true, sure: true},
		{name: "it went, and another has come", seen: made("u"), deleted: true, live: withVersion(cached, "v", "9"), asks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			builder := newBuilder(t, testScheme(t))
			if c.live != nil {
				builder = builder.WithObjects(c.live)
			}
			live := &countingReader{Reader: builder.Build()}
			g := &staleGuard{live: live}
			s := &workloadScope{original: mirror.Original{Origin: origin, Workload: cached, Deleted: c.gone}}
			s.observed.Local.Finished, s.observed.Local.Deleted = c.finished, c.deleted
			var err error
			if ask := g.newRemovalGuard(s, c.seen); ask != nil {
				err = ask(t.Context())
			}
			if (err == nil) != c.sure || (live.count.Load() > 0) != c.asks {
				t.Errorf("error %v after %d reads", err, live.count.Load())
			}
			if err != nil && !apierrors.IsConflict(err) {
				t.Errorf("%v would be taken for a failure of the worker", err)
			}
		})
	}
}

func withVersion(wl *kueue.Workload, uid, version string) *kueue.Workload {
	next := wl.DeepCopy()
	next.UID, next.ResourceVersion = types.UID(uid), version
	return next
}
