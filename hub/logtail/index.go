package logtail

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tailIndex knows which tails are kept, and which of them have to go. It is safe for concurrent use.
type tailIndex struct {
	maxJobs int
	maxAge  time.Duration

	mu sync.Mutex
	// tails are the times at which ConfigMaps were made, by the API server's clock; recent are those that were put here since the last list was
	// begun.
	tails  map[client.ObjectKey]time.Time
	recent map[client.ObjectKey]time.Time
}

func newTailIndex(maxJobs int, maxAge time.Duration) *tailIndex {
	return &tailIndex{maxJobs: maxJobs, maxAge: maxAge, tails: map[client.ObjectKey]time.Time{}, recent: map[client.ObjectKey]time.Time{}}
}

func (s *tailIndex) has(key client.ObjectKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.tails[key]
	return ok
}

func (s *tailIndex) put(key client.ObjectKey, made time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tails[key], s.recent[key] = made, made
}

func (s *tailIndex) remove(key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tails, key)
	delete(s.recent, key)
}

// beginList is to be called before all tails are listed, endList with what there is. What is put meanwhile need not be in the list.
func (s *tailIndex) beginList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.recent)
}

func (s *tailIndex) endList(tails map[client.ObjectKey]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, made := range s.recent {
		tails[key] = made
	}
	s.tails = tails
}

// isWorthKeeping reports whether a tail of a job that finished at a time would not be the next to go.
func (s *tailIndex) isWorthKeeping(key client.ObjectKey, finishedAt, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(finishedAt) >= s.maxAge {
		return false
	}
	if len(s.tails) < s.maxJobs {
		return true
	}
	with := maps.Clone(s.tails)
	with[key] = finishedAt
	return !slices.Contains(surplus(with, s.maxJobs), key)
}

// overdue returns the tails that have to go.
func (s *tailIndex) overdue(now time.Time) []client.ObjectKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []client.ObjectKey
	young := map[client.ObjectKey]time.Time{}
	for key, made := range s.tails {
		if now.Sub(made) >= s.maxAge {
			gone = append(gone, key)
		} else {
			young[key] = made
		}
	}
	return append(gone, surplus(young, s.maxJobs)...)
}

// surplus are the tails that go where there are more than limit: one after the other the oldest of the namespace that has most. So a namespace
// that fills up with failures, or with what only looks like tails, takes nothing from the others.
func surplus(tails map[client.ObjectKey]time.Time, limit int) []client.ObjectKey {
	byNamespace := map[string][]client.ObjectKey{}
	for key := range tails {
		byNamespace[key.Namespace] = append(byNamespace[key.Namespace], key)
	}
	for _, keys := range byNamespace {
		slices.SortFunc(keys, func(a, b client.ObjectKey) int {
			return cmp.Or(tails[a].Compare(tails[b]), cmp.Compare(a.Name, b.Name))
		})
	}
	var gone []client.ObjectKey
	for left := len(tails); left > limit; left-- {
		most := ""
		for namespace, keys := range byNamespace {
			other := byNamespace[most]
			if len(keys) > len(other) || len(keys) == len(other) && cmp.Or(tails[keys[0]].Compare(tails[other[0]]), cmp.Compare(namespace, most)) < 0 {
				most = namespace
			}
		}
		gone = append(gone, byNamespace[most][0])
		byNamespace[most] = byNamespace[most][1:]
	}
	return gone
}
