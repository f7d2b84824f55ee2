package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

const (
	origin  = "hub-1"
	patient = time.Minute
)

// stage is a hub and its workers, each an in-memory API server, with the real fleet and the real resolver between them.
// Tests play the parts of the hub's core and of the workers.
type stage struct {
	t        *testing.T
	hub      client.WithWatch
	workers  map[string]*server
	fleet    *fleet.Fleet
	resolver *Resolver
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	hubLog   *calls
	events   *events.FakeRecorder
	policy   dispatch.Policy
	kill     func()
	// lease is how long a run lease lasts; zero for the default.
	lease time.Duration
	// stopped is set once nobody is to be woken by the clock any more: then whatever is waited for has to be told of.
	stopped atomic.Bool
	// cache is what the hub's program takes for its cache; nil for the API server itself. asked counts what it read from there
	// besides.
	cache client.Client
	asked *asked
	// own is the hub by its identity; nil for one without.
	own *Hub
	// pace is the clock of the fleet; nil for the real one.
	pace clock.WithTickerAndDelayedExecution
	// version is what the hub's API server calls the newest version of its Workloads.
	version string
}

// asked is the hub's API server, which counts what it is asked for. Those in memory have no versions of lists.
type asked struct {
	client.Reader
	version string
	count   atomic.Int32
}

func (a *asked) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.SetResourceVersion(cmp.Or(a.version, "1"))
	return nil
}

func (a *asked) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	a.count.Add(1)
	return a.Reader.Get(ctx, key, obj, o...)
}

// server is a worker's API server that can be made to fail.
type server struct {
	client.WithWatch

	mu   sync.Mutex
	log  *calls
	down bool
	// refusal is what creations are answered with, if set.
	refusal error
	// noLeases is set while writes of leases are refused; reads of them as well if blind.
	noLeases, blind bool
	// hidden is the type of the lists that the hub may not have; empty for none.
	hidden string
	// watches were opened since the hub's program started.
	watches int
	// made is the creation time of what is created; zero to leave it out, as servers in memory do.
	made time.Time
	// inBackground is set once a job was to go without its pods.
	inBackground bool
}

// noteRemoval looks at how a job is to be deleted.
func (s *server) noteRemoval(obj client.Object, o []client.DeleteOption) {
	if _, isJob := obj.(*batchv1.Job); !isJob {
		return
	}
	options := client.DeleteOptions{}
	options.ApplyOptions(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inBackground = s.inBackground || ptr.Deref(options.PropagationPolicy, "") != metav1.DeletePropagationForeground
}

// removedInBackground reports whether a job was deleted in such a way that its object may be gone before its pods.
func (s *server) removedInBackground() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inBackground
}

// calls are the writes that a server was asked for and that took effect, as "verb kind". One that found its work done is
// none: on a busy machine an action is repeated when the informers take longer than a quarter of a second to show it.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(verb string, obj any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, verb+" "+strings.TrimPrefix(fmt.Sprintf("%T", obj), "*"))
}

// during notes a write while it is made, because others may hear of it before it returns, and takes it back if it fails.
func (c *calls) during(verb string, obj any, write func() error) error {
	c.add(verb, obj)
	err := write()
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		entry := verb + " " + strings.TrimPrefix(fmt.Sprintf("%T", obj), "*")
		at := len(c.list) - 1
		for c.list[at] != entry {
			at--
		}
		c.list = slices.Delete(c.list, at, at+1)
	}
	return err
}

func (c *calls) snapshot() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	add := []func(*runtime.Scheme) error{kueue.AddToScheme, corev1.AddToScheme, coordinationv1.AddToScheme, switchyard.AddToScheme}
	for _, k := range all.Kinds() {
		add = append(add, k.AddToScheme)
	}
	for _, f := range add {
		if err := f(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func newBuilder(t *testing.T, scheme *runtime.Scheme) *fake.ClientBuilder {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithStatusSubresource(
		&kueue.Workload{}, &kueue.MultiKueueCluster{}, &kueue.AdmissionCheck{}, &batchv1.Job{})
	for _, i := range indexes() {
		builder = builder.WithIndex(i.of, i.name, i.value)
	}
	return builder
}

func newServer(t *testing.T, scheme *runtime.Scheme) *server {
	t.Helper()
	s := &server{log: &calls{}}
	down := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.down {
			return errors.New("connection refused")
		}
		return nil
	}
	s.WithWatch = newBuilder(t, scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			if err := down(); err != nil {
				return err
			}
			if err := s.refusesLease(obj, true); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, o...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if err := down(); err != nil {
				return err
			}
			if s.hides(list) {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("hidden"))
			}
			return c.List(ctx, list, o...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
			w, err := c.Watch(ctx, list, o...)
			s.watched(1)
			return w, err
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if err := down(); err != nil {
				return err
			}
			if err := cmp.Or(s.refused(), s.refusesLease(obj, false)); err != nil {
				return err
			}
			if obj.GetUID() == "" { // with one it comes back from a backup
				obj.SetUID(types.UID(fmt.Sprintf("%s-%d", obj.GetName(), time.Now().UnixNano())))
			}
			s.stamp(obj)
			return s.logged().during("create", obj, func() error { return c.Create(ctx, obj, o...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			if err := cmp.Or(down(), s.refusesLease(obj, false)); err != nil {
				return err
			}
			return c.Update(ctx, obj, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			if err := down(); err != nil {
				return err
			}
			s.noteRemoval(obj, o)
			return s.logged().during("delete", obj, func() error { return c.Delete(ctx, obj, o...) })
		},
	}).Build()
	return s
}

func (s *server) logged() *calls {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

// logTo makes the server note its writes elsewhere from now on.
func (s *server) logTo(c *calls) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = c
}

// born has what is created from now on bear a time.
func (s *server) born(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = at
}

func (s *server) stamp(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(s.made))
	}
}

func (s *server) watched(more int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches += more
	return s.watches
}

func (s *server) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal
}

func (s *server) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = err
}

// refuseLeases makes a worker refuse writes of leases, and reads as well if blind.
func (s *server) refuseLeases(refuse, blind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noLeases, s.blind = refuse, blind
}

func (s *server) refusesLease(obj client.Object, reads bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := obj.(*coordinationv1.Lease); !is || !s.noLeases || reads && !s.blind {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, obj.GetName(), errors.New("no rights"))
}

func (s *server) hide(list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = list
}

func (s *server) hides(list client.ObjectList) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%T", list) == s.hidden
}

func (s *server) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// newStage connects a hub to the named workers through a check "mk".
func newStage(t *testing.T, names ...string) *stage {
	t.Helper()
	scheme := testScheme(t)
	st := &stage{t: t, workers: map[string]*server{}, hubLog: &calls{}, events: events.NewFakeRecorder(1000)}
	st.policy = dispatch.Compatible(time.Minute)
	builder := newBuilder(t, scheme).WithObjects(
		&kueue.AdmissionCheck{
			ObjectMeta: metav1.ObjectMeta{Name: "mk"},
			Spec: kueue.AdmissionCheckSpec{
				ControllerName: kueue.MultiKueueControllerName,
				Parameters:     &kueue.AdmissionCheckParametersReference{APIGroup: kueue.GroupVersion.Group, Kind: configKind, Name: "config"},
			},
		},
		&kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Spec: kueue.MultiKueueConfigSpec{Clusters: names}},
	).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			err := c.SubResource(sub).Patch(ctx, obj, p, o...)
			if err == nil { // what a write of the test itself has overtaken meets a conflict
				st.hubLog.add("patch "+sub, obj)
			}
			return err
		},
	})
	st.hub = builder.Build()
	for _, name := range names {
		st.workers[name] = newServer(t, scheme)
		st.create(&kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	st.compose()
	st.connected()
	return st
}

// restart kills the hub's program and starts another, which takes part in nothing that the first knew, under a policy.
func (st *stage) restart(p dispatch.Policy) {
	st.kill()
	for _, s := range st.workers {
		s.watched(-s.watched(0))
	}
	st.policy, st.version = p, "1000000" // newer than anything that is there
	st.compose()
}

// connected waits until the hub follows Workloads and Jobs on all workers. What changes between a list and the watch after
// it is lost on in-memory servers, and on no other.
func (st *stage) connected() {
	st.t.Helper()
	st.eventually("all connected", func() bool {
		for name, s := range st.workers {
			if state, _ := st.fleet.State(name); !state.Connected || s.watched(0) < 2 {
				return false
			}
		}
		return true
	})
}

func (st *stage) compose() {
	scheme := st.hub.Scheme()
	var mirrored []job.Integration
	for _, k := range all.Kinds() {
		if k.GVK().Kind == "Job" {
			mirrored = append(mirrored, k)
		}
	}
	sharing := &Sharing{}
	if st.cache == nil {
		st.cache = st.hub
	}
	st.asked = &asked{Reader: st.hub, version: st.version}
	r := NewResolver(&Resolver{
		Client: st.cache, Live: st.asked, Kinds: mirrored, Origin: origin, Policy: st.policy,
		Recorder: st.events, Clock: clock.RealClock{}, Hub: st.own,
	})
	kinds := FleetKinds(mirrored, sharing)
	if st.policy.Dispatcher == dispatch.BestFit {
		kinds = append(kinds, CapacityKinds()...)
	}
	r.Fleet = fleet.New(fleet.Options{
		Origin: origin, Scheme: scheme, Kinds: kinds, AffectedWorkloads: r.Concerned, OwnsWorkload: r.Owned, Clock: st.pace,
		Lease:         &fleet.LeaseOptions{Duration: st.lease, RenewInterval: 20 * time.Millisecond, IsNeeded: r.LeaseWanted},
		ProbeInterval: 20 * time.Millisecond, Coalesce: time.Millisecond,
		Backoff: func(int) time.Duration { return 20 * time.Millisecond },
		Dial:    func(c *rest.Config) (client.WithWatch, error) { return st.workers[c.Host], nil },
	})
	sharing.Resolver = r
	st.fleet, st.resolver = r.Fleet, r
	st.run()
	for name := range st.workers {
		st.fleet.Connect(name, fleet.Credentials{Config: &rest.Config{Host: name}, Fingerprint: name})
	}
}

// run starts the fleet and a controller of one worker, fed by the fleet, by the hub's Workloads and by what else it watches.
func (st *stage) run() {
	ctx, cancel := context.WithCancel(context.Background())
	st.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	watched, err := st.hub.Watch(ctx, &kueue.WorkloadList{})
	if err != nil {
		st.t.Fatal(err)
	}
	if err := st.fleet.WorkloadRequests().Source().Start(ctx, st.queue); err != nil {
		st.t.Fatal(err)
	}
	departures := st.resolver.departures()
	var running sync.WaitGroup
	running.Go(func() { _ = st.fleet.Start(ctx) })
	running.Go(func() {
		for e := range watched.ResultChan() {
			wl, ok := e.Object.(*kueue.Workload)
			if ok && e.Type == watch.Deleted {
				departures.Delete(event.DeleteEvent{Object: wl})
			}
			if ok {
				st.queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(wl)})
			}
		}
	})
	queue := st.queue
	st.follow(ctx, &running)
	running.Go(func() { st.control(st.resolver, queue) })
	st.kill = sync.OnceFunc(func() {
		cancel()
		watched.Stop()
		queue.ShutDown()
		running.Wait()
	})
	st.t.Cleanup(st.kill)
	st.enqueueAll()
}

// enqueueAll does what the first list of an informer does.
func (st *stage) enqueueAll() {
	list := &kueue.WorkloadList{}
	if err := st.hub.List(context.Background(), list); err != nil {
		st.t.Fatal(err)
	}
	for i := range list.Items {
		st.queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
}

// control reconciles what is in the queue until that is shut down.
func (st *stage) control(r reconcile.Reconciler, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	alarms := map[reconcile.Request]time.Time{}
	for {
		request, shutdown := queue.Get()
		if shutdown {
			return
		}
		result, err := r.Reconcile(context.Background(), request)
		now := time.Now()
		at, set := now.Add(result.RequeueAfter), alarms[request]
		switch {
		case err != nil:
			queue.AddRateLimited(request)
		case result.RequeueAfter > 0 && result.RequeueAfter <= 2*echo: // that is not waiting
			queue.AddAfter(request, result.RequeueAfter)
		case result.RequeueAfter > 0 && (!set.After(now) || at.Before(set)):
			alarms[request] = at
			time.AfterFunc(result.RequeueAfter, func() {
				if !st.stopped.Load() {
					queue.Add(request)
				}
			})
		}
		queue.Done(request)
	}
}

func (st *stage) create(obj client.Object) {
	st.t.Helper()
	if err := st.hub.Create(context.Background(), obj); err != nil {
		st.t.Fatal(err)
	}
}

// eventually waits until the condition holds; what says for what.
func (st *stage) eventually(what string, condition func() bool) {
	st.t.Helper()
	if !becomes(condition) {
		st.t.Fatalf("never: %s\nhub workload status: %+v\n%sconnections: %+v", what, st.local().Status, st.inventory(), st.fleet.States())
	}
}

// inventory is what is there of the copy and of the job on every worker, and what the hub sees of them.
func (st *stage) inventory() string {
	text := ""
	kind := jobKind(st.t)
	for _, name := range slices.Sorted(maps.Keys(st.workers)) {
		seenCopy, _ := st.fleet.Get(name, workloadGVK(), key())
		seenJob, _ := st.fleet.Get(name, kind.GVK(), jobKey())
		text += fmt.Sprintf("on %s: copy %+v\n  job %+v\n  hub sees copy %+v\n  job %+v\n",
			name, st.copyOn(name), st.jobOn(name), seenCopy, seenJob)
	}
	return text
}

// becomes polls for a condition and reports whether it came to hold.
func becomes(condition func() bool) bool {
	err := wait.PollUntilContextTimeout(context.Background(), 2*time.Millisecond, patient, true,
		func(context.Context) (bool, error) { return condition(), nil })
	return err == nil
}

func key() client.ObjectKey { return client.ObjectKey{Namespace: "team", Name: "job-train"} }

func jobKey() client.ObjectKey { return client.ObjectKey{Namespace: "team", Name: "train"} }

// submit creates a job and its Workload on the hub and reserves quota for it.
func (st *stage) submit() {
	st.t.Helper()
	st.enqueue()
	st.reserve()
}

// enqueue creates a job and its Workload on the hub.
func (st *stage) enqueue() {
	st.t.Helper()
	st.create(&batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "job-uid", Labels: map[string]string{kueue.QueueNameLabel: "gpu"}},
		Spec: batchv1.JobSpec{
			Suspend: ptr.To(true), ManagedBy: ptr.To(kueue.MultiKueueControllerName), Parallelism: ptr.To[int32](1),
			Template: podTemplate(),
		},
	})
	st.create(&kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "job-train", UID: "workload-uid",
			Labels: map[string]string{kueue.JobUIDLabel: "job-uid", "color": "blue"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "job-uid", Controller: ptr.To(true),
			}},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: "gpu", Priority: ptr.To[int32](5),
			PodSets: []kueue.PodSet{{Name: "main", Count: 1, Template: podTemplate()}},
		},
	})
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "image"}},
	}}
}

// reserve plays the hub's scheduler, which lets the dispatcher add to the reservation.
func (st *stage) reserve() {
	st.t.Helper()
	st.change(func(wl *kueue.Workload) {
		reservePlain(wl)
		st.resolver.Prepare(context.Background(), wl, time.Now())
	})
}

// reservePlain reserves quota as a scheduler does that knows no dispatcher.
func reservePlain(wl *kueue.Workload) {
	workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, []string{"mk"}, "reserved", time.Now())
}

// change writes the admission part of the hub's Workload, as the core does.
func (st *stage) change(by func(*kueue.Workload)) {
	st.t.Helper()
	apply(st.t, st.hub, by)
}

func apply(t *testing.T, c client.Client, by func(*kueue.Workload)) {
	t.Helper()
	for range 100 {
		wl := &kueue.Workload{}
		if err := c.Get(context.Background(), key(), wl); err != nil {
			t.Fatal(err)
		}
		by(wl)
		if err := kube.ApplyAdmission(context.Background(), c, wl); err == nil {
			return
		}
	}
	t.Fatal("the status could not be written")
}

func (st *stage) local() *kueue.Workload {
	wl := &kueue.Workload{}
	_ = st.hub.Get(context.Background(), key(), wl)
	return wl
}

func (st *stage) localJob() *batchv1.Job {
	j := &batchv1.Job{}
	_ = st.hub.Get(context.Background(), jobKey(), j)
	return j
}

func (st *stage) check() kueue.AdmissionCheckState {
	if entry := workload.FindAdmissionCheck(st.local(), "mk"); entry != nil {
		return *entry
	}
	return kueue.AdmissionCheckState{}
}

// copyOn returns the copy on a worker, nil if there is none.
func (st *stage) copyOn(worker string) *kueue.Workload {
	wl := &kueue.Workload{}
	if err := st.workers[worker].Get(context.Background(), key(), wl); err != nil {
		return nil
	}
	return wl
}

func (st *stage) jobOn(worker string) *batchv1.Job {
	j := &batchv1.Job{}
	if err := st.workers[worker].Get(context.Background(), jobKey(), j); err != nil {
		return nil
	}
	return j
}

// offered waits until the workers have a copy and the hub has seen it.
func (st *stage) offered(workers ...string) {
	st.t.Helper()
	st.eventually(fmt.Sprintf("offered to %v", workers), func() bool {
		return !slices.ContainsFunc(workers, func(w string) bool {
			seen, _ := st.fleet.Get(w, workloadGVK(), key())
			return st.copyOn(w) == nil || seen == nil
		})
	})
}

// admitOn plays a worker that reserves quota for its copy and admits it.
func (st *stage) admitOn(worker string) {
	st.t.Helper()
	apply(st.t, st.workers[worker], func(wl *kueue.Workload) {
		workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", time.Now())
	})
}

// setOn sets a condition of the copy on a worker.
func (st *stage) setOn(worker, condition, reason, message string) {
	st.t.Helper()
	apply(st.t, st.workers[worker], func(wl *kueue.Workload) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: reason, Message: message,
		})
	})
}

func (st *stage) runsOn(worker string) {
	st.t.Helper()
	st.offered(worker)
	st.admitOn(worker)
	st.eventually("check Ready, job on "+worker, func() bool {
		return st.check().State == kueue.CheckStateReady && st.jobOn(worker) != nil
	})
}
