// Package quota keeps the nominal quotas of the hub's ClusterQueues at the sum of what their workers have (contract: multikueue.md 9).
package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// quotaInput is all that the quota of a hub's ClusterQueue depends on (contract: multikueue.md 9).
type quotaInput struct {
	// Now is the time.
	Now time.Time
	// Groups are the ClusterQueue's resource groups as they are.
	Groups []kueue.ResourceGroup
	// HasCheck tells that the ClusterQueue has a multikueue check.
	HasCheck bool
	// Config is the MultiKueueConfig of the check, nil if there is none.
	Config *kueue.MultiKueueConfig
	// Workers are the clusters of the config that exist.
	Workers []quotaWorker
	// Grace is how long a worker that cannot be reached counts as it was seen last.
	Grace time.Duration
}

// quotaWorker is what a worker cluster has to give to a ClusterQueue of the hub.
type quotaWorker struct {
	Name string
	// Groups are the resource groups of the ClusterQueues behind the LocalQueues of the same namespaces and names, as seen
	// last.
	Groups []kueue.ResourceGroup
	// Connected tells that the hub sees the worker now, LostSince since when it does not.
	Connected bool
	LostSince time.Time
	// GroupsKnown tells that Groups were seen at some time. A connected worker where they are not does not let us look.
	GroupsKnown bool
}

// quotaPlan is what the quota should be.
type quotaPlan struct {
	// Groups are the resource groups that the ClusterQueue should have.
	Groups []kueue.ResourceGroup
	// Condition is MultiKueueManagerQuotaAutomation as it should be, nil if it should not be there.
	Condition *metav1.Condition
	// RecheckAt is when the grace of a worker ends, zero if there is none to wait for.
	RecheckAt time.Time
}

// Messages of the condition MultiKueueManagerQuotaAutomation (contract: multikueue.md 9).
const (
	quotaNoConfig     = "The referenced MultiKueueConfig was not found."
	quotaNotRequested = "MultiKueue manager quota automation has not been requested."
	quotaNoFlavor     = "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor"
	quotaAutomated    = "ClusterQueue quota is automatically managed based on MultiKueue workers."
)

// planQuota decides what the quota of a ClusterQueue should be: the sum of what its workers have. With one flavor on the
// hub, that flavor gets the sum over all flavors of the workers; with several, each gets the sum over those of its name.
func planQuota(in quotaInput) quotaPlan {
	switch {
	case !in.HasCheck:
		return quotaPlan{Groups: in.Groups}
	case in.Config == nil:
		return in.unsupportedPlan(quotaNoConfig)
	case in.Config.Spec.QuotaManagement != kueue.QuotaManagementAutomated:
		return quotaPlan{Groups: in.Groups, Condition: quotaCondition(metav1.ConditionFalse, kueue.ReasonNotRequested, quotaNotRequested)}
	}
	hub := listFlavors(in.Groups)
	if len(hub) == 0 {
		return in.unsupportedPlan(quotaNoFlavor)
	}
	workers, held, wake := in.selectWorkers()
	if closed := listUnreadableWorkers(workers); len(closed) > 0 {
		return in.unsupportedPlan(fmt.Sprintf("the hub may not read the ClusterQueues and LocalQueues of %v", closed))
	}
	sum, nameless := sumQuotas(workers, hub)
	if missing := listUncoveredResources(sum, in.Groups); len(missing) > 0 {
		return in.unsupportedPlan(fmt.Sprintf("manager-side coveredResources is missing resources configured on workers: %v", missing))
	}
	message := quotaAutomated
	if len(nameless) > 0 {
		message += fmt.Sprintf(" Not counted, because the ClusterQueue has no flavor of that name: %s.", strings.Join(nameless, ", "))
	}
	return quotaPlan{
		Groups: applyQuotas(in.Groups, sum, held), Condition: quotaCondition(metav1.ConditionTrue, kueue.ReasonQuotaAutomated, message), RecheckAt: wake,
	}
}

func (in quotaInput) unsupportedPlan(message string) quotaPlan {
	return quotaPlan{Groups: in.Groups, Condition: quotaCondition(metav1.ConditionFalse, kueue.ReasonUnsupportedConfiguration, message)}
}

func quotaCondition(status metav1.ConditionStatus, reason kueue.Reason, message string) *metav1.Condition {
	return &metav1.Condition{
		Type: kueue.ClusterQueueMultiKueueManagerQuotaAutomation, Status: status, Reason: string(reason),
		Message: kube.Truncate(message, kube.MaxConditionMessage),
	}
}

// selectWorkers leaves out the workers whose grace is over. If none of them is connected, the hub itself is more likely cut
// off, and no grace ends. Held says that a worker counts that was never seen: what it gave before is then in the present
// quota, which must not fall.
func (in quotaInput) selectWorkers() (workers []quotaWorker, held bool, wake time.Time) {
	cutOff := !slices.ContainsFunc(in.Workers, func(w quotaWorker) bool { return w.Connected })
	for _, w := range in.Workers {
		if end := w.LostSince.Add(in.Grace); !w.Connected && !cutOff {
			if !in.Now.Before(end) {
				continue
			}
			if wake.IsZero() || end.Before(wake) {
				wake = end
			}
		}
		held = held || !w.Connected && !w.GroupsKnown
		workers = append(workers, w)
	}
	return workers, held, wake
}

// listUnreadableWorkers names the workers that are connected and do not let us look.
func listUnreadableWorkers(workers []quotaWorker) []string {
	var names []string
	for _, w := range workers {
		if w.Connected && !w.GroupsKnown {
			names = append(names, w.Name)
		}
	}
	slices.Sort(names)
	return names
}

// flavorResource is a resource of a flavor.
type flavorResource struct {
	flavor   kueue.ResourceFlavorReference
	resource corev1.ResourceName
}

// listFlavors lists the flavors of a ClusterQueue.
func listFlavors(groups []kueue.ResourceGroup) []kueue.ResourceFlavorReference {
	var names []kueue.ResourceFlavorReference
	for i := range groups {
		for j := range groups[i].Flavors {
			names = append(names, groups[i].Flavors[j].Name)
		}
	}
	return names
}

// sumQuotas is the sum of what the workers have, by the flavors of the hub, and the flavors that have none of their name there.
func sumQuotas(workers []quotaWorker, hub []kueue.ResourceFlavorReference) (sum map[flavorResource]resource.Quantity, nameless []string) {
	sum = map[flavorResource]resource.Quantity{}
	for _, w := range workers {
		for i := range w.Groups {
			for _, flavor := range w.Groups[i].Flavors {
				into := flavor.Name
				if len(hub) == 1 {
					into = hub[0]
				}
				if !slices.Contains(hub, into) {
					nameless = append(nameless, string(into))
					continue
				}
				for _, r := range flavor.Resources {
					q := sum[flavorResource{into, r.Name}]
					q.Add(r.NominalQuota)
					sum[flavorResource{into, r.Name}] = q
				}
			}
		}
	}
	slices.Sort(nameless)
	return sum, slices.Compact(nameless)
}

// listUncoveredResources lists the resources for which the hub's flavor has no place.
func listUncoveredResources(sum map[flavorResource]resource.Quantity, groups []kueue.ResourceGroup) []string {
	missing := maps.Clone(sum)
	for i := range groups {
		for j := range groups[i].Flavors {
			for _, r := range groups[i].CoveredResources {
				delete(missing, flavorResource{groups[i].Flavors[j].Name, r})
			}
		}
	}
	var names []string
	for of := range missing {
		names = append(names, string(of.resource))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// applyQuotas are the groups with the sums as nominal quotas, resources in the order in which they are covered. Limits of
// borrowing and lending stay; what no worker has is zero; what is held does not fall.
func applyQuotas(groups []kueue.ResourceGroup, sum map[flavorResource]resource.Quantity, held bool) []kueue.ResourceGroup {
	next := make([]kueue.ResourceGroup, 0, len(groups))
	for i := range groups {
		group := *groups[i].DeepCopy()
		for j := range group.Flavors {
			flavor := &group.Flavors[j]
			was := flavor.Resources
			flavor.Resources = nil
			for _, name := range group.CoveredResources {
				quota := kueue.ResourceQuota{Name: name}
				if at := slices.IndexFunc(was, func(r kueue.ResourceQuota) bool { return r.Name == name }); at >= 0 {
					quota = was[at]
				}
				if value := sum[flavorResource{flavor.Name, name}]; value.Cmp(quota.NominalQuota) > 0 || !held && value.Cmp(quota.NominalQuota) < 0 {
					quota.NominalQuota = value
				}
				flavor.Resources = append(flavor.Resources, quota)
			}
		}
		next = append(next, group)
	}
	return next
}
