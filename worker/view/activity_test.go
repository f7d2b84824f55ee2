package view

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func withChecks(cq *kueue.ClusterQueue, rules ...kueue.AdmissionCheckStrategyRule) *kueue.ClusterQueue {
	cq.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: rules}
	return cq
}

func checkRule(name string, onFlavors ...kueue.ResourceFlavorReference) kueue.AdmissionCheckStrategyRule {
	return kueue.AdmissionCheckStrategyRule{Name: kueue.AdmissionCheckReference(name), OnFlavors: onFlavors}
}

func TestAClusterQueueIsInactiveForItsFirstProblem(t *testing.T) {
	const mk, pr = kueue.MultiKueueControllerName, kueue.ProvisioningRequestControllerName
	checks := []any{
		testCheck("ok", "example.com/c", true), testCheck("off", "example.com/c", false),
		testCheck("mk1", mk, true), testCheck("mk2", mk, true), testCheck("pr", pr, true),
	}
	stopped := testQueue("cq", "1", "red")
	stopped.Spec.StopPolicy = kueue.HoldAndDrain
	ending := testQueue("cq", "1", "red")
	ending.DeletionTimestamp = ptr.To(metav1.NewTime(baseTime))
	for name, tc := range map[string]struct {
		cq       *kueue.ClusterQueue
		want     kueue.Reason
		mentions string
	}{
		"nothing wrong":              {withChecks(testQueue("cq", "1", "red"), checkRule("ok"), checkRule("mk1")), kueue.ReasonReady, ""},
		"being deleted":              {ending, kueue.ReasonTerminating, "terminating"},
		"stopped":                    {stopped, kueue.ReasonStopped, "stopped"},
		"a flavor is missing":        {testQueue("cq", "1", "red", "blue"), kueue.ReasonFlavorNotFound, "blue"},
		"a check is missing":         {withChecks(testQueue("cq", "1", "red"), checkRule("none")), kueue.ReasonAdmissionCheckNotFound, "none"},
		"a check is inactive":        {withChecks(testQueue("cq", "1", "red"), checkRule("off")), kueue.ReasonAdmissionCheckInactive, "off"},
		"two multikueue checks":      {withChecks(testQueue("cq", "1", "red"), checkRule("mk1"), checkRule("mk2")), kueue.ReasonMultipleMultiKueueAdmissionChecks, "mk1,mk2"},
		"multikueue on a flavor":     {withChecks(testQueue("cq", "1", "red"), checkRule("mk1", "red")), kueue.ReasonMultiKueueAdmissionCheckAppliedPerFlavor, "mk1"},
		"multikueue, provisioning":   {withChecks(testQueue("cq", "1", "red"), checkRule("mk1"), checkRule("pr")), kueue.ReasonMultiKueueWithProvisioningRequest, "pr"},
		"the message has them all":   {withChecks(testQueue("cq", "1", "blue"), checkRule("off")), kueue.ReasonFlavorNotFound, "off"},
		"provisioning alone is fine": {withChecks(testQueue("cq", "1", "red"), checkRule("pr")), kueue.ReasonReady, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := New(Options{})
			setObjects(v, testFlavor("red"))
			setObjects(v, checks...)
			setObjects(v, tc.cq)
			got, _ := v.ClusterQueueStatus("cq")
			if got.Reason != tc.want || got.Activity.Active != (tc.want == kueue.ReasonReady) || !strings.Contains(got.Message, tc.mentions) {
				t.Errorf("got %+v, want reason %s and a word of %q", got.Activity, tc.want, tc.mentions)
			}
		})
	}
}

func TestWhatAQueueMissesMayComeLater(t *testing.T) {
	v := New(Options{})
	setObjects(v, withChecks(testQueue("cq", "1", "red"), checkRule("c")), testLocalQueue("lq", "cq"))
	reasons := func() string {
		cq, _ := v.ClusterQueueStatus("cq")
		lq, _ := v.LocalQueueStatus(types.NamespacedName{Namespace: "ns", Name: "lq"})
		return string(cq.Reason) + "/" + string(lq.Reason)
	}
	for _, step := range []struct {
		change any
		want   string
	}{
		{nil, "FlavorNotFound/ClusterQueueIsInactive"},
		{testFlavor("red"), "AdmissionCheckNotFound/ClusterQueueIsInactive"},
		{testCheck("c", "example.com/c", false), "AdmissionCheckInactive/ClusterQueueIsInactive"},
		{testCheck("c", "example.com/c", true), "Ready/Ready"},
	} {
		if step.change != nil {
			setObjects(v, step.change)
		}
		if got := reasons(); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	deleteObject(v, testFlavor("red"))
	if got, want := reasons(), "FlavorNotFound/ClusterQueueIsInactive"; got != want {
		t.Errorf("flavor gone: got %s, want %s", got, want)
	}
	deleteObject(v, testQueue("cq", "1", "red"))
	if got, want := reasons(), "/ClusterQueueDoesNotExist"; got != want {
		t.Errorf("ClusterQueue gone: got %s, want %s", got, want)
	}
}

func testTopology(name string) *kueue.Topology {
	return &kueue.Topology{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// withTopology is a flavor whose nodes have a topology.
func withTopology(topology string, flavor *kueue.ResourceFlavor) *kueue.ResourceFlavor {
	flavor.Spec.TopologyName = kueue.TopologyReference(topology)
	return flavor
}

func TestAClusterQueueIsInactiveWhileATopologyOfItsFlavorsIsMissing(t *testing.T) {
	v := New(Options{Topologies: true})
	setObjects(v, withTopology("racks", testFlavor("red")), withTopology("racks", testFlavor("blue")), withTopology("rows", testFlavor("green")), testTopology("other"))
	setObjects(v, withChecks(testQueue("cq", "1", "red", "blue", "green"), checkRule("gone")), testLocalQueue("lq", "cq"), testWorkload("w", 1, 1))
	expect := func(step, reason, message string) {
		t.Helper()
		got, _ := v.ClusterQueueStatus("cq")
		lq, _ := v.LocalQueueStatus(types.NamespacedName{Namespace: "ns", Name: "lq"})
		if string(got.Reason) != reason || !strings.Contains(got.Message, message) || lq.Active != (reason == "Ready") {
			t.Errorf("%s: %+v, LocalQueue %+v, want %s with %q", step, got.Activity, lq.Activity, reason, message)
		}
	}
	expect("both missing", "AdmissionCheckNotFound", `missing AdmissionCheck(s): gone, there is no Topology "racks" for TAS flavor "red", there is no`)
	if plan := runCycle(v, baseTime); len(plan.Admit) != 0 {
		t.Error("admits into a queue without its topologies")
	}
	setObjects(v, testCheck("gone", "example.com", true), testTopology("racks"))
	expect("one has come", "TopologyNotFound", `there is no Topology "rows" for TAS flavor "green"`)
	setObjects(v, testTopology("rows"))
	expect("both have come", "Ready", "")
	if plan := runCycle(v, baseTime); len(plan.Admit) != 1 {
		t.Error("nobody is woken when the last topology comes")
	}
	deleteObject(v, testTopology("racks"))
	expect("one has gone", "TopologyNotFound", `no Topology "racks" for TAS flavor "red"`)
	deleteObject(v, testFlavor("green"))
	expect("a missing flavor comes first", "FlavorNotFound", "racks")
}

func TestTopologiesAreIgnoredWithTheGateOff(t *testing.T) {
	v := New(Options{})
	setObjects(v, withTopology("racks", testFlavor("red")), testQueue("cq", "1", "red"))
	if got, _ := v.ClusterQueueStatus("cq"); got.Reason != kueue.ReasonReady {
		t.Errorf("got %+v", got.Activity)
	}
}

func TestACycleOfCohortsLeavesItsQueuesActiveAndAdmitsNobody(t *testing.T) {
	cohort := func(name, parent string) *kueue.Cohort {
		return &kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.CohortSpec{ParentName: kueue.CohortReference(parent)}}
	}
	v := New(Options{})
	cq := testQueue("cq", "1", "red")
	cq.Spec.CohortName = "a"
	setObjects(v, testFlavor("red"), cq, cohort("a", "b"), cohort("b", "a"))
	closed := func() string {
		rooms, _ := v.TreeCapacities("cq")
		return rooms[0].InactiveMessage
	}
	if got, _ := v.ClusterQueueStatus("cq"); !got.Activity.Active || !strings.Contains(closed(), "cycle") {
		t.Errorf("in a cycle: %+v, closed: %q", got.Activity, closed())
	}
	setObjects(v, cohort("b", ""))
	if got, _ := v.ClusterQueueStatus("cq"); !got.Activity.Active || closed() != "" {
		t.Errorf("cycle broken: %+v, closed: %q", got.Activity, closed())
	}
}

func TestAStoppedLocalQueueHasNothingPending(t *testing.T) {
	v := newBasicView()
	setObjects(v, testWorkload("w", 1, 1))
	pending := func() int {
		got, _ := v.LocalQueueStatus(types.NamespacedName{Namespace: "ns", Name: "lq"})
		return got.Pending
	}
	if got := pending(); got != 1 {
		t.Errorf("running: %d pending, want 1", got)
	}
	stopped := testLocalQueue("lq", "cq")
	stopped.Spec.StopPolicy = kueue.Hold
	setObjects(v, stopped)
	if got := pending(); got != 0 {
		t.Errorf("stopped: %d pending, want 0", got)
	}
}

func TestChecksApplyByFlavor(t *testing.T) {
	v := New(Options{})
	setObjects(v, withChecks(testQueue("cq", "1", "red", "blue"), checkRule("b", "blue"), checkRule("a")))
	for _, tc := range []struct {
		flavor string
		want   int
	}{{"red", 1}, {"blue", 2}} {
		got, known := v.ChecksForFlavors("cq", []string{tc.flavor})
		if !known || len(got) != tc.want {
			t.Errorf("%s: %v, want %d checks", tc.flavor, got, tc.want)
		}
	}
	if _, known := v.ChecksForFlavors("other", nil); known {
		t.Error("a queue that is not there has no checks to apply")
	}
}
