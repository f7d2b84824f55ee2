package fleet

import (
	"slices"
	"strings"
	"sync"
)

// places finds the clusters on which there is something of a name, so that nobody has to look at all of them.
type places struct {
	mu sync.RWMutex
	of map[place][]finding
}

// place is where to look: at the objects of a kind, by its number among the Options' kinds, or at one of the below, and a
// store's key.
type place struct {
	kind int
	key  string
}

// What there is of a Workload besides objects: a lane, and a memory.
const (
	inLanes = -1 - iota
	inMemory
)

// finding is one cluster on which there is something. Objects count only as long as theirs is the session that the hub sees.
type finding struct {
	on      *supervisor
	session *session // nil for what is not an object
}

// visible tells whether the hub sees it.
func (f finding) visible() bool { return f.session == nil || f.on.present() == f.session }

func newPlaces() *places { return &places{of: map[place][]finding{}} }

// note enters a finding once, or takes it out.
func (p *places) note(at place, what finding, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if there && what.on.left {
		return
	}
	found := p.of[at]
	i := slices.Index(found, what)
	switch {
	case there && i < 0:
		p.of[at] = append(slices.Clip(found), what) // readers may hold the old one
	case !there && i >= 0 && len(found) == 1:
		delete(p.of, at)
	case !there && i >= 0:
		p.of[at] = slices.Concat(found[:i], found[i+1:])
	}
}

// leave takes out all that was found on a cluster, for good.
func (p *places) leave(s *supervisor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.left = true
	for at, found := range p.of {
		others := slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return f.on == s })
		if p.of[at] = others; len(others) == 0 {
			delete(p.of, at)
		}
	}
}

// find returns the clusters on which there is something at any of the places, by name.
func (p *places) find(at ...place) []*supervisor {
	var found []*supervisor
	for _, one := range at {
		p.mu.RLock()
		findings := p.of[one]
		p.mu.RUnlock()
		for _, f := range findings {
			if !slices.Contains(found, f.on) && f.visible() {
				found = append(found, f.on)
			}
		}
	}
	slices.SortFunc(found, func(a, b *supervisor) int { return strings.Compare(a.name, b.name) })
	return found
}
