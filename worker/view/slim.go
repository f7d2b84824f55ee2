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
)

// remembered is how many different pod sets, and how many different assignments, are remembered for sharing.
const remembered = 1024

// Slim returns a transform for the informers' cache that keeps Workloads small: without managed fields, and with those parts
// shared that many have in common, as a thousand copies of a job have the same pod sets. A cached object must not be changed
// anyway; here it would change others.
func Slim() toolscache.TransformFunc {
	s := &slim{
		podSets: map[string][]kueue.PodSet{}, assignments: map[string][]kueue.PodSetAssignment{},
		requests: map[string][]kueue.PodSetRequest{},
	}
	return func(object any) (any, error) {
		if wl, ok := object.(*kueue.Workload); ok {
			wl.ManagedFields = nil
			s.shrink(wl)
		}
		return object, nil
	}
}

// slim remembers what it has seen, up to a bound; then it starts over.
type slim struct {
	mu          sync.Mutex
	podSets     map[string][]kueue.PodSet
	assignments map[string][]kueue.PodSetAssignment
	requests    map[string][]kueue.PodSetRequest
	scratch     []byte
}

func (s *slim) shrink(wl *kueue.Workload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ok bool
	if s.scratch, ok = spellPodSets(s.scratch[:0], wl.Spec.PodSets); ok {
		wl.Spec.PodSets = shared(s.podSets, s.scratch, wl.Spec.PodSets)
	}
	if a := wl.Status.Admission; a != nil {
		if s.scratch, ok = spellAssignments(s.scratch[:0], a.PodSetAssignments); ok {
			a.PodSetAssignments = shared(s.assignments, s.scratch, a.PodSetAssignments)
		}
		intern(&a.ClusterQueue)
	}
	s.scratch = spellRequests(s.scratch[:0], wl.Status.ResourceRequests)
	wl.Status.ResourceRequests = shared(s.requests, s.scratch, wl.Status.ResourceRequests)
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

// shared returns what is remembered under the text, which is the list itself if there was nothing.
func shared[T any](known map[string][]T, text []byte, list []T) []T {
	if len(list) == 0 {
		return list
	}
	if one, found := known[string(text)]; found {
		return one
	}
	if len(known) >= remembered {
		clear(known)
	}
	known[string(text)] = list
	return list
}

// intern makes equal strings share their memory for as long as one of them is in use.
func intern[T ~string](s *T) { *s = T(unique.Make(string(*s)).Value()) }

// spellPodSets appends a text that only equal pod sets share; false if there is none.
func spellPodSets(b []byte, sets []kueue.PodSet) ([]byte, bool) {
	for i := range sets {
		ps := &sets[i]
		if ps.TopologyRequest != nil {
			return b, false
		}
		b = spell(b, string(ps.Name))
		b = strconv.AppendInt(b, int64(ps.Count), 10)
		b = append(b, ' ')
		if ps.MinCount != nil {
			b = strconv.AppendInt(b, int64(*ps.MinCount), 10)
		}
		size := ps.Template.Size()
		b = spell(b, strconv.Itoa(size))
		at := len(b)
		b = slices.Grow(b, size)[:at+size]
		if _, err := ps.Template.MarshalToSizedBuffer(b[at:]); err != nil {
			return b, false
		}
	}
	return b, true
}

func spellAssignments(b []byte, list []kueue.PodSetAssignment) ([]byte, bool) {
	for i := range list {
		psa := &list[i]
		if psa.TopologyAssignment != nil || psa.DelayedTopologyRequest != "" {
			return b, false
		}
		b = spell(b, string(psa.Name))
		if psa.Count != nil {
			b = strconv.AppendInt(b, int64(*psa.Count), 10)
		}
		b = append(b, 'f')
		for _, name := range slices.Sorted(maps.Keys(psa.Flavors)) {
			b = spell(spell(b, string(name)), string(psa.Flavors[name]))
		}
		b = append(b, 'u')
		b = spellList(b, psa.ResourceUsage)
	}
	return b, true
}

func spellRequests(b []byte, list []kueue.PodSetRequest) []byte {
	for i := range list {
		b = spellList(append(spell(b, string(list[i].Name)), 'r'), list[i].Resources)
	}
	return b
}

func spellList(b []byte, list corev1.ResourceList) []byte {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		b = spell(spell(b, string(name)), q.String())
	}
	return b
}

// spell writes the length before the text, so that no two lists of texts read the same.
func spell(b []byte, text string) []byte {
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ':')
	return append(b, text...)
}
