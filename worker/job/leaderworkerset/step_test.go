package leaderworkerset

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/kube"
)

func TestStep(t *testing.T) {
	now := time.Unix(1000, 0)
	facts := func(groups int, workloads ...Workload) Facts {
		return Facts{Now: now, Managed: true, Groups: groups, Workloads: workloads}
	}
	own := func(index int, change func(*Workload)) Workload {
		wl := Workload{Own: true, Index: index}
		if change != nil {
			change(&wl)
		}
		return wl
	}
	fifty := make([]int, 50)
	for i := range fifty {
		fifty[i] = i
	}
	for name, c := range map[string]struct {
		facts Facts
		want  Plan
	}{
		"a set in step":                    {facts(2, own(1, nil), own(0, nil)), Plan{}},
		"groups without a Workload":        {facts(3, own(1, nil)), Plan{Create: []int{0, 2}}},
		"many come in portions":            {facts(60), Plan{Create: fifty, RequeueAt: now.Add(kube.ConflictDelay)}},
		"exactly a portion":                {facts(50), Plan{Create: fifty}},
		"groups that are too many":         {facts(1, own(0, nil), own(1, nil), own(2, nil)), Plan{Delete: []int{1, 2}}},
		"a Workload of no group":           {facts(1, own(-1, nil), own(0, nil)), Plan{Delete: []int{0}}},
		"one that is outdated":             {facts(1, own(0, func(wl *Workload) { wl.Outdated = true })), Plan{Update: []int{0}}},
		"one that has ended stays":         {facts(1, own(0, func(wl *Workload) { wl.Finished, wl.Outdated = true, true })), Plan{}},
		"unless it was refused":            {facts(1, own(0, func(wl *Workload) { wl.Finished, wl.Refused = true, true })), Plan{Delete: []int{0}}},
		"and none of its pods runs":        {facts(1, own(0, func(wl *Workload) { wl.Finished, wl.Refused, wl.Used = true, true, true })), Plan{}},
		"one on its way out is waited for": {facts(1, own(0, func(wl *Workload) { wl.Deleting, wl.Guarded, wl.Used = true, true, true })), Plan{}},
		"until none of its pods runs":      {facts(1, own(0, func(wl *Workload) { wl.Deleting, wl.Guarded = true, true })), Plan{LetGo: []int{0}}},
		"nothing is decided on what was overtaken": {
			facts(1, own(0, func(wl *Workload) { wl.CacheBehind, wl.Outdated = true, true })), Plan{RequeueAt: now.Add(kube.MaxCacheLag)},
		},
		"those of an earlier set are left": {facts(1, Workload{Index: -1}, own(0, nil)), Plan{}},
		"but let go":                       {facts(0, Workload{Index: -1, Deleting: true, Guarded: true}), Plan{LetGo: []int{0}}},
		"a hub makes those of its copy":    {Facts{Managed: true, Copy: true, Groups: 2, Workloads: []Workload{own(5, nil)}}, Plan{}},
		"a set that is not ours":           {Facts{Groups: 2, Workloads: []Workload{own(5, nil)}}, Plan{}},
		"nobody knows what to ask for":     {Facts{Managed: true, Unknown: true, Groups: 2, Workloads: []Workload{own(5, nil)}}, Plan{Delete: []int{0}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Step(c.facts)); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzStep throws anything at Step.
func FuzzStep(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		dice := rand.New(rand.NewPCG(seed, 1))
		yes := func() bool { return dice.IntN(2) == 0 }
		facts := Facts{Now: time.Unix(1000, 0), Managed: dice.IntN(4) > 0, Copy: dice.IntN(4) == 0, Unknown: dice.IntN(4) == 0, Groups: dice.IntN(70) - 3}
		for range dice.IntN(10) {
			facts.Workloads = append(facts.Workloads, Workload{
				Own: yes(), Index: dice.IntN(12) - 2, CacheBehind: dice.IntN(8) == 0, Deleting: yes(), Finished: yes(), Guarded: yes(), Used: yes(),
				Outdated: yes(), Refused: yes(),
			})
		}
		checkLaws(t, facts, Step(facts))
	})
}

func checkLaws(t *testing.T, f Facts, p Plan) {
	t.Helper()
	for _, i := range p.LetGo {
		if wl := f.Workloads[i]; wl.Used || !wl.Deleting {
			t.Errorf("lets go of %+v", wl)
		}
	}
	for _, i := range slices.Concat(p.Delete, p.Update) {
		if wl := f.Workloads[i]; !f.Managed || f.Copy || !wl.Own || wl.Deleting || wl.CacheBehind {
			t.Errorf("writes %+v of %+v", wl, f)
		}
	}
	if len(p.Create) > 0 && (!f.Managed || f.Copy || f.Unknown) || len(p.Create) > maxCreations {
		t.Errorf("creates %v of %+v", p.Create, f)
	}
	for _, group := range p.Create {
		if group < 0 || group >= f.Groups || slices.ContainsFunc(f.Workloads, func(wl Workload) bool { return wl.Own && wl.Index == group }) {
			t.Errorf("creates %d of %+v", group, f)
		}
	}
	all := slices.Concat(p.LetGo, p.Delete, p.Update)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("one Workload is changed twice: %+v", p)
	}
}
