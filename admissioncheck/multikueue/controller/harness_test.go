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

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/uptime"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/kube/polltest"
	"switchyard.dev/worker/workload"
)

const origin = "hub-1"

// testEnv is a hub and its workers, each an in-memory API server, with the real fleet and the real resolver between them.
// Tests play the parts of the hub's core and of the workers.
type testEnv struct {
	t          *testing.T
	hub        client.WithWatch
	workers    map[string]*fakeServer
	fleet      *fleet.Fleet
	reconciler *WorkloadReconciler
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
	hubLog     *callLog
	events     *events.FakeRecorder
	policy     dispatch.Policy
	stop       func()
	// leaseDuration is how long a run lease lasts; zero for the default.
	leaseDuration time.Duration
	// reconciling is held by each reconcile, and by tests that do several things of which the hub is to see the last only.
	reconciling sync.Mutex
	// clockStopped is set once the clock is to wake no Workload any more: then an event has to end each wait.
	clockStopped atomic.Bool
	// cache is what the hub's program takes for its cache; nil for the API server itself. asked counts what it read from there
	// besides.
	cache     client.Client
	apiReader *countingReader
	// hubRecord is the hub by its identity; nil for one without.
	hubRecord *uptime.Hub
	// fleetClock is the clock of the fleet; nil for the real one.
	fleetClock clock.WithTickerAndDelayedExecution
	// listVersion is what the hub's API server calls the newest version of its Workloads.
	listVersion string
}

// countingReader is the hub's API server, which counts what it is asked for. Those in memory have no versions of lists.
type countingReader struct {
	client.Reader
	listVersion string
	count       atomic.Int32
}

func (a *countingReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.SetResourceVersion(cmp.Or(a.listVersion, "1"))
	return nil
}

func (a *countingReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	a.count.Add(1)
	return a.Reader.Get(ctx, key, obj, o...)
}

// fakeServer is a worker's API server that can be made to fail.
type fakeServer struct {
	client.WithWatch

	mu      sync.Mutex
	callLog *callLog
	down    bool
	// createErr is what creations are answered with, if set.
	createErr error
	// leasesRefused is set while writes of leases are refused; reads of them as well if blind.
	leasesRefused, leaseReadsRefused bool
	// hiddenList is the type of the lists that the hub may not have; empty for none.
	hiddenList string
	// watchCount were opened since the hub's program started.
	watchCount int
	// createdAt is the creation time of what is created; zero to leave it out, as servers in memory do.
	createdAt time.Time
	// backgroundDelete is set once a job was to go without its pods.
	backgroundDelete bool
}

// recordDelete looks at how a job is to be deleted.
func (s *fakeServer) recordDelete(obj client.Object, o []client.DeleteOption) {
	if _, isJob := obj.(*batchv1.Job); !isJob {
		return
	}
	options := client.DeleteOptions{}
	options.ApplyOptions(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backgroundDelete = s.backgroundDelete || ptr.Deref(options.PropagationPolicy, "") != metav1.DeletePropagationForeground
}

// hasBackgroundDelete reports whether a job was deleted in such a way that its object may be gone before its pods.
func (s *fakeServer) hasBackgroundDelete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backgroundDelete
}

// callLog are the writes that a server was asked for and that took effect, as "verb kind". One that found its work done is
// none: on a busy machine an action is repeated when the informers take longer than a quarter of a second to show it.
type callLog struct {
	mu   sync.Mutex
	list []string
}

func (c *callLog) add(verb string, obj any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, verb+" "+strings.TrimPrefix(fmt.Sprintf("%T", obj), "*"))
}

// track notes a write while it is made, because others may hear of it before it returns, and takes it back if it fails.
func (c *callLog) track(verb string, obj any, write func() error) error {
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

func (c *callLog) snapshot() []string {
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
	for _, i := range fieldIndexes() {
		builder = builder.WithIndex(i.object, i.name, i.extract)
	}
	return builder
}

func newFakeServer(t *testing.T, scheme *runtime.Scheme) *fakeServer {
	t.Helper()
	s := &fakeServer{callLog: &callLog{}}
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
			if err := s.leaseError(obj, true); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, o...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if err := down(); err != nil {
				return err
			}
			if s.isHidden(list) {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("hidden"))
			}
			return c.List(ctx, list, o...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
			w, err := c.Watch(ctx, list, o...)
			s.addWatches(1)
			return w, err
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if err := down(); err != nil {
				return err
			}
			if err := cmp.Or(s.createError(), s.leaseError(obj, false)); err != nil {
				return err
			}
			if obj.GetUID() == "" { // with one it comes back from a backup
				obj.SetUID(types.UID(fmt.Sprintf("%s-%d", obj.GetName(), time.Now().UnixNano())))
			}
			s.stampCreationTime(obj)
			return s.currentLog().track("create", obj, func() error { return c.Create(ctx, obj, o...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			if err := cmp.Or(down(), s.leaseError(obj, false)); err != nil {
				return err
			}
			return c.Update(ctx, obj, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			if err := down(); err != nil {
				return err
			}
			s.recordDelete(obj, o)
			return s.currentLog().track("delete", obj, func() error { return c.Delete(ctx, obj, o...) })
		},
	}).Build()
	return s
}

func (s *fakeServer) currentLog() *callLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callLog
}

// setLog makes the server note its writes elsewhere from now on.
func (s *fakeServer) setLog(c *callLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callLog = c
}

// setCreationTime has what is created from now on bear a time.
func (s *fakeServer) setCreationTime(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.createdAt = at
}

func (s *fakeServer) stampCreationTime(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.createdAt.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(s.createdAt))
	}
}

func (s *fakeServer) addWatches(more int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchCount += more
	return s.watchCount
}

func (s *fakeServer) createError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.createErr
}

func (s *fakeServer) setCreateError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.createErr = err
}

// setLeaseRefusal makes a worker refuse writes of leases, and reads as well if blind.
func (s *fakeServer) setLeaseRefusal(refuse, blind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leasesRefused, s.leaseReadsRefused = refuse, blind
}

func (s *fakeServer) leaseError(obj client.Object, reads bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := obj.(*coordinationv1.Lease); !is || !s.leasesRefused || reads && !s.leaseReadsRefused {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, obj.GetName(), errors.New("no rights"))
}

func (s *fakeServer) hideList(list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hiddenList = list
}

func (s *fakeServer) isHidden(list client.ObjectList) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%T", list) == s.hiddenList
}

func (s *fakeServer) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// newTestEnv connects a hub to the named workers through a check "mk".
func newTestEnv(t *testing.T, names ...string) *testEnv {
	t.Helper()
	scheme := testScheme(t)
	st := &testEnv{t: t, workers: map[string]*fakeServer{}, hubLog: &callLog{}, events: events.NewFakeRecorder(1000)}
	st.policy = dispatch.Compatible(time.Minute)
	builder := newBuilder(t, scheme).WithObjects(
		&kueue.AdmissionCheck{
			ObjectMeta: metav1.ObjectMeta{Name: "mk"},
			Spec: kueue.AdmissionCheckSpec{
				ControllerName: kueue.MultiKueueControllerName,
				Parameters:     &kueue.AdmissionCheckParametersReference{APIGroup: kueue.GroupVersion.Group, Kind: checkconfig.ConfigKind, Name: "config"},
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
		st.workers[name] = newFakeServer(t, scheme)
		st.create(&kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	st.startHub()
	st.waitConnected()
	return st
}

// restart kills the hub's program and starts another, which takes part in nothing that the first knew, under a policy.
func (st *testEnv) restart(p dispatch.Policy) {
	st.stop()
	for _, s := range st.workers {
		s.addWatches(-s.addWatches(0))
	}
	st.policy, st.listVersion = p, "1000000" // newer than anything that is there
	st.startHub()
}

// waitConnected waits until the hub follows Workloads and Jobs on all workers. What changes between a list and the watch after
// it is lost on in-memory servers, and on no other.
func (st *testEnv) waitConnected() {
	st.t.Helper()
	st.eventually("all connected", func() bool {
		for name, s := range st.workers {
			if state, _ := st.fleet.State(name); !state.Connected || s.addWatches(0) < 2 {
				return false
			}
		}
		return true
	})
}

func (st *testEnv) startHub() {
	scheme := st.hub.Scheme()
	var mirrored []job.Integration
	for _, k := range all.Kinds() {
		if k.GVK().Kind == "Job" {
			mirrored = append(mirrored, k)
		}
	}
	sharing := &JobNameLookup{}
	if st.cache == nil {
		st.cache = st.hub
	}
	st.apiReader = &countingReader{Reader: st.hub, listVersion: st.listVersion}
	r := NewWorkloadReconciler(&WorkloadReconciler{
		Client: st.cache, APIReader: st.apiReader, Kinds: mirrored, Origin: origin, Policy: st.policy,
		Recorder: st.events, Clock: clock.RealClock{}, Hub: st.hubRecord,
	})
	kinds := FleetKinds(mirrored, sharing)
	if st.policy.Dispatcher == dispatch.BestFit {
		kinds = append(kinds, CapacityKinds()...)
	}
	r.SetFleet(fleet.New(fleet.Options{
		Origin: origin, Scheme: scheme, Kinds: kinds, AffectedWorkloads: r.AffectedWorkloads, OwnsWorkload: r.orphans.OwnsWorkload, Clock: st.fleetClock,
		Lease:         &fleet.LeaseOptions{Duration: st.leaseDuration, RenewInterval: 20 * time.Millisecond, IsNeeded: r.IsLeaseNeeded},
		ProbeInterval: 20 * time.Millisecond, Coalesce: time.Millisecond,
		Backoff: func(int) time.Duration { return 20 * time.Millisecond },
		Dial:    func(c *rest.Config) (client.WithWatch, error) { return st.workers[c.Host], nil },
	}))
	sharing.Reconciler = r
	st.fleet, st.reconciler = r.Fleet, r
	st.startController()
	for name := range st.workers {
		st.fleet.Connect(name, fleet.Credentials{Config: &rest.Config{Host: name}, Fingerprint: name})
	}
}

// startController starts the fleet and a controller of one worker, fed by the fleet, by the hub's Workloads and by what else it watches.
func (st *testEnv) startController() {
	ctx, cancel := context.WithCancel(context.Background())
	st.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	watched, err := st.hub.Watch(ctx, &kueue.WorkloadList{})
	if err != nil {
		st.t.Fatal(err)
	}
	if err := st.fleet.WorkloadRequests().Source().Start(ctx, st.queue); err != nil {
		st.t.Fatal(err)
	}
	departures := st.reconciler.orphans.deletionRecorder()
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
	st.startHubWatches(ctx, &running)
	running.Go(func() { st.runReconcileLoop(st.reconciler, queue) })
	st.stop = sync.OnceFunc(func() {
		cancel()
		watched.Stop()
		queue.ShutDown()
		running.Wait()
	})
	st.t.Cleanup(st.stop)
	st.enqueueAll()
}

// enqueueAll does what the first list of an informer does.
func (st *testEnv) enqueueAll() {
	list := &kueue.WorkloadList{}
	if err := st.hub.List(context.Background(), list); err != nil {
		st.t.Fatal(err)
	}
	for i := range list.Items {
		st.queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
}

// runReconcileLoop reconciles what is in the queue until that is shut down.
func (st *testEnv) runReconcileLoop(r reconcile.Reconciler, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	alarms := map[reconcile.Request]time.Time{}
	for {
		request, shutdown := queue.Get()
		if shutdown {
			return
		}
		st.reconciling.Lock()
		result, err := r.Reconcile(context.Background(), request)
		st.reconciling.Unlock()
		now := time.Now()
		at, set := now.Add(result.RequeueAfter), alarms[request]
		switch {
		case err != nil:
			queue.AddRateLimited(request)
		case result.RequeueAfter > 0 && result.RequeueAfter <= 2*cacheEchoDelay: // that is not waiting
			queue.AddAfter(request, result.RequeueAfter)
		case result.RequeueAfter > 0 && (!set.After(now) || at.Before(set)):
			alarms[request] = at
			time.AfterFunc(result.RequeueAfter, func() {
				if !st.clockStopped.Load() {
					queue.Add(request)
				}
			})
		}
		queue.Done(request)
	}
}

func (st *testEnv) create(obj client.Object) {
	st.t.Helper()
	if err := st.hub.Create(context.Background(), obj); err != nil {
		st.t.Fatal(err)
	}
}

// eventually waits until the condition holds; what says for what.
func (st *testEnv) eventually(what string, condition func() bool) {
	st.t.Helper()
	if !polltest.Holds(st.t, condition) {
		st.t.Fatalf("never: %s\nhub workload status: %+v\n%sconnections: %+v", what, st.hubWorkload().Status, st.describeWorkers(), st.fleet.States())
	}
}

// describeWorkers is what is there of the copy and of the job on every worker, and what the hub sees of them.
func (st *testEnv) describeWorkers() string {
	text := ""
	kind := batchJobKind(st.t)
	for _, name := range slices.Sorted(maps.Keys(st.workers)) {
		seenCopy, _ := st.fleet.Get(name, workloadGVK(), workloadKey())
		seenJob, _ := st.fleet.Get(name, kind.GVK(), jobKey())
		text += fmt.Sprintf("on %s: copy %+v\n  job %+v\n  hub sees copy %+v\n  job %+v\n",
			name, st.copyOn(name), st.jobOn(name), seenCopy, seenJob)
	}
	return text
}

func workloadKey() client.ObjectKey { return client.ObjectKey{Namespace: "team", Name: "job-train"} }

func jobKey() client.ObjectKey { return client.ObjectKey{Namespace: "team", Name: "train"} }

// submit creates a job and its Workload on the hub and reserves quota for it.
func (st *testEnv) submit() {
	st.t.Helper()
	st.enqueue()
	st.reserveQuota()
}

// enqueue creates a job and its Workload on the hub.
func (st *testEnv) enqueue() {
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

// reserveQuota plays the hub's scheduler, which lets the dispatcher add to the reservation.
func (st *testEnv) reserveQuota() {
	st.t.Helper()
	st.updateStatus(func(wl *kueue.Workload) {
		reserveWithoutDispatcher(wl)
		st.reconciler.NominateClusters(context.Background(), wl, time.Now())
	})
}

// reserveWithoutDispatcher reserves quota as a scheduler does that knows no dispatcher.
func reserveWithoutDispatcher(wl *kueue.Workload) {
	workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, []string{"mk"}, "reserved", time.Now())
}

// updateStatus writes the admission part of the hub's Workload, as the core does.
func (st *testEnv) updateStatus(by func(*kueue.Workload)) {
	st.t.Helper()
	updateWorkloadStatus(st.t, st.hub, by)
}

func updateWorkloadStatus(t *testing.T, c client.Client, by func(*kueue.Workload)) {
	t.Helper()
	for range 100 {
		wl := &kueue.Workload{}
		if err := c.Get(context.Background(), workloadKey(), wl); err != nil {
			t.Fatal(err)
		}
		by(wl)
		if err := kube.ApplyAdmission(context.Background(), c, wl); err == nil {
			return
		}
	}
	t.Fatal("the status could not be written")
}

func (st *testEnv) hubWorkload() *kueue.Workload {
	wl := &kueue.Workload{}
	_ = st.hub.Get(context.Background(), workloadKey(), wl)
	return wl
}

func (st *testEnv) hubJob() *batchv1.Job {
	j := &batchv1.Job{}
	_ = st.hub.Get(context.Background(), jobKey(), j)
	return j
}

func (st *testEnv) checkState() kueue.AdmissionCheckState {
	if entry := workload.FindAdmissionCheck(st.hubWorkload(), "mk"); entry != nil {
		return *entry
	}
	return kueue.AdmissionCheckState{}
}

// copyOn returns the copy on a worker, nil if there is none.
func (st *testEnv) copyOn(worker string) *kueue.Workload {
	wl := &kueue.Workload{}
	if err := st.workers[worker].Get(context.Background(), workloadKey(), wl); err != nil {
		return nil
	}
	return wl
}

func (st *testEnv) jobOn(worker string) *batchv1.Job {
	j := &batchv1.Job{}
	if err := st.workers[worker].Get(context.Background(), jobKey(), j); err != nil {
		return nil
	}
	return j
}

// waitOffered waits until the workers have a copy and the hub has seen it.
func (st *testEnv) waitOffered(workers ...string) {
	st.t.Helper()
	st.eventually(fmt.Sprintf("offered to %v", workers), func() bool {
		return !slices.ContainsFunc(workers, func(w string) bool {
			seen, _ := st.fleet.Get(w, workloadGVK(), workloadKey())
			return st.copyOn(w) == nil || seen == nil
		})
	})
}

// admitOn plays a worker that reserves quota for its copy and admits it.
func (st *testEnv) admitOn(worker string) {
	st.t.Helper()
	updateWorkloadStatus(st.t, st.workers[worker], func(wl *kueue.Workload) {
		workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", time.Now())
	})
}

// setConditionOn sets a condition of the copy on a worker.
func (st *testEnv) setConditionOn(worker, condition, reason, message string) {
	st.t.Helper()
	updateWorkloadStatus(st.t, st.workers[worker], func(wl *kueue.Workload) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: reason, Message: message,
		})
	})
}

func (st *testEnv) runOn(worker string) {
	st.t.Helper()
	st.waitOffered(worker)
	st.admitOn(worker)
	st.eventually("check Ready, job on "+worker, func() bool {
		return st.checkState().State == kueue.CheckStateReady && st.jobOn(worker) != nil
	})
}
