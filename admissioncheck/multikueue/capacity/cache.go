package capacity

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/placement"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
)

// ReportGVK is the kind of the reports that workers publish.
func ReportGVK() schema.GroupVersionKind {
	return switchyard.GroupVersion.WithKind("CapacityReport")
}

// estimateTTL is how long what was derived from the queues of a cluster without report is used.
const estimateTTL = time.Second

// Objects are the objects of the workers as their caches show them. They are fleet.Fleet's.
type Objects interface {
	// Get returns an object, nil if there is none; false if the kind is not followed on the cluster.
	Get(cluster string, gvk schema.GroupVersionKind, key client.ObjectKey) (client.Object, bool)
	// GetFresh returns an object that is renewed in time, else nil.
	GetFresh(cluster string, gvk schema.GroupVersionKind, key client.ObjectKey) client.Object
	// List returns the objects of a kind on the cluster.
	List(cluster string, gvk schema.GroupVersionKind) []client.Object
}

// Cache holds the capacity of each cluster in the form that placement reads, computed once for each report. It is safe for
// concurrent use.
type Cache struct {
	objects Objects

	mu       sync.Mutex
	clusters map[string]entry
}

// entry is the capacity of one cluster.
type entry struct {
	// report is what the capacity was computed from; nil for an estimate from the queues.
	report     client.Object
	computedAt time.Time
	// capacity is nil if nothing is known.
	capacity *placement.Capacity
	// terms are those of the LocalQueues that were asked for since the capacity was computed.
	terms map[admission.Key]placement.Terms
}

// NewCache returns a Cache that knows no cluster yet.
func NewCache(objects Objects) *Cache { return &Cache{objects: objects, clusters: map[string]entry{}} }

// Forget drops a cluster.
func (c *Cache) Forget(cluster string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.clusters, cluster)
}

// TermsFor returns the terms of a LocalQueue on a cluster of that capacity; 0 if nothing is known of the cluster.
func (c *Cache) TermsFor(cluster string, capacity *placement.Capacity, local admission.Key) placement.Terms {
	if capacity == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.clusters[cluster]
	if last.capacity != capacity {
		return capacity.TermsFor(local)
	}
	terms, ok := last.terms[local]
	if !ok {
		terms = capacity.TermsFor(local)
		last.terms[local] = terms
	}
	return terms
}

// Lookup returns the capacity of a cluster: by its own report as long as that is renewed, else an estimate from its queues. It is nil
// if nothing is known. It must not be changed.
func (c *Cache) Lookup(cluster string, now time.Time) *placement.Capacity {
	report := c.objects.GetFresh(cluster, ReportGVK(), client.ObjectKey{Name: switchyard.CapacityReportName})
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.clusters[cluster]
	switch {
	case ok && report != nil && last.report == report:
		return last.capacity
	case ok && report == nil && last.report == nil && now.Before(last.computedAt.Add(estimateTTL)):
		return last.capacity
	}
	next := entry{report: report, computedAt: now, terms: map[admission.Key]placement.Terms{}}
	if full, is := report.(*switchyard.CapacityReport); is {
		next.capacity = fromReport(full)
	} else {
		next.capacity = c.estimate(cluster)
	}
	c.clusters[cluster] = next
	return next.capacity
}

// estimate returns the capacity of a cluster without report; nil unless its queues of both kinds are followed.
func (c *Cache) estimate(cluster string) *placement.Capacity {
	for _, gvk := range []schema.GroupVersionKind{checkconfig.LocalQueueGVK(), checkconfig.ClusterQueueGVK()} {
		if _, served := c.objects.Get(cluster, gvk, client.ObjectKey{}); !served {
			return nil
		}
	}
	return estimate(c.objects.List(cluster, checkconfig.ClusterQueueGVK()), c.objects.List(cluster, checkconfig.LocalQueueGVK()))
}
