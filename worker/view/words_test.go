package view

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/kueue/contracttest"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// activeSaid is the Active condition of a queue, as clients read it.
func activeSaid(a Activity) contracttest.Said {
	c := ActiveCondition(a, 1, epoch)
	return contracttest.Said{Kind: c.Type + " " + string(c.Status) + " " + c.Reason, Text: c.Message}
}

func TestWhatQueuesSayOfThemselves(t *testing.T) {
	const mk, pr = kueue.MultiKueueControllerName, kueue.ProvisioningRequestControllerName
	queue := func(flavors ...string) *kueue.ClusterQueue { return testQueue("cq", "1", flavors...) }
	stopped := func(cq *kueue.ClusterQueue) *kueue.ClusterQueue { cq.Spec.StopPolicy = kueue.Hold; return cq }
	ending := func(cq *kueue.ClusterQueue) *kueue.ClusterQueue {
		cq.DeletionTimestamp = ptr.To(metav1.NewTime(epoch))
		return cq
	}
	cyclic := queue("red")
	cyclic.Spec.CohortName = "loop"
	got := map[string]contracttest.Said{}
	for name, cq := range map[string]*kueue.ClusterQueue{
		"active":        withChecks(queue("red"), rule("mk1"), rule("ok")),
		"being deleted": ending(queue("red")),
		"being deleted, stopped and without flavor": ending(stopped(queue("blue"))),
		"stopped":                        stopped(queue("red")),
		"flavors missing":                queue("zinc", "red", "blue"),
		"checks missing":                 withChecks(queue("red"), rule("z-none"), rule("a-none")),
		"checks inactive":                withChecks(queue("red"), rule("z-off"), rule("a-off")),
		"two multikueue checks":          withChecks(queue("red"), rule("mk2"), rule("mk1")),
		"multikueue for a flavor":        withChecks(queue("red"), rule("mk1", "red")),
		"multikueue beside provisioning": withChecks(queue("red"), rule("pr2"), rule("pr1"), rule("mk1")),
		"topologies missing":             queue("tall", "red", "small"),
		"in a cycle of cohorts":          cyclic,
		"everything wrong":               stopped(withChecks(queue("tall", "blue"), rule("mk2"), rule("pr1"), rule("mk1", "tall"), rule("a-off"), rule("a-none"))),
	} {
		v := New(Options{Topologies: true})
		feedAll(v, testFlavor("red"), on("rows", testFlavor("tall")), on("rows", testFlavor("small")),
			testCheck("ok", "example.com/c", true), testCheck("a-off", "example.com/c", false), testCheck("z-off", "example.com/c", false),
			testCheck("mk1", mk, true), testCheck("mk2", mk, true), testCheck("pr1", pr, true), testCheck("pr2", pr, true),
			&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "loop"}, Spec: kueue.CohortSpec{ParentName: "loop"}}, cq)
		standing, _ := v.ClusterQueue("cq")
		got[name] = activeSaid(standing.Activity)
	}
	contracttest.Compare(t, "queues", got)
}

func TestWhatLocalQueuesSayOfThemselves(t *testing.T) {
	stopped := testLocal("lq", "cq")
	stopped.Spec.StopPolicy = kueue.Hold
	got := map[string]contracttest.Said{}
	for name, objects := range map[string][]any{
		"active":                           {testFlavor("red"), testQueue("cq", "1", "red"), testLocal("lq", "cq")},
		"stopped":                          {testFlavor("red"), testQueue("cq", "1", "red"), stopped},
		"stopped and without ClusterQueue": {stopped},
		"without ClusterQueue":             {testLocal("lq", "cq")},
		"ClusterQueue inactive":            {testQueue("cq", "1", "red"), testLocal("lq", "cq")},
	} {
		v := New(Options{})
		feedAll(v, objects...)
		standing, _ := v.LocalQueue(types.NamespacedName{Namespace: "ns", Name: "lq"})
		got[name] = activeSaid(standing.Activity)
	}
	contracttest.Compare(t, "local queues", got)
}
