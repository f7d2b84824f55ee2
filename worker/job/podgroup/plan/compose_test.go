package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheGroupAsksForItsPodsByRole(t *testing.T) {
	many := ""
	for i := range 19 {
		many += fmt.Sprintf("%s%d gated;", string("abcdefgh"[i%8])+string("abcdefgh"[i/8]), i)
	}
	for _, c := range []struct {
		name, members string
		total         int
		fast          bool
		want          string
		err           string
	}{
		{"one role", "a1 gated; a2 gated", 2, false, "a=2 by a1", ""},
		{"roles come by name, each with its oldest pod", "b1 gated; a3 gated; b0 gated", 3, false, "a=1 by a3 b=2 by b0", ""},
		{"failed pods do not count", "a1 failed; a2 gated; a3 gated", 2, false, "a=2 by a2", ""},
		{"nor do deleted ones that never ran", "a1 gated deleting; a2 gated", 2, false, "", "'train' group has fewer runnable pods than expected"},
		{"too few", "a1 gated", 2, false, "", "'train' group has fewer runnable pods than expected"},
		{"admitted at once", "a2 gated; a1 gated", 5, true, "a=5 by a1", ""},
		{"at once by the first pod, whatever came later", "a1 gated; b2 gated", 5, true, "a=5 by a1", ""},
		{"at once, but no pod may run", "a1 failed", 5, true, "", "'train' group has fewer runnable pods than expected"},
		{"different queues", "a1 gated; a2 gated other-queue", 2, false, "", "pods 'a1' and 'a2' has different queue names: q!=other"},
		{"a failed pod may have been in another queue", "a1 gated; a2 failed other-queue; a3 gated", 2, false, "a=2 by a1", ""},
		{"different counts", "a1 gated; a2 gated count-3", 2, false, "", "pods 'a1' and 'a2' has different group total count values: 2!=3"},
		{"an index beyond the count", "a1 gated; a2 gated index-2", 2, false, "", "pod 'a2' has the index 2, which is not less than the group total count 2"},
		{"no count", "a1 gated", 0, false, "", "the total count of the pod group is missing or is not a positive number"},
		{"too many roles", many, 19, false, "", "pod group can't include more than 18 roles"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &Facts{Now: noon, Members: parse(t, c.members), TotalCount: c.total, Fast: c.fast}
			parts, err := Compose("train", f)
			got := ""
			for i, p := range parts {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprintf("%s=%d by %s", p.Name, p.Count, f.Members[p.Member].Name)
			}
			if got != c.want {
				t.Errorf("parts are %q, want %q", got, c.want)
			}
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("error is %v, want %q", err, c.err)
			}
		})
	}
}

func TestAWorkloadThatHoldsNothingFollowsTheRolesOfItsPods(t *testing.T) {
	for name, c := range map[string]struct {
		members string
		states  []state
		want    bool
	}{
		"the same roles":                           {members: "a1 gated; a2 gated"},
		"a pod of another role took a place":       {members: "a1 gated; b2 gated", want: true},
		"not while quota is held":                  {members: "a1 gated; b2 gated", states: []state{admitted}},
		"nor when a pod was let go":                {members: "a1 pending; b2 gated"},
		"nor while pods are missing":               {members: "b1 gated"},
		"a group that is admitted at once may":     {members: "b1 gated", states: []state{fast}, want: true},
		"whoever made a prebuilt Workload decides": {members: "a1 gated; b2 gated", states: []state{prebuilt}},
	} {
		t.Run(name, func(t *testing.T) {
			f := groupOf(t, c.members)
			for _, apply := range c.states {
				apply(&f)
			}
			parts, _ := Compose("train", &f)
			if got := Differs(&f, parts); got != c.want {
				t.Errorf("differs: %v, want %v", got, c.want)
			}
		})
	}
}

func TestTheRepresentativeIsTheOldestThatMayRun(t *testing.T) {
	for members, want := range map[string]string{
		"a2 gated; a1 gated":            "a1",
		"a1 failed; a2 gated; a3 gated": "a2",
		"a2 failed; a1 failed":          "a1",
		"a1 ready deleting; a2 gated":   "a1",
	} {
		f := groupOf(t, members)
		if got := f.Members[Representative(&f)].Name; got != want {
			t.Errorf("of %q it is %s, want %s", members, got, want)
		}
	}
	if got := Representative(&Facts{}); got >= 0 {
		t.Errorf("of no pods it is %d", got)
	}
}

func TestReadinessAndReclaimablePods(t *testing.T) {
	for _, c := range []struct {
		name, members string
		states        []state
		ready         bool
		reclaimable   []Role
	}{
		{"all are ready", "a1 ready; a2 ready", nil, true, nil},
		{"one is not", "a1 ready; a2 running", nil, false, nil},
		{"one has not come", "a1 ready", nil, false, nil},
		{"one has succeeded", "a1 ready; a2 succeeded", nil, true, []Role{{"a", 1}}},
		{"one has failed", "a1 ready; a2 failed", nil, false, nil},
		{"one succeeded because it was told to terminate", "a1 ready; a2 succeeded told", nil, false, nil},
		{"by role", "b1 succeeded; a1 succeeded; b2 succeeded", nil, true, []Role{{"a", 1}, {"b", 2}}},
		{"a group that serves has none", "a1 succeeded; a2 ready", []state{serving}, false, nil},
		{"no pods", "", nil, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := groupOf(t, c.members)
			for _, apply := range c.states {
				apply(&f)
			}
			if got := Ready(&f); got != c.ready {
				t.Errorf("ready: %v, want %v", got, c.ready)
			}
			if diff := cmp.Diff(c.reclaimable, Reclaimable(&f)); len(c.reclaimable)+len(Reclaimable(&f)) > 0 && diff != "" {
				t.Errorf("reclaimable (-want +got):\n%s", diff)
			}
		})
	}
	if f := single(t, "a1 succeeded"); Reclaimable(&f) != nil || !Ready(&f) {
		t.Errorf("a single pod: %v, ready %v", Reclaimable(&f), Ready(&f))
	}
}
