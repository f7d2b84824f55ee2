package leaderworkerset

import (
	"time"

	"switchyard.dev/worker/kube"
)

// maxCreations bounds how many Workloads are made in one look. The rest is for the next.
const maxCreations = 50

// Facts is all that decides what to do about the Workloads of a set.
type Facts struct {
	Now time.Time
	// Managed tells that the set is there and its pods wait because of us.
	Managed bool
	// Copy tells that a hub made the set, and makes its Workloads.
	Copy bool
	// Unknown tells that nobody can say what the groups ask for: their size is no size, or a priority class does not exist.
	Unknown bool
	// Groups is how many groups the set has.
	Groups int
	// Workloads are those of sets of the name, in any order.
	Workloads []Workload
}

// Workload is one Workload.
type Workload struct {
	// Own tells that it is of this very set, and nothing controls it. Index is its group, negative if it has the name of none.
	Own   bool
	Index int
	// CacheBehind tells that the cache shows it as it was before our own last write.
	CacheBehind bool
	// Deleting and Finished are its life; Guarded tells that our finalizer is on it because of us, Used, that pods of its group use quota.
	Deleting, Finished, Guarded, Used bool
	// Outdated tells that it does not say what it should by now; Refused, that it has ended without asking for what a group asks for.
	Outdated, Refused bool
}

// Plan is what to do about Workloads, each by its place in the facts, and about groups that have none. Each of the changes is about
// another Workload: none waits for another.
type Plan struct {
	// LetGo are to lose our finalizer; Delete are not wanted, or make room for another; Update do not say what they should.
	LetGo, Delete, Update []int
	// Create are groups, in ascending order, that are to get a Workload.
	Create []int
	// RequeueAt is when to look again though nothing changed; zero for never.
	RequeueAt time.Time
}

// Step decides what to do about the Workloads of a set. It is total.
func Step(f Facts) Plan {
	var p Plan
	taken := make(map[int]bool, len(f.Workloads))
	for i, wl := range f.Workloads {
		decides := f.Managed && !f.Copy && wl.Own
		switch {
		case wl.Deleting && wl.Guarded && !wl.Used:
			p.LetGo = append(p.LetGo, i)
		case !decides || wl.Deleting:
		case wl.CacheBehind:
			p.RequeueAt = f.Now.Add(kube.MaxCacheLag)
		case wl.Index < 0 || wl.Index >= f.Groups || wl.Finished && wl.Refused && !wl.Used:
			p.Delete = append(p.Delete, i)
		case wl.Outdated && !wl.Finished:
			p.Update = append(p.Update, i)
		}
		if wl.Own {
			taken[wl.Index] = true
		}
	}
	if !f.Managed || f.Copy || f.Unknown {
		return p
	}
	for group := range f.Groups {
		if taken[group] {
			continue
		}
		if len(p.Create) == maxCreations {
			p.RequeueAt = f.Now.Add(kube.ConflictDelay) // the cache shows those of this look by then
			break
		}
		p.Create = append(p.Create, group)
	}
	return p
}
