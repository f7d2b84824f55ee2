package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// words are what a test says of a pod.
var words = map[string]func(*Member){
	"gated":       func(m *Member) { m.Gated = true },
	"pending":     func(*Member) {},
	"bound":       func(m *Member) { m.OnNode = true },
	"running":     func(m *Member) { m.Phase, m.OnNode = Running, true },
	"ready":       func(m *Member) { m.Phase, m.OnNode, m.Ready = Running, true, true },
	"succeeded":   func(m *Member) { m.Phase, m.OnNode = Succeeded, true },
	"failed":      func(m *Member) { m.Phase, m.OnNode = Failed, true },
	"deleting":    func(m *Member) { m.Deleting, m.DeleteBy = true, noon.Add(30*time.Second) },
	"overdue":     func(m *Member) { m.Deleting, m.DeleteBy = true, noon.Add(-time.Second) },
	"told":        func(m *Member) { m.Told = true },
	"free":        func(m *Member) { m.Finalizer = false },
	"new":         func(m *Member) { m.Owner = false },
	"misfit":      func(m *Member) { m.CannotPlace = true },
	"unretriable": func(m *Member) { m.Unretriable = true },
	"other-queue": func(m *Member) { m.Queue = "other" },
	"count-3":     func(m *Member) { m.TotalCount = 3 },
	"index-2":     func(m *Member) { m.Index = 2 },
}

// parse makes members of a text such as "a1 gated; a2 running deleting". The letters of a name are its role, its number is how long
// after the first it was made. All have our finalizer and own the Workload unless the words say otherwise, and the group has two pods.
func parse(t *testing.T, text string) []Member {
	t.Helper()
	var members []Member
	for entry := range strings.SplitSeq(text, ";") {
		fields := strings.Fields(entry)
		if len(fields) == 0 {
			continue
		}
		role := strings.TrimRight(fields[0], "0123456789")
		m := Member{Name: fields[0], Role: role, Finalizer: true, Owner: true, Index: -1, Queue: "q", TotalCount: 2}
		age := 0
		_, _ = fmt.Sscanf(fields[0][len(role):], "%d", &age)
		m.Created = noon.Add(time.Duration(age-100) * time.Second)
		for _, word := range fields[1:] {
			apply := words[word]
			if apply == nil {
				t.Fatalf("%q is no word", word)
			}
			apply(&m)
		}
		members = append(members, m)
	}
	return members
}

// groupOf is a group of two pods of role a with the Workload that is theirs.
func groupOf(t *testing.T, members string) Facts {
	t.Helper()
	return Facts{
		Now: noon, Members: parse(t, members), TotalCount: 2, Link: LinkMatching,
		Workload: Workload{Roles: []Role{{"a", 2}}, HasPodOwners: true, Finalizer: true},
	}
}

func single(t *testing.T, members string) Facts {
	t.Helper()
	f := groupOf(t, members)
	f.Single, f.TotalCount, f.Roles = true, 0, []Role{{"main", 1}}
	return f
}

// show writes a plan as tests want it: the action and its reason, then pods, then what else there is.
func show(f Facts, p Plan) string {
	var parts []string
	for _, c := range p.Pods {
		var steps []string
		for _, step := range []struct {
			name string
			on   bool
		}{{"ungate", c.Ungate}, {"tell", c.Tell}, {"finalize", c.Finalize}, {"delete", c.Delete}, {"excess", c.Excess}} {
			if step.on {
				steps = append(steps, step.name)
			}
		}
		parts = append(parts, f.Members[c.Member].Name+" "+strings.Join(steps, "+"))
	}
	if p.Waiting {
		parts = append(parts, "waiting")
	}
	if p.Outcome != nil {
		parts = append(parts, fmt.Sprintf("success=%v %q", p.Outcome.Success, p.Outcome.Message))
	}
	if !p.RequeueAt.IsZero() {
		parts = append(parts, "again in "+p.RequeueAt.Sub(f.Now).String())
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", p.Do, p.Reason, strings.Join(parts, ", ")), ": ")
}
