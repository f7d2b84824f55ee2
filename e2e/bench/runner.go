package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

const (
	// creators and finishers bound the runner's requests that are under way, below what the API server takes at a time.
	creators  = 100
	finishers = 50
)

// benchRunner plays all parts but the controller's: it creates Workloads on schedule, finishes them when their time is over,
// and gives back their quota when they are evicted.
type benchRunner struct {
	client client.Client
	load   load
	book   *workloadLog
	// ending bounds the runs that are being ended.
	ending chan struct{}
	// settling are the Workloads whose quota is being given back.
	settling sync.WaitGroup
	fail     context.CancelCauseFunc
}

// runBenchmark runs the whole load and returns the time from its begin to the last end seen.
func runBenchmark(ctx context.Context, config *rest.Config, l load, b *workloadLog) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	scheme, err := schemeWith(l.kinds())
	if err != nil {
		return 0, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return 0, fmt.Errorf("client of the runner: %w", err)
	}
	r := &benchRunner{client: c, load: l, book: b, ending: make(chan struct{}, finishers), fail: cancel}
	if err := r.watchWorkloads(ctx, config); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := r.create(ctx); err != nil {
		return 0, errors.Join(err, context.Cause(ctx))
	}
	return r.waitFinished(ctx, began)
}

// waitFinished returns when all Workloads have finished, or nothing has moved for too long.
func (r *benchRunner) waitFinished(ctx context.Context, began time.Time) (time.Duration, error) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-r.book.done:
			return r.book.last.Sub(began), nil
		case <-ctx.Done():
			return 0, fmt.Errorf("%s: %w", r.book.unfinished(), context.Cause(ctx))
		case now := <-look.C:
			if r.book.isStuck(now) {
				return 0, fmt.Errorf("nothing was admitted, evicted or finished for %s: %s", idleAfter, r.book.unfinished())
			}
		}
	}
}

// watchWorkloads hands every version of a Workload that an informer sees to the book.
func (r *benchRunner) watchWorkloads(ctx context.Context, config *rest.Config) error {
	seen, err := cache.New(config, cache.Options{Scheme: installation.Scheme(), DefaultTransform: bare})
	if err != nil {
		return fmt.Errorf("watch Workloads: %w", err)
	}
	informer, err := seen.GetInformer(ctx, &kueue.Workload{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Workloads: %w", err)
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.recordWorkload(ctx, o) },
		UpdateFunc: func(_, o any) { r.recordWorkload(ctx, o) },
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watch Workloads: %w", err)
	}
	go func() {
		if err := seen.Start(ctx); err != nil {
			r.fail(err)
		}
	}()
	if !seen.WaitForCacheSync(ctx) {
		return context.Cause(ctx)
	}
	return nil
}

// bare drops what the runner does not look at.
func bare(object any) (any, error) {
	if wl, ok := object.(*kueue.Workload); ok {
		wl.ManagedFields, wl.Spec = nil, kueue.WorkloadSpec{}
	}
	return object, nil
}

// recordWorkload starts a timer for every run that begins.
func (r *benchRunner) recordWorkload(ctx context.Context, object any) {
	wl, ok := object.(*kueue.Workload)
	if !ok {
		return
	}
	name := submittedName(wl)
	run, class := r.book.recordUpdate(name, wl, time.Now())
	if hasDebt(wl) && !r.load.isMixed() {
		r.settling.Go(func() { r.withinTime(ctx, func() error { return r.releaseQuota(ctx, wl) }) })
	}
	if run == 0 {
		return
	}
	end := func() error { return r.finish(ctx, name, run) }
	if kind := r.load.classes[class].kind; kind != nil {
		end = func() error { return kind.run(ctx, r.client, name) }
	}
	time.AfterFunc(r.load.classes[class].run, func() { r.withinTime(ctx, end) })
}

// withinTime makes a request when there is a place for it. One that fails ends the benchmark.
func (r *benchRunner) withinTime(ctx context.Context, request func() error) {
	r.ending <- struct{}{}
	defer func() { <-r.ending }()
	if err := request(); err != nil && ctx.Err() == nil {
		r.fail(err)
	}
}

// create creates all Workloads, each class of each queue in a row of its own: one after the other, at its interval or as
// fast as the API server takes them.
func (r *benchRunner) create(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	places := make(chan struct{}, creators)
	for cohort := range r.load.cohorts {
		for queue := range r.load.queues {
			for i := range r.load.classes {
				group.Go(func() error { return r.resultRow(ctx, queueName(cohort, queue), i, places) })
			}
		}
	}
	return group.Wait()
}

func (r *benchRunner) resultRow(ctx context.Context, queue string, index int, places chan struct{}) error {
	c := r.load.classes[index]
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	for i := range c.count {
		o := c.object(fmt.Sprintf("%s-%s-%d", queue, c.name, i), queue)
		places <- struct{}{}
		r.book.recordCreation(o.GetName(), index, time.Now())
		err := persist(ctx, func() error { return r.client.Create(ctx, o) })
		<-places
		if client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// persist tries a write again for some seconds when the server failed, as any client would: a webhook that is busy, or whose
// connection was just closed, is no news.
func persist(ctx context.Context, write func() error) error {
	var last error
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 7}
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		last = write()
		again := apierrors.IsInternalError(last) || apierrors.IsServerTimeout(last) || apierrors.IsTimeout(last)
		return !again, nil
	})
	if last != nil {
		return last
	}
	return err
}

// object is what is submitted to the queue under the name.
func (c workloadClass) object(name, queue string) client.Object {
	if c.kind != nil {
		return c.kind.submitted(name, queue)
	}
	return newWorkload(name, queue, c)
}

func newWorkload(name, queue string, c workloadClass) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
		Spec: kueue.WorkloadSpec{
			QueueName: kueue.LocalQueueName(queue), Priority: ptr.To(c.priority),
			PodSets: []kueue.PodSet{{
				Name: "main", Count: 1,
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(c.cpu), resource.DecimalSI)},
					}}},
				}},
			}},
		},
	}
}

// finish ends a Workload as its job's controller would, unless it has been evicted since it was admitted.
func (r *benchRunner) finish(ctx context.Context, name string, run int) error {
	if !r.book.running(name, run) {
		return nil
	}
	patch, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/status/conditions/-", "value": metav1.Condition{
		Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "The run is over",
		LastTransitionTime: metav1.Now(),
	}}})
	if err != nil {
		return err
	}
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	err = persist(ctx, func() error {
		return r.client.Status().Patch(ctx, wl, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner("bench"))
	})
	if apierrors.IsInvalid(err) && strings.Contains(err.Error(), kueue.WorkloadFinished) {
		return nil // The condition would be there twice: a try, ours or the client's own, took effect although its answer was an error.
	}
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("finish Workload %s: %w", name, err)
	}
	return nil
}

// userConfig is a client configuration of a user with all rights, by which the API server tells its requests from the rest.
func userConfig(cluster *clusters.Cluster, user string) (*rest.Config, error) {
	kubeconfig, err := cluster.UserKubeconfig(user, "system:masters")
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", user, err)
	}
	config.QPS = -1
	return config, nil
}
