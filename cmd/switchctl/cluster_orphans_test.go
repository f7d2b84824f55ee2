package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/exit"
)

func TestWhatAHubLeavesToPeopleIsAdoptedAndDiscarded(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"))
	mark := func(name string) string {
		return get(x, x.hub, "", "w1", &kueue.MultiKueueCluster{}).Annotations[name]
	}
	x.ok("cluster adopt w1 hub-a")
	x.ok("cluster adopt w1 hub-b")
	x.ok("cluster adopt w1 hub-a")
	if got := mark(switchyard.AdoptHubsAnnotation); got != "hub-a,hub-b" {
		t.Errorf("adopted %q", got)
	}
	x.fails("cluster discard w1", exit.Usage, "nothing was changed")
	if got := mark(switchyard.DiscardOrphansAnnotation); got != "" {
		t.Errorf("discarded before %q without a word", got)
	}
	x.ok("cluster discard w1 --yes")
	if _, err := time.Parse(time.RFC3339, mark(switchyard.DiscardOrphansAnnotation)); err != nil {
		t.Error(err)
	}
}

func TestACheckSaysWhoIsThere(t *testing.T) {
	cluster := workerCluster("w1", metav1.ConditionTrue, "Active", "Connected")
	cluster.Status.Conditions = append(cluster.Status.Conditions,
		metav1.Condition{Type: switchyard.IdentityCondition, Status: metav1.ConditionFalse, Reason: "OtherCluster", Message: "uid-1; another, uid-2"},
		metav1.Condition{Type: switchyard.OrphansCondition, Status: metav1.ConditionTrue, Reason: "OtherHub", Message: "1 of another hub"})
	x := newTerminal(t, cluster)
	code, out, _ := x.run("cluster check w1")
	for _, want := range []string{"uid-1; another, uid-2", "cluster gone w1", "1 of another hub", "cluster adopt w1 HUB", "cluster discard w1"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if code != exit.NotReady {
		t.Errorf("code %d", code)
	}
}
