package logtail

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/hub/logtail/kept"
	"switchyard.dev/worker/kube"
)

const (
	// perJob and perContainer are how long a job, and a container of it, may take.
	perJob, perContainer = 30 * time.Second, 10 * time.Second
	// fullDelay is how long to wait where a cluster has too many jobs that have failed.
	fullDelay = 5 * time.Second
	// maxSweep is how long it may take until a tail that is too old goes.
	maxSweep = 5 * time.Minute
	// listPage is how many tails are listed at a time, maxPages how many pages are, maxDeletes how many tails one sweep deletes.
	listPage, maxPages, maxDeletes = 500, 20, 1000
)

// Config is what a Keeper needs.
type Config struct {
	// Client reads Workloads and MultiKueueClusters from the cache, and writes ConfigMaps. Live lists ConfigMaps.
	Client client.Client
	Live   client.Reader
	// Workers reads pods and logs; see access.NewPods.
	Workers workers
	// Retention is how long the pods of a job are there after it has failed.
	Retention time.Duration
	// MaxJobs and MaxAge are how many tails are kept, and for how long.
	MaxJobs int
	MaxAge  time.Duration
	Log     logr.Logger
	Clock   clock.WithTicker
}

// Keeper keeps how the logs of failed jobs end. It is a reconciler of Workloads, and runs on the leader only.
type Keeper struct {
	client        client.Client
	live          client.Reader
	fetcher       fetcher
	retention     time.Duration
	log           logr.Logger
	clock         clock.WithTicker
	tailIndex     *tailIndex
	clusterQueues *clusterQueues
	// listed is closed when it is known which tails are kept already.
	listed     chan struct{}
	listedOnce sync.Once

	mu sync.Mutex
	// settled are Workloads of which nothing more is to be fetched, with the time at which their pods go anyway.
	settled map[types.UID]time.Time
}

// New returns the Keeper of a hub.
func New(c Config) *Keeper {
	k := &Keeper{
		client: c.Client, live: c.Live, fetcher: fetcher{workers: c.Workers, perJob: perJob, perContainer: perContainer}, retention: c.Retention,
		log: c.Log, clock: c.Clock, tailIndex: newTailIndex(c.MaxJobs, c.MaxAge), settled: map[types.UID]time.Time{}, listed: make(chan struct{}),
	}
	k.clusterQueues = newClusterQueues(c.Clock, func(ctx context.Context, key client.ObjectKey) error {
		err := k.keep(ctx, key)
		if err != nil {
			k.log.Info("The logs of a failed job could not be kept", "workload", key, "reason", err.Error())
		}
		return err
	})
	return k
}

// failedAt is when a Workload has failed on a cluster; zero if it has not.
func failedAt(wl *kueue.Workload) time.Time {
	c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != string(kueue.ReasonFailed) || ptr.Deref(wl.Status.ClusterName, "") == "" {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// keyOf is the ConfigMap of a Workload.
func keyOf(wl *kueue.Workload) client.ObjectKey {
	return client.ObjectKey{Namespace: wl.Namespace, Name: kept.Name(wl.Name, wl.UID)}
}

// isWanted reports whether the tail of a Workload is to be fetched now.
func (k *Keeper) isWanted(wl *kueue.Workload, now time.Time) bool {
	at := failedAt(wl)
	if at.IsZero() || !now.Before(at.Add(k.retention)) {
		return false
	}
	k.mu.Lock()
	_, settled := k.settled[wl.UID]
	k.mu.Unlock()
	key := keyOf(wl)
	return !settled && !k.tailIndex.has(key) && k.tailIndex.isWorthKeeping(key, at, now)
}

// Reconcile hands a Workload that has failed to the queue of its cluster. It asks no worker.
func (k *Keeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	select {
	case <-k.listed:
	default:
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	wl := &kueue.Workload{}
	if err := k.client.Get(ctx, req.NamespacedName, wl, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !k.isWanted(wl, k.clock.Now()) {
		return ctrl.Result{}, nil
	}
	cluster := *wl.Status.ClusterName
	if err := k.client.Get(ctx, client.ObjectKey{Name: cluster}, &kueue.MultiKueueCluster{}); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !k.clusterQueues.add(cluster, req.NamespacedName) {
		return ctrl.Result{RequeueAfter: fullDelay}, nil
	}
	return ctrl.Result{}, nil
}

// keep fetches and keeps the tail of a Workload. An error is worth another attempt.
func (k *Keeper) keep(ctx context.Context, key client.ObjectKey) error {
	wl := &kueue.Workload{}
	if err := k.client.Get(ctx, key, wl, client.UnsafeDisableDeepCopy); err != nil {
		return client.IgnoreNotFound(err)
	}
	now := k.clock.Now()
	if !k.isWanted(wl, now) {
		return nil
	}
	at := failedAt(wl)
	tail, err := k.fetcher.fetch(ctx, wl, at)
	switch {
	case apierrors.IsForbidden(err): // the hub has no account there
		k.log.Info("Not keeping the logs of a failed job", "workload", key, "reason", err.Error())
	case err != nil:
		return err
	case tail != nil:
		if err := k.store(ctx, tail); err != nil {
			return err
		}
	}
	k.settle(wl.UID, at.Add(k.retention), now)
	return nil
}

// store writes a tail, and makes room for it.
func (k *Keeper) store(ctx context.Context, tail *kept.Tail) error {
	cm, err := tail.ConfigMap()
	if err != nil {
		return err
	}
	err = k.client.Create(ctx, cm)
	switch {
	case apierrors.IsAlreadyExists(err): // of a leader before this one
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case err != nil:
		return fmt.Errorf("keep the logs of %s: %w", tail.Job, err)
	}
	// The next list has the API server's time.
	k.tailIndex.put(client.ObjectKeyFromObject(cm), k.clock.Now())
	k.deleteOverdue(ctx)
	return nil
}

func (k *Keeper) settle(uid types.UID, until, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.settled[uid] = until
	if len(k.settled)%100 != 0 {
		return
	}
	for uid, until := range k.settled {
		if now.After(until) {
			delete(k.settled, uid)
		}
	}
}

// Start implements manager.Runnable: it lists what is kept, removes what is too much or too old, and again from time to time.
func (k *Keeper) Start(ctx context.Context) error {
	k.sweep(ctx)
	kube.RunPeriodically(ctx, k.clock, min(maxSweep, k.tailIndex.maxAge), func() { k.sweep(ctx) })
	k.clusterQueues.stop()
	return nil
}

func (k *Keeper) sweep(ctx context.Context) {
	if err := k.list(ctx); err != nil {
		k.log.Error(err, "Listing the kept logs of failed jobs")
	}
	k.listedOnce.Do(func() { close(k.listed) })
	k.deleteOverdue(ctx)
}

// list learns from the API server which tails there are, by their metadata.
func (k *Keeper) list(ctx context.Context) error {
	k.tailIndex.beginList()
	tails := map[client.ObjectKey]time.Time{}
	list := &metav1.PartialObjectMetadataList{}
	for range maxPages {
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		err := k.live.List(ctx, list, client.HasLabels{switchyard.LogTailLabel}, client.Limit(listPage), client.Continue(list.Continue))
		if err != nil {
			return fmt.Errorf("list ConfigMaps: %w", err)
		}
		for i := range list.Items {
			if obj := &list.Items[i]; kept.IsOurs(&obj.ObjectMeta) {
				tails[client.ObjectKeyFromObject(obj)] = obj.CreationTimestamp.Time
			}
		}
		if list.Continue == "" {
			break
		}
	}
	k.tailIndex.endList(tails)
	return nil
}

// deleteOverdue deletes the tails that have to go.
func (k *Keeper) deleteOverdue(ctx context.Context) {
	overdue := k.tailIndex.overdue(k.clock.Now())
	for _, key := range overdue[:min(len(overdue), maxDeletes)] {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := client.IgnoreNotFound(k.client.Delete(ctx, cm)); err != nil {
			k.log.Error(err, "Removing kept logs", "configMap", key)
			return // the next sweep tries again
		}
		k.tailIndex.remove(key)
	}
}
