package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/exit"
)

func aFleet(t *testing.T) *terminal {
	t.Helper()
	w2 := workerCluster("w2", metav1.ConditionFalse, "ClientConnectionFailed", "connection refused")
	w2.Annotations = map[string]string{switchyard.CordonedAnnotation: "true"}
	return newTerminal(t,
		workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), w2, fleetConfig("workers", "w1", "w2"),
		&kueue.Workload{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "running"},
			Status:     kueue.WorkloadStatus{ClusterName: ptr.To("w1")},
		},
		&kueue.Workload{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "offered"},
			Status:     kueue.WorkloadStatus{NominatedClusterNames: []string{"w1", "w2"}},
		},
		&kueue.Workload{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "done"},
			Status: kueue.WorkloadStatus{ClusterName: ptr.To("w1"), Conditions: []metav1.Condition{
				{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue},
			}},
		},
	)
}

func TestClusterListShowsConnectionStandingAndJobs(t *testing.T) {
	x := aFleet(t)
	golden(t, "cluster-list.txt", x.ok("cluster list"))
	golden(t, "cluster-list-wide.txt", x.ok("cluster list -o wide"))
	golden(t, "cluster-list-name.txt", x.ok("cluster list -o name"))
}

func TestAHubWithoutClustersSaysSo(t *testing.T) {
	code, out, errs := newTerminal(t).run("cluster list")
	if code != 0 || out != "" || errs != "No resources found\n" {
		t.Errorf("code %d, out %q, errors %q", code, out, errs)
	}
}

func TestWrongCommandLinesEndWithTheCodeForUsage(t *testing.T) {
	x := newTerminal(t)
	for _, line := range []string{"bogus", "cluster bogus", "cluster list extra", "cluster list --bogus", "cluster list -o bogus"} {
		x.fails(line, exit.Usage, "error: ")
	}
}
