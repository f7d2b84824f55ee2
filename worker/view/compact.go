package view

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// maxCacheEntries is how many different pod sets, and how many different assignments, are remembered for sharing.
const maxCacheEntries = 1024

// CompactTransform returns a transform for the informers' cache that keeps Workloads small: without managed fields, and with those parts
// shared that many have in common, as a thousand copies of a job have the same pod sets. A cached object must not be changed
// anyway; here it would change others.
func CompactTransform() toolscache.TransformFunc {
	s := &compactor{
		podSets: map[string][]kueue.PodSet{}, assignments: map[string][]kueue.PodSetAssignment{},
		requests: map[string][]kueue.PodSetRequest{},
	}
	return func(object any) (any, error) {
		if wl, ok := object.(*kueue.Workload); ok {
			wl.ManagedFields = nil
			s.compact(wl)
		}
		return object, nil
	}
}

// compactor remembers what it has seen, up to a bound; then it starts over.
type compactor struct {
	mu          sync.Mutex
	podSets     map[string][]kueue.PodSet
	assignments map[string][]kueue.PodSetAssignment
	requests    map[string][]kueue.PodSetRequest
	buffer      []byte
}

// compact replaces the parts of a Workload that equal ones seen before by those. The Workload must not be in use elsewhere
// yet.
func (s *compactor) compact(wl *kueue.Workload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ok bool
	if s.buffer, ok = appendPodSetsKey(s.buffer[:0], wl.Spec.PodSets); ok {
		wl.Spec.PodSets = lookupOrStore(s.podSets, s.buffer, wl.Spec.PodSets)
	}
	if a := wl.Status.Admission; a != nil {
		if s.buffer, ok = appendAssignmentsKey(s.buffer[:0], a.PodSetAssignments); ok {
			a.PodSetAssignments = lookupOrStore(s.assignments, s.buffer, a.PodSetAssignments)
		}
		intern(&a.ClusterQueue)
	}
	s.buffer = appendRequestsKey(s.buffer[:0], wl.Status.ResourceRequests)
	wl.Status.ResourceRequests = lookupOrStore(s.requests, s.buffer, wl.Status.ResourceRequests)
	intern(&wl.Namespace)
	intern(&wl.Spec.QueueName)
	for i := range wl.Status.Conditions {
		c := &wl.Status.Conditions[i]
		intern(&c.Type)
		intern(&c.Status)
		intern(&c.Reason)
		intern(&c.Message)
	}
}

// lookupOrStore returns what is remembered under the text, which is the list itself if there was nothing.
func lookupOrStore[T any](known map[string][]T, text []byte, list []T) []T {
	if len(list) == 0 {
		return list
	}
	if one, found := known[string(text)]; found {
		return one
	}
	if len(known) >= maxCacheEntries {
		clear(known)
	}
	known[string(text)] = list
	return list
}

// intern makes equal strings share their memory for as long as one of them is in use.
func intern[T ~string](s *T) { *s = T(unique.Make(string(*s)).Value()) }

// appendPodSetsKey appends a text that only equal pod sets share; false if there is none.
func appendPodSetsKey(b []byte, sets []kueue.PodSet) ([]byte, bool) {
	for i := range sets {
		ps := &sets[i]
		if ps.TopologyRequest != nil {
			return b, false
		}
		b = admission.AppendKeyPart(b, string(ps.Name))
		b = strconv.AppendInt(b, int64(ps.Count), 10)
		b = append(b, ' ')
		if ps.MinCount != nil {
			b = strconv.AppendInt(b, int64(*ps.MinCount), 10)
		}
		size := ps.Template.Size()
		b = admission.AppendKeyPart(b, strconv.Itoa(size))
		at := len(b)
		b = slices.Grow(b, size)[:at+size]
		if _, err := ps.Template.MarshalToSizedBuffer(b[at:]); err != nil {
			return b, false
		}
	}
	return b, true
}

// appendAssignmentsKey appends a text that only equal assignments share; false if there is none, as with topologies.
func appendAssignmentsKey(b []byte, list []kueue.PodSetAssignment) ([]byte, bool) {
	for i := range list {
		psa := &list[i]
		if psa.TopologyAssignment != nil || psa.DelayedTopologyRequest != "" {
			return b, false
		}
		b = admission.AppendKeyPart(b, string(psa.Name))
		if psa.Count != nil {
			b = strconv.AppendInt(b, int64(*psa.Count), 10)
		}
		b = append(b, 'f')
		for _, name := range slices.Sorted(maps.Keys(psa.Flavors)) {
			b = admission.AppendKeyPart(admission.AppendKeyPart(b, string(name)), string(psa.Flavors[name]))
		}
		b = append(b, 'u')
		b = appendResourceListKey(b, psa.ResourceUsage)
	}
	return b, true
}

func appendRequestsKey(b []byte, list []kueue.PodSetRequest) []byte {
	for i := range list {
		b = appendResourceListKey(append(admission.AppendKeyPart(b, string(list[i].Name)), 'r'), list[i].Resources)
	}
	return b
}

func appendResourceListKey(b []byte, list corev1.ResourceList) []byte {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		b = admission.AppendKeyPart(admission.AppendKeyPart(b, string(name)), q.String())
	}
	return b
}
