package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// observer watches all clusters. It remembers every pod it has seen: a pod that ran where it should not have counts
// even if it is gone by the end.
type observer struct {
	hub     cache.Cache
	workers map[string]cache.Cache

	mu       sync.Mutex
	pods     map[client.ObjectKey]map[types.UID]podFact // by job
	running  map[client.ObjectKey]time.Time             // when the job's first pod was seen running
	admitted map[placement]*kueue.Workload              // copies as they were last seen with an admission
}

// placement is a Workload's copy on a cluster.
type placement struct {
	cluster  string
	workload client.ObjectKey
}

// newObserver starts watching until the context ends, and returns when all caches are filled.
func newObserver(ctx context.Context, stage *installation.Stage) (*observer, error) {
	o := &observer{
		workers:  map[string]cache.Cache{},
		pods:     map[client.ObjectKey]map[types.UID]podFact{},
		running:  map[client.ObjectKey]time.Time{},
		admitted: map[placement]*kueue.Workload{},
	}
	var err error
	if o.hub, err = startCache(ctx, stage.Hub, &kueue.Workload{}, &batchv1.Job{}, &jobset.JobSet{}); err != nil {
		return nil, err
	}
	for _, worker := range stage.Workers {
		watched, err := startCache(ctx, worker, &kueue.Workload{}, &corev1.Pod{})
		if err != nil {
			return nil, err
		}
		o.workers[worker.Name] = watched
		for kind, note := range map[client.Object]func(string, any, time.Time){
			&corev1.Pod{}: o.recordPod, &kueue.Workload{}: o.recordCopy,
		} {
			if err := onEvents(ctx, watched, kind, func(object any) { note(worker.Name, object, time.Now()) }); err != nil {
				return nil, fmt.Errorf("watching %T of %s: %w", kind, worker.Name, err)
			}
		}
	}
	return o, nil
}

func startCache(ctx context.Context, site *installation.Site, kinds ...client.Object) (cache.Cache, error) {
	made, err := cache.New(site.Config, cache.Options{Scheme: installation.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("cache of %s: %w", site.Name, err)
	}
	for _, kind := range kinds {
		if _, err := made.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("watching %T of %s: %w", kind, site.Name, err)
		}
	}
	go func() { _ = made.Start(ctx) }() // ends with ctx, without an error
	if !made.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watching %s: %w", site.Name, ctx.Err())
	}
	return made, nil
}

func onEvents(ctx context.Context, watched cache.Cache, kind client.Object, handle func(any)) error {
	informer, err := watched.GetInformer(ctx, kind)
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: handle, UpdateFunc: func(_, object any) { handle(object) },
	})
	return err
}

// recordCopy remembers what a worker has admitted: the copy is gone soon after the job has finished.
func (o *observer) recordCopy(cluster string, object any, _ time.Time) {
	copied, ok := object.(*kueue.Workload)
	if !ok || copied.Status.Admission == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.admitted[placement{cluster, client.ObjectKeyFromObject(copied)}] = copied
}

// recordPod files a pod under the job at its root.
func (o *observer) recordPod(cluster string, object any, now time.Time) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	job := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[jobset.JobSetNameKey]}
	if job.Name == "" {
		job.Name = pod.Labels[batchv1.JobNameLabel]
	}
	if job.Name == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pods[job] == nil {
		o.pods[job] = map[types.UID]podFact{}
	}
	fact := podFact{Cluster: cluster, UID: string(pod.UID), Phase: pod.Status.Phase}
	o.pods[job][pod.UID] = fact
	if _, seen := o.running[job]; !seen && fact.hasRun() {
		o.running[job] = now
	}
}

func (o *observer) listPods(r request) []podFact {
	o.mu.Lock()
	defer o.mu.Unlock()
	var pods []podFact
	for _, pod := range o.pods[r.key()] {
		pods = append(pods, pod)
	}
	return pods
}

// firstRunning is when the job's first pod was seen running; false if none was.
func (o *observer) firstRunning(r request) (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.running[r.key()]
	return at, ok
}

// rows is the state of all requests by the caches.
func (o *observer) rows(ctx context.Context, all []request) ([]row, error) {
	var workloads kueue.WorkloadList
	if err := o.hub.List(ctx, &workloads); err != nil {
		return nil, fmt.Errorf("reading the hub's Workloads: %w", err)
	}
	byOwner := map[types.UID]*kueue.Workload{}
	for i := range workloads.Items {
		for _, owner := range workloads.Items[i].OwnerReferences {
			byOwner[owner.UID] = &workloads.Items[i]
		}
	}
	var rows []row
	for _, r := range all {
		f := facts{Pods: o.listPods(r)}
		uid, err := o.outcome(ctx, r, &f)
		if err != nil {
			return nil, err
		}
		f.Workload = byOwner[uid]
		if f.Workload != nil {
			if f.Copies, err = o.listCopies(ctx, f.Workload); err != nil {
				return nil, err
			}
			f.Admitted = o.admittedCopy(f.Workload)
		}
		rows = append(rows, newRow(r, f))
	}
	return rows, nil
}

// outcome fills in how the hub's job has ended, if it has, and returns the job's UID ("" if the cache does not have it yet).
func (o *observer) outcome(ctx context.Context, r request, f *facts) (types.UID, error) {
	if r.JobSet {
		var set jobset.JobSet
		err := o.hub.Get(ctx, r.key(), &set)
		for _, c := range set.Status.Conditions {
			if c.Status == "True" && c.Type == string(jobset.JobSetCompleted) {
				f.Outcome = finished
			}
			if c.Status == "True" && c.Type == string(jobset.JobSetFailed) {
				f.Outcome, f.Message = failed, c.Message
			}
		}
		return set.UID, client.IgnoreNotFound(err)
	}
	var job batchv1.Job
	err := o.hub.Get(ctx, r.key(), &job)
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Type == batchv1.JobComplete {
			f.Outcome = finished
		}
		if c.Status == corev1.ConditionTrue && c.Type == batchv1.JobFailed {
			f.Outcome, f.Message = failed, c.Message
		}
	}
	return job.UID, client.IgnoreNotFound(err)
}

// admittedCopy is the copy on the cluster that the workload went to, as it was last seen there; nil if there is none.
func (o *observer) admittedCopy(workload *kueue.Workload) *kueue.Workload {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.admitted[placement{deref(workload.Status.ClusterName), client.ObjectKeyFromObject(workload)}]
}

func (o *observer) listCopies(ctx context.Context, workload *kueue.Workload) (map[string]*kueue.Workload, error) {
	copies := map[string]*kueue.Workload{}
	for name, worker := range o.workers {
		copied := &kueue.Workload{}
		err := worker.Get(ctx, client.ObjectKeyFromObject(workload), copied)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading Workloads of %s: %w", name, err)
		}
		if err == nil {
			copies[name] = copied
		}
	}
	return copies, nil
}
