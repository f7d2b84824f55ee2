package fleet

import (
	"slices"
	"strings"
	"sync"
)

// clusterIndex finds the clusters that have an object of a name, so that no caller has to search all of them.
type clusterIndex struct {
	mu      sync.RWMutex
	entries map[indexKey][]indexEntry
}

// indexKey is where to look: at the objects of a kind, by its number (see kindSet), or at one of the below, and a
// store's key.
type indexKey struct {
	kind int
	key  string
}

// What there is of a Workload besides objects: an action queue, and what was deleted.
const (
	actionQueueKind = -1 - iota
	deletedObjectKind
)

// indexEntry is one cluster on which there is something. Objects count only as long as theirs is the session that the hub sees.
type indexEntry struct {
	supervisor *supervisor
	session    *session // nil for what is not an object
}

// isVisible tells whether the hub sees it.
func (f indexEntry) isVisible() bool {
	return f.session == nil || f.supervisor.currentSession() == f.session
}

func newClusterIndex() *clusterIndex { return &clusterIndex{entries: map[indexKey][]indexEntry{}} }

// update enters a finding once, or takes it out.
func (p *clusterIndex) update(at indexKey, what indexEntry, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if there && what.supervisor.removed {
		return
	}
	found := p.entries[at]
	i := slices.Index(found, what)
	switch {
	case there && i < 0:
		p.entries[at] = append(slices.Clip(found), what) // readers may hold the old one
	case !there && i >= 0 && len(found) == 1:
		delete(p.entries, at)
	case !there && i >= 0:
		p.entries[at] = slices.Concat(found[:i], found[i+1:])
	}
}

// removeCluster takes out all that was found on a cluster, for good.
func (p *clusterIndex) removeCluster(s *supervisor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.removed = true
	for at, found := range p.entries {
		others := slices.DeleteFunc(slices.Clone(found), func(f indexEntry) bool { return f.supervisor == s })
		if p.entries[at] = others; len(others) == 0 {
			delete(p.entries, at)
		}
	}
}

// lookup returns the clusters on which there is something at any of the places, by name.
func (p *clusterIndex) lookup(at ...indexKey) []*supervisor {
	var found []*supervisor
	for _, one := range at {
		p.mu.RLock()
		findings := p.entries[one]
		p.mu.RUnlock()
		for _, f := range findings {
			if !slices.Contains(found, f.supervisor) && f.isVisible() {
				found = append(found, f.supervisor)
			}
		}
	}
	slices.SortFunc(found, func(a, b *supervisor) int { return strings.Compare(a.name, b.name) })
	return found
}
