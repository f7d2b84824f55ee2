package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// jobTimes is what the runner has seen of one Job of the hub.
type jobTimes struct {
	// kind is that of a job of the traffic "mix"; nil for a Job of any other.
	kind             *mixedKind
	created, resumed time.Time
	// worker is where it was resumed first, bound the cluster that the hub recorded, first the clusters that the hub
	// nominated at first.
	worker *clusterProgram
	bound  string
	first  []string
	// started is set when its pods were said to run.
	started bool
	// finished is set when the hub's Workload is, gone when the copy of the Job is no more.
	finished, gone bool
}

// jobLog keeps what the runner sees on the hub and on the workers. It is safe for concurrent use.
type jobLog struct {
	mu    sync.Mutex
	spans map[string]*jobTimes
	// resumed, if set, is told of each Job that is resumed on a worker for the first time.
	resumed func(name string)
	// twice counts Jobs that were resumed on a second worker.
	twice int
}

func newJobLog() *jobLog { return &jobLog{spans: map[string]*jobTimes{}} }

func (s *jobLog) lookup(name string) *jobTimes {
	if s.spans[name] == nil {
		s.spans[name] = &jobTimes{}
	}
	return s.spans[name]
}

// count counts the spans of the names that satisfy the condition.
func (s *jobLog) count(names []string, is func(*jobTimes) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, name := range names {
		if is(s.lookup(name)) {
			n++
		}
	}
	return n
}

// watchAll begins to watch jobs of the kinds and their Workloads, until ctx ends.
func (s *jobLog) watchAll(ctx context.Context, a *clusterFleet, kinds []mixedKind) error {
	for _, w := range a.workers {
		for _, k := range kinds {
			see := func(event watch.EventType, o client.Object) { s.recordJob(w, event, o, k.suspended(o)) }
			if err := s.watch(ctx, w, k.NewList(), see); err != nil {
				return err
			}
		}
	}
	return s.watch(ctx, a.hub, &kueue.WorkloadList{}, s.recordWorkload)
}

// listedWatch is listed first and then watched, which in-memory servers do too.
type listedWatch struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported implements what a reflector asks.
func (listedWatch) IsWatchListSemanticsUnSupported() bool { return true }

// watch shows every change of what a list has. A watch that ends, as any may on a busy server, is resumed, and what was missed
// meanwhile is seen then.
func (s *jobLog) watch(ctx context.Context, at *clusterProgram, list client.ObjectList, see func(watch.EventType, client.Object)) error {
	here := func(raw metav1.ListOptions) *client.ListOptions {
		return &client.ListOptions{Namespace: team, Raw: &raw}
	}
	empty := func() (client.ObjectList, error) {
		own, ok := list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return nil, fmt.Errorf("%T is no list", list)
		}
		return own, nil
	}
	tell := func(kind watch.EventType) func(any) {
		return func(what any) {
			if gone, ok := what.(cache.DeletedFinalStateUnknown); ok {
				what = gone.Obj
			}
			if o, ok := what.(client.Object); ok {
				see(kind, o)
			}
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: listedWatch{&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
				own, err := empty()
				if err != nil {
					return nil, err
				}
				return own, at.client.List(ctx, own, here(raw))
			},
			WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
				own, err := empty()
				if err != nil {
					return nil, err
				}
				return at.client.Watch(ctx, own, here(raw))
			},
		}},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: tell(watch.Added), UpdateFunc: func(_, now any) { tell(watch.Modified)(now) }, DeleteFunc: tell(watch.Deleted),
		},
	})
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("watch %T on %s: %w", list, at.Name, context.Cause(ctx))
	}
	return nil
}

func (s *jobLog) recordJob(at *clusterProgram, event watch.EventType, job client.Object, suspended bool) {
	name := job.GetName()
	s.mu.Lock()
	span := s.lookup(name)
	span.gone = event == watch.Deleted && (span.worker == nil || span.worker == at)
	news := false
	if event != watch.Deleted && !suspended {
		news = span.worker == nil
		if news {
			span.worker, span.resumed = at, time.Now()
		} else if span.worker != at {
			s.twice++
		}
	}
	tell := s.resumed
	s.mu.Unlock()
	if news && tell != nil {
		tell(name)
	}
}

func (s *jobLog) recordWorkload(_ watch.EventType, o client.Object) {
	wl, ok := o.(*kueue.Workload)
	if !ok || len(wl.OwnerReferences) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	span := s.lookup(wl.OwnerReferences[0].Name)
	if span.first == nil && len(wl.Status.NominatedClusterNames) > 0 {
		span.first = wl.Status.NominatedClusterNames
	}
	span.bound = ptr.Deref(wl.Status.ClusterName, span.bound)
	span.finished = span.finished || meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished)
}

// submit creates a job on the hub: a Job, or one of a kind of the traffic "mix".
func (s *jobLog) submit(ctx context.Context, a *clusterFleet, job client.Object, kind *mixedKind) error {
	s.mu.Lock()
	span := s.lookup(job.GetName())
	span.created, span.kind = time.Now(), kind
	s.mu.Unlock()
	err := persist(ctx, func() error { return a.hub.client.Create(ctx, job) })
	if client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create %T %s: %w", job, job.GetName(), err)
	}
	return nil
}

// runWorkers says that the pods of the Jobs run, as a job controller would, or that they have succeeded.
func (s *jobLog) runWorkers(ctx context.Context, names []string, ended bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(finishers)
	for _, name := range names {
		group.Go(func() error { return s.runJob(ctx, name, ended) })
	}
	return group.Wait()
}

func (s *jobLog) runJob(ctx context.Context, name string, ended bool) error {
	s.mu.Lock()
	span := s.lookup(name)
	at, started := span.worker, span.started
	span.started = true
	kind := span.kind
	s.mu.Unlock()
	run := func() error { return playJob(ctx, at.client, name, started, ended) }
	if kind != nil {
		run = func() error { return kind.playStatus(ctx, at.client, name, ended) }
	}
	if err := run(); err != nil {
		return fmt.Errorf("on %s: %w", at.Name, err)
	}
	return nil
}

// playJob has the status of a batch Job say that its only pod runs, or that it has succeeded. Started tells that it said so before.
func playJob(ctx context.Context, c client.Client, name string, started, ended bool) error {
	now := metav1.Now()
	before := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	after := before.DeepCopy()
	if !started { // it never changes
		after.Status.StartTime = &now
	}
	if !ended {
		after.Status.Active, after.Status.Ready = 1, ptr.To[int32](1)
	} else {
		after.Status.CompletionTime, after.Status.Succeeded = &now, 1
		for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			after.Status.Conditions = append(after.Status.Conditions, batchv1.JobCondition{
				Type: kind, Status: "True", Reason: batchv1.JobReasonCompletionsReached, LastProbeTime: now, LastTransitionTime: now,
			})
		}
	}
	data, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return fmt.Errorf("play Job %s: %w", name, err)
	}
	if ended { // what was active before is no more
		data = []byte(`{"status":{"active":null,"ready":0,` + string(data[len(`{"status":{`):]))
	}
	err = persist(ctx, func() error {
		return c.Status().Patch(ctx, before, client.RawPatch(types.MergePatchType, data))
	})
	if err != nil {
		return fmt.Errorf("play Job %s: %w", name, err)
	}
	return nil
}
