package view

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/kueue/contracttest"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// activeConditionText is the Active condition of a queue, as clients read it.
func activeConditionText(a Activity) contracttest.Said {
	c := ActiveCondition(a, 1, baseTime)
	return contracttest.Said{Kind: c.Type + " " + string(c.Status) + " " + c.Reason, Text: c.Message}
}

func TestActiveConditionsOfClusterQueues(t *testing.T) {
	const mk, pr = kueue.MultiKueueControllerName, kueue.ProvisioningRequestControllerName
	queue := func(flavors ...string) *kueue.ClusterQueue { return testQueue("cq", "1", flavors...) }
	stopped := func(cq *kueue.ClusterQueue) *kueue.ClusterQueue { cq.Spec.StopPolicy = kueue.Hold; return cq }
	ending := func(cq *kueue.ClusterQueue) *kueue.ClusterQueue {
		cq.DeletionTimestamp = ptr.To(metav1.NewTime(baseTime))
		return cq
	}
	cyclic := queue("red")
	cyclic.Spec.CohortName = "loop"
	got := map[string]contracttest.Said{}
	for name, cq := range map[string]*kueue.ClusterQueue{
		"active":        withChecks(queue("red"), checkRule("mk1"), checkRule("ok")),
		"being deleted": ending(queue("red")),
		"being deleted, stopped and without flavor": ending(stopped(queue("blue"))),
		"stopped":                        stopped(queue("red")),
		"flavors missing":                queue("zinc", "red", "blue"),
		"checks missing":                 withChecks(queue("red"), checkRule("z-none"), checkRule("a-none")),
		"checks inactive":                withChecks(queue("red"), checkRule("z-off"), checkRule("a-off")),
		"two multikueue checks":          withChecks(queue("red"), checkRule("mk2"), checkRule("mk1")),
		"multikueue for a flavor":        withChecks(queue("red"), checkRule("mk1", "red")),
		"multikueue beside provisioning": withChecks(queue("red"), checkRule("pr2"), checkRule("pr1"), checkRule("mk1")),
		"topologies missing":             queue("tall", "red", "small"),
		"in a cycle of cohorts":          cyclic,
		"everything wrong":               stopped(withChecks(queue("tall", "blue"), checkRule("mk2"), checkRule("pr1"), checkRule("mk1", "tall"), checkRule("a-off"), checkRule("a-none"))),
	} {
		v := New(Options{Topologies: true})
		setObjects(v, testFlavor("red"), withTopology("rows", testFlavor("tall")), withTopology("rows", testFlavor("small")),
			testCheck("ok", "example.com/c", true), testCheck("a-off", "example.com/c", false), testCheck("z-off", "example.com/c", false),
			testCheck("mk1", mk, true), testCheck("mk2", mk, true), testCheck("pr1", pr, true), testCheck("pr2", pr, true),
			&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "loop"}, Spec: kueue.CohortSpec{ParentName: "loop"}}, cq)
		standing, _ := v.ClusterQueueStatus("cq")
		got[name] = activeConditionText(standing.Activity)
	}
	contracttest.Compare(t, "queues", got)
}

func TestActiveConditionsOfLocalQueues(t *testing.T) {
	stopped := testLocalQueue("lq", "cq")
	stopped.Spec.StopPolicy = kueue.Hold
	got := map[string]contracttest.Said{}
	for name, objects := range map[string][]any{
		"active":                           {testFlavor("red"), testQueue("cq", "1", "red"), testLocalQueue("lq", "cq")},
		"stopped":                          {testFlavor("red"), testQueue("cq", "1", "red"), stopped},
		"stopped and without ClusterQueue": {stopped},
		"without ClusterQueue":             {testLocalQueue("lq", "cq")},
		"ClusterQueue inactive":            {testQueue("cq", "1", "red"), testLocalQueue("lq", "cq")},
	} {
		v := New(Options{})
		setObjects(v, objects...)
		standing, _ := v.LocalQueueStatus(types.NamespacedName{Namespace: "ns", Name: "lq"})
		got[name] = activeConditionText(standing.Activity)
	}
	contracttest.Compare(t, "local queues", got)
}
