// Package elastic decides about the slices of an elastic job: the Workloads that take over from each other when the job is scaled while it
// runs (contract: job-kinds.md 15). It is pure.
//
// At rest a job has one slice, by which it runs, and at most one that waits to take over from it. Any other has ended, or is ended here.
package elastic

import (
	"cmp"
	"slices"
	"time"
)

// Slice is a Workload of the job that has not finished.
type Slice struct {
	Name, UID string
	Created   time.Time
	// Reserved tells whether it holds quota, Evicted whether it has been told to stop since.
	Reserved, Evicted bool
	// Recorded tells that its dispatcher has recorded clusters that may run the job. What it knows would be lost with it.
	Recorded bool
	// Replaces is the name of the slice of the same job that it takes over from; empty if there is none.
	Replaces string
}

// Ending is a slice that is of no use any more.
type Ending struct {
	// Slice is its place in the list.
	Slice int
	// Replaced tells that another slice takes its place; otherwise it is out of sync with the job.
	Replaced bool
}

// None is the place of a slice that does not exist.
const None = -1

// Choice is what becomes of the slices of a job.
type Choice struct {
	// Running is the slice by which the job runs, or by which it waits if none holds quota; None if there are no slices.
	Running int
	// Next is the slice without quota that is to take over from Running; None if there is none.
	Next int
	// End lists the others that end now. One that has been told to stop keeps its quota until the job has stopped.
	End []Ending
}

// Choose sorts out the slices of a job: who runs, who is next, and who ends. No slice that holds quota ends unless another one that holds
// quota, and keeps it, is there in its place.
func Choose(list []Slice) Choice {
	list = withoutCycles(list)
	c := Choice{Running: running(list), Next: None}
	if c.Running == None {
		return c
	}
	leaving := list[c.Running].Evicted && list[c.Running].Reserved
	for i := range list {
		if isNext(list, i, c.Running) && (c.Next == None || isNewer(&list[i], &list[c.Next])) {
			c.Next = i
		}
	}
	for i := range list {
		// If the job has to stop first, what it holds until then is nobody else's; but what a slice holds that was taken over counts nowhere.
		if i != c.Running && i != c.Next && (!leaving || hasTakenOver(list, c.Running, i)) {
			c.End = append(c.End, Ending{Slice: i, Replaced: isReplaced(list, i)})
		}
	}
	return c
}

// withoutCycles returns the slices without the claims by which some would replace each other.
func withoutCycles(list []Slice) []Slice {
	byName := map[string]int{}
	for i := range list {
		byName[list[i].Name] = i
	}
	honest := slices.Clone(list)
	for i := range list {
		at, found := i, true
		for range list {
			if at, found = byName[list[at].Replaces]; !found || at == i {
				break
			}
		}
		if found && at == i {
			honest[i].Replaces = ""
		}
	}
	return honest
}

// running returns the place of the slice by which the job runs: the newest that holds quota and is not replaced by one that does as well;
// else one that has been told to stop and still holds quota; else one whose dispatcher knows of clusters that may run the job; else the newest that has not been told to stop; else the newest.
func running(list []Slice) int {
	best, rank := None, 0
	for i := range list {
		of := 1
		switch s := &list[i]; {
		case s.Reserved && !s.Evicted && !isTakenOver(list, i):
			of = 5
		case s.Reserved && s.Evicted:
			of = 4
		case s.Recorded && !isTakenOver(list, i):
			of = 3
		case !s.Evicted && !s.Reserved:
			of = 2
		}
		if best == None || of > rank || of == rank && isNewer(&list[i], &list[best]) {
			best, rank = i, of
		}
	}
	return best
}

// isTakenOver tells whether another slice that holds quota replaces the slice. If that one has been told to stop, so has the job.
func isTakenOver(list []Slice, i int) bool {
	return slices.ContainsFunc(list, func(s Slice) bool { return s.Replaces == list[i].Name && s.Reserved })
}

// hasTakenOver tells whether one slice replaces another, or one that does. There are no cycles.
func hasTakenOver(list []Slice, by, i int) bool {
	for at := by; at != None; {
		at = slices.IndexFunc(list, func(s Slice) bool { return s.Name == list[at].Replaces })
		if at == i {
			return true
		}
	}
	return false
}

// isReplaced tells whether another slice claims the place of the slice.
func isReplaced(list []Slice, i int) bool {
	return slices.ContainsFunc(list, func(s Slice) bool { return s.Replaces == list[i].Name })
}

// isNext tells whether the slice waits to take over from the one that runs.
func isNext(list []Slice, i, from int) bool {
	s := &list[i]
	if list[from].Recorded && !list[from].Reserved { // it gets the quota for all pods itself
		return false
	}
	return i != from && !s.Reserved && !s.Evicted && s.Replaces == list[from].Name
}

// isNewer orders slices strictly: by their creation, those of the same second by UID.
func isNewer(a, b *Slice) bool {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) > 0
}

// Count is the size of a pod set.
type Count struct {
	Name string
	Pods int32
}

// Change says how a job differs from one of its slices.
type Change int

const (
	// Same means that the counts agree.
	Same Change = iota
	// Shrunk means that some count is lower and none higher.
	Shrunk
	// Grown means that some count is higher.
	Grown
	// Incompatible means that the pod sets are others, which no slice can follow.
	Incompatible
)

// Compare returns how what the job asks for differs from what a slice has.
func Compare(slice, job []Count) Change {
	change := Same
	if len(slice) != len(job) {
		return Incompatible
	}
	for i, has := range slice {
		switch {
		case has.Name != job[i].Name:
			return Incompatible
		case job[i].Pods > has.Pods:
			change = Grown
		case job[i].Pods < has.Pods && change == Same:
			change = Shrunk
		}
	}
	return change
}

// Need is what the slices of a job have to have, given the pods that run.
type Need struct {
	// Counts are the pods to ask quota for.
	Counts []Count
	// Leaving tells that some of them run that the job does not want any more: they need quota until they are gone.
	Leaving bool
	// Overdrawn tells that more pods run than the job has quota for, of a pod set of which it wants more still: none is going to leave.
	Overdrawn bool
}

// Needed returns what a job needs that asks for some pods, and holds quota for others, of which so many run. A job that is made smaller and
// larger again at once loses no pod in between; so quota is given back only for pods that are gone. The counts are those asked for if the
// pod sets are others than those of the quota.
func Needed(asked, held []Count, running map[string]int32) Need {
	need := Need{Counts: slices.Clone(asked)}
	if Compare(held, asked) == Incompatible {
		return need
	}
	for i := range need.Counts {
		want, has, runs := &need.Counts[i].Pods, held[i].Pods, running[held[i].Name]
		switch {
		case *want > has && runs > has:
			need.Overdrawn = true
		case *want < has && runs > *want:
			need.Leaving, *want = true, min(runs, has)
		}
	}
	return need
}
