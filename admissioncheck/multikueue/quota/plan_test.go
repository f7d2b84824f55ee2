package quota

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// parseGroups reads resource groups, separated by " | ": flavors, each "name: resource=quantity resource=quantity", separated
// by ";". A group covers what its flavors have, in the order of the first.
func parseGroups(text string) []kueue.ResourceGroup {
	var groups []kueue.ResourceGroup
	for _, part := range strings.Split(text, " | ") {
		var group kueue.ResourceGroup
		for _, flavor := range strings.Split(part, ";") {
			name, quotas, found := strings.Cut(strings.TrimSpace(flavor), ":")
			if !found {
				continue
			}
			f := kueue.FlavorQuotas{Name: kueue.ResourceFlavorReference(name)}
			for _, quota := range strings.Fields(quotas) {
				of, amount, _ := strings.Cut(quota, "=")
				f.Resources = append(f.Resources, kueue.ResourceQuota{Name: corev1.ResourceName(of), NominalQuota: resource.MustParse(amount)})
				if len(group.Flavors) == 0 {
					group.CoveredResources = append(group.CoveredResources, corev1.ResourceName(of))
				}
			}
			group.Flavors = append(group.Flavors, f)
		}
		if len(group.Flavors) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

func formatGroups(groups []kueue.ResourceGroup) string {
	var parts []string
	for _, g := range groups {
		var flavors []string
		for _, f := range g.Flavors {
			text := string(f.Name) + ":"
			for _, r := range f.Resources {
				text += fmt.Sprintf(" %s=%s", r.Name, r.NominalQuota.String())
			}
			flavors = append(flavors, text)
		}
		parts = append(parts, strings.Join(flavors, "; "))
	}
	return strings.Join(parts, " | ")
}

func TestTheQuotaOfAClusterQueueIsTheSumOfItsWorkers(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	automated := &kueue.MultiKueueConfig{Spec: kueue.MultiKueueConfigSpec{QuotaManagement: kueue.QuotaManagementAutomated}}
	up := func(name, groups string) quotaWorker {
		return quotaWorker{Name: name, Connected: true, GroupsKnown: true, Groups: parseGroups(groups)}
	}
	lost := func(name, groups string, since time.Duration) quotaWorker {
		w := up(name, groups)
		w.Connected, w.LostSince = false, now.Add(-since)
		return w
	}
	unseen := func(name string, since time.Duration) quotaWorker {
		return quotaWorker{Name: name, LostSince: now.Add(-since)}
	}
	const done = "True QuotaAutomated ClusterQueue quota is automatically managed based on MultiKueue workers."
	for _, tc := range []struct {
		name      string
		unchecked bool
		config    *kueue.MultiKueueConfig
		hub       string
		workers   []quotaWorker
		want      string // the hub's groups, unchanged if empty
		condition string
		wake      time.Duration
	}{
		{name: "a queue without a multikueue check is left alone", unchecked: true, config: automated, hub: "gpu: cpu=1"},
		{
			name: "a check without a config", hub: "gpu: cpu=1",
			condition: "False UnsupportedConfiguration The referenced MultiKueueConfig was not found.",
		},
		{
			name: "quota kept by hand", config: &kueue.MultiKueueConfig{}, hub: "gpu: cpu=1", workers: []quotaWorker{up("w1", "a: cpu=8")},
			condition: "False NotRequested MultiKueue manager quota automation has not been requested.",
		},
		{
			name: "a queue without a flavor", config: automated, hub: "", workers: []quotaWorker{up("w1", "a: cpu=8")},
			condition: "False UnsupportedConfiguration Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor",
		},
		{
			name: "one flavor gets the sum over all flavors, in the order of its resources", config: automated, hub: "any: memory=1Gi cpu=1 gpu=9",
			workers: []quotaWorker{up("w1", "a: cpu=8 memory=4Gi; b: cpu=500m memory=1Gi"), up("w2", "c: cpu=2 | d: memory=1Gi")},
			want:    "any: memory=6Gi cpu=10500m gpu=0", condition: done,
		},
		{
			name: "several flavors get the sums over those of their names", config: automated, hub: "a100: gpu=1; h100: gpu=1 | spot: cpu=7",
			workers: []quotaWorker{up("w1", "h100: gpu=8; a100: gpu=4"), up("w2", "h100: gpu=16 | spot: cpu=3")},
			want:    "a100: gpu=4; h100: gpu=24 | spot: cpu=3", condition: done,
		},
		{
			name: "a flavor without a namesake on the hub is not counted, and told", config: automated, hub: "a100: gpu=1; h100: gpu=1",
			workers:   []quotaWorker{up("w1", "h100: gpu=8; b200: gpu=4"), up("w2", "b200: gpu=4; a100: gpu=0")},
			want:      "a100: gpu=0; h100: gpu=8",
			condition: done + " Not counted, because the ClusterQueue has no flavor of that name: b200.",
		},
		{
			name: "resources that the hub does not cover", config: automated, hub: "any: cpu=3",
			workers:   []quotaWorker{up("w1", "a: cpu=8 gpu=1 disk=0"), up("w2", "a: gpu=1")},
			condition: "False UnsupportedConfiguration manager-side coveredResources is missing resources configured on workers: [disk gpu]",
		},
		{
			name: "resources that the flavor of that name does not cover", config: automated, hub: "a: gpu=1 | b: cpu=1",
			workers:   []quotaWorker{up("w1", "a: gpu=1 cpu=2")},
			condition: "False UnsupportedConfiguration manager-side coveredResources is missing resources configured on workers: [cpu]",
		},
		{
			name: "workers without a queue of the name", config: automated, hub: "any: cpu=1", workers: []quotaWorker{up("w1", "")},
			want: "any: cpu=0", condition: done,
		},
		{
			name: "a worker that was lost counts until its grace is over", config: automated, hub: "any: cpu=12",
			workers: []quotaWorker{up("w1", "a: cpu=8"), lost("w2", "a: cpu=4", time.Minute), lost("w3", "a: cpu=1", 2*time.Minute)},
			want:    "any: cpu=13", condition: done, wake: 13 * time.Minute,
		},
		{
			name: "and then no more", config: automated, hub: "any: cpu=12",
			workers: []quotaWorker{up("w1", "a: cpu=8"), lost("w2", "a: cpu=4", 15*time.Minute)},
			want:    "any: cpu=8", condition: done,
		},
		{
			name: "while nobody can be reached, the hub is the one that is cut off", config: automated, hub: "any: cpu=12",
			workers: []quotaWorker{lost("w1", "a: cpu=8", time.Hour), lost("w2", "a: cpu=4", time.Hour)},
			want:    "any: cpu=12", condition: done,
		},
		{
			name: "after a restart of the hub, quota does not fall because of a worker that was not seen yet", config: automated, hub: "any: cpu=12 gpu=1",
			workers: []quotaWorker{up("w1", "a: cpu=8 gpu=2"), unseen("w2", time.Minute)},
			want:    "any: cpu=12 gpu=2", condition: done, wake: 14 * time.Minute,
		},
		{
			name: "but it does after the grace", config: automated, hub: "any: cpu=12 gpu=1",
			workers: []quotaWorker{up("w1", "a: cpu=8 gpu=2"), unseen("w2", time.Hour)},
			want:    "any: cpu=8 gpu=2", condition: done,
		},
		{
			name: "a worker that does not let the hub look", config: automated, hub: "any: cpu=12",
			workers:   []quotaWorker{up("w1", "a: cpu=8"), {Name: "w2", Connected: true}},
			condition: "False UnsupportedConfiguration the hub may not read the ClusterQueues and LocalQueues of [w2]",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := planQuota(quotaInput{
				Now: now, Groups: parseGroups(tc.hub), HasCheck: !tc.unchecked, Config: tc.config, Workers: tc.workers, Grace: 15 * time.Minute,
			})
			want := tc.want
			if want == "" {
				want = tc.hub
			}
			if got := formatGroups(plan.Groups); got != want {
				t.Errorf("quota %q, want %q", got, want)
			}
			condition := ""
			if c := plan.Condition; c != nil {
				condition = fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
			}
			if condition != tc.condition {
				t.Errorf("condition %q, want %q", condition, tc.condition)
			}
			if wake := time.Duration(0); !plan.RecheckAt.IsZero() && plan.RecheckAt.Sub(now) != tc.wake || plan.RecheckAt.IsZero() && tc.wake != wake {
				t.Errorf("wakes at %v, want after %v", plan.RecheckAt, tc.wake)
			}
		})
	}
}

func TestLimitsOfBorrowingAndLendingStayAndTheInputIsNotChanged(t *testing.T) {
	groups := parseGroups("any: cpu=1 gpu=1")
	groups[0].Flavors[0].Resources[1].BorrowingLimit = ptr.To(resource.MustParse("5"))
	before := groups[0].DeepCopy()
	plan := planQuota(quotaInput{
		Groups: groups, HasCheck: true,
		Config:  &kueue.MultiKueueConfig{Spec: kueue.MultiKueueConfigSpec{QuotaManagement: kueue.QuotaManagementAutomated}},
		Workers: []quotaWorker{{Connected: true, GroupsKnown: true, Groups: parseGroups("a: gpu=8")}},
	})
	got := plan.Groups[0].Flavors[0].Resources
	if limit := got[1].BorrowingLimit; limit == nil || limit.Value() != 5 || got[1].NominalQuota.Value() != 8 {
		t.Errorf("quota %+v", got)
	}
	if diff := cmp.Diff(*before, groups[0]); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	if plan.Condition.Status != metav1.ConditionTrue {
		t.Errorf("condition %+v", plan.Condition)
	}
}

func TestAQuantityThatIsEqualKeepsItsSpelling(t *testing.T) {
	plan := planQuota(quotaInput{
		Groups: parseGroups("any: cpu=8000m"), HasCheck: true,
		Config:  &kueue.MultiKueueConfig{Spec: kueue.MultiKueueConfigSpec{QuotaManagement: kueue.QuotaManagementAutomated}},
		Workers: []quotaWorker{{Connected: true, GroupsKnown: true, Groups: parseGroups("a: cpu=8")}},
	})
	want := resource.MustParse("8000m")
	if got := plan.Groups[0].Flavors[0].Resources[0].NominalQuota; got.Cmp(want) != 0 || got.Format != want.Format {
		t.Errorf("quota %v", got)
	}
}
