package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// class names a priority class of one of the two kinds.
type class struct {
	kind, name string
}

// missingClassError says that a priority class that the job names does not exist.
type missingClassError struct {
	class class
}

// Error implements error in the words of the public API (contract: messages.md 5.7).
func (e *missingClassError) Error() string {
	return fmt.Sprintf("%s %q not found", e.class.kind, e.class.name)
}

// jobsByClass remembers which jobs wait for a class to come. The zero value remembers none; it is safe for concurrent use.
type jobsByClass struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]class
}

// add remembers that a job waits for a class. A job waits for one class at a time.
func (a *jobsByClass) add(job types.NamespacedName, c class) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.jobs == nil {
		a.jobs = map[types.NamespacedName]class{}
	}
	a.jobs[job] = c
}

// remove forgets a job: it found its class, or is gone.
func (a *jobsByClass) remove(job types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.jobs, job)
}

// listJobs lists the jobs that wait for the class, sorted.
func (a *jobsByClass) listJobs(c class) []types.NamespacedName {
	a.mu.Lock()
	defer a.mu.Unlock()
	var jobs []types.NamespacedName
	for job, waits := range a.jobs {
		if waits == c {
			jobs = append(jobs, job)
		}
	}
	slices.SortFunc(jobs, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return jobs
}

// await remembers that the job waits for the class, and reports whether the class has come since it was looked for. A
// class that is created later than this call finds the job.
func (a *jobsByClass) await(ctx context.Context, reader client.Reader, job types.NamespacedName, c class) (came bool, err error) {
	a.add(job, c)
	var object client.Object = &kueue.WorkloadPriorityClass{}
	if c.kind == kueue.PodPriorityClassKind {
		object = &schedulingv1.PriorityClass{}
	}
	err = reader.Get(ctx, client.ObjectKey{Name: c.name}, object)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get %s %s: %w", c.kind, c.name, err)
	}
	return err == nil, nil
}

// creationPredicate passes the creation of an object only.
func creationPredicate() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// requestsForClass returns the jobs that wait for a class.
func (w *watches[T]) requestsForClass(_ context.Context, object client.Object) []reconcile.Request {
	return requestsForClass(w.waitingForClass, object)
}

// requestsForClass returns those of the jobs that wait for a class.
func requestsForClass(waiting *jobsByClass, object client.Object) []reconcile.Request {
	c := class{kind: kueue.WorkloadPriorityClassKind, name: object.GetName()}
	if _, pod := object.(*schedulingv1.PriorityClass); pod {
		c.kind = kueue.PodPriorityClassKind
	}
	var requests []reconcile.Request
	for _, job := range waiting.listJobs(c) {
		requests = append(requests, reconcile.Request{NamespacedName: job})
	}
	return requests
}
