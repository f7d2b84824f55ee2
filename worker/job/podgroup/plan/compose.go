package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxRoles is how many pod sets a Workload can have.
const maxRoles = 18

// Part is a pod set of the Workload that a group is to have.
type Part struct {
	Role
	// Member is the pod, by its place in the facts, whose template it has.
	Member int
}

// Representative returns the member that speaks for the group: of its oldest pods one that may still run, by its place in the list. It
// is negative if there is none.
func Representative(f *Facts) int {
	found := -1
	for i := range f.Members {
		m := &f.Members[i]
		switch {
		case found < 0, f.isPresent(m) && !f.isPresent(&f.Members[found]):
			found = i
		case f.isPresent(m) == f.isPresent(&f.Members[found]) && compareAge(m, &f.Members[found]) < 0:
			found = i
		}
	}
	return found
}

// Compose returns the pod sets of the group, sorted by name, or in the words of the public API why it has none yet (contract:
// job-kinds.md 10.5). A group that is admitted at once has one pod set, that of its first pod, for all.
func Compose(group string, f *Facts) ([]Part, error) {
	present := f.where(f.isPresent)
	if err := f.checkAgreement(present); err != nil {
		return nil, err
	}
	if f.TotalCount <= 0 {
		return nil, errTotalCount
	}
	if len(present) == 0 || len(present) < f.TotalCount && !f.Fast {
		return nil, fmt.Errorf("'%s' group has fewer runnable pods than expected", group)
	}
	if f.Fast {
		first := Representative(f)
		return []Part{{Role{f.Members[first].Role, f.TotalCount}, first}}, nil
	}
	parts := f.parts(present)
	if len(parts) > maxRoles {
		return nil, errRoles
	}
	return parts, nil
}

var (
	errTotalCount = errors.New("the total count of the pod group is missing or is not a positive number")
	errRoles      = fmt.Errorf("pod group can't include more than %d roles", maxRoles)
)

// parts counts the pods of each role.
func (f *Facts) parts(members []int) []Part {
	at := map[string]int{}
	var parts []Part
	for _, i := range members {
		m := &f.Members[i]
		k, found := at[m.Role]
		if !found {
			k = len(parts)
			at[m.Role] = k
			parts = append(parts, Part{Role{Name: m.Role}, i})
		}
		parts[k].Count++
		// Only of a pod that waits the whole spec is known.
		if one := &f.Members[parts[k].Member]; cmp.Or(yes(one.Gated)-yes(m.Gated), compareAge(m, one)) < 0 {
			parts[k].Member = i
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return strings.Compare(a.Name, b.Name) })
	return parts
}

// checkAgreement says which pods contradict each other about their group.
func (f *Facts) checkAgreement(members []int) error {
	for _, i := range members {
		m, first := &f.Members[i], &f.Members[members[0]]
		switch {
		case m.Queue != first.Queue:
			return fmt.Errorf("pods '%s' and '%s' has different queue names: %s!=%s", first.Name, m.Name, first.Queue, m.Queue)
		case m.TotalCount != first.TotalCount:
			return fmt.Errorf("pods '%s' and '%s' has different group total count values: %d!=%d", first.Name, m.Name, first.TotalCount, m.TotalCount)
		case m.Index >= 0 && m.Index >= m.TotalCount:
			return fmt.Errorf("pod '%s' has the index %d, which is not less than the group total count %d", m.Name, m.Index, m.TotalCount)
		}
	}
	return nil
}

// Differs tells whether a Workload that holds no quota, and of which no pod was let go, asks for other roles than its pods have
// by now: a pod of another role has taken the place of one that is gone.
func Differs(f *Facts, parts []Part) bool {
	if f.Single || f.Prebuilt || f.Reserved || f.HaveStarted() || !f.Fast && f.count(f.isPresent) != f.TotalCount {
		return false
	}
	same := func(p Part, r Role) bool { return p.Role == r }
	return !slices.EqualFunc(parts, f.Roles, same)
}

// Present lists the members that fill a place in their role, by their place in the list.
func Present(f *Facts) []int { return f.where(f.isPresent) }

// CountRoles counts those members by role.
func CountRoles(f *Facts) map[string]int {
	counts := map[string]int{}
	for i := range f.Members {
		if m := &f.Members[i]; f.isPresent(m) {
			counts[m.Role]++
		}
	}
	return counts
}
