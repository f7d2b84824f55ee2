package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
)

func workload(reserved metav1.ConditionStatus, message, cluster, flavor string) *kueue.Workload {
	w := &kueue.Workload{}
	w.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: reserved, Message: message}}
	if cluster != "" {
		w.Status.ClusterName = ptr.To(cluster)
	}
	if flavor != "" {
		w.Status.Admission = &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{{
			Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{clusters.GPUResource: kueue.ResourceFlavorReference(flavor)},
		}}}
	}
	return w
}

func TestARowTellsWhereTheJobIsOnItsWay(t *testing.T) {
	two := request{Namespace: "vision", Name: "j", Pods: 2, GPUs: 1}
	up := []podFact{{Cluster: "w1", UID: "a", Phase: corev1.PodRunning}, {Cluster: "w1", UID: "b", Phase: corev1.PodSucceeded}}
	cases := []struct {
		name  string
		facts facts
		want  string // state, cluster, flavor, up, why
	}{
		{"a job without a Workload was only submitted", facts{}, "Submitted   0 no Workload yet"},
		{"a job without quota waits for the reason the hub gives", facts{
			Workload: workload(metav1.ConditionFalse, "too large", "", ""),
		}, "Queued   0 too large"},
		{"a job with quota waits for what the workers say, in the order of their names", facts{
			Workload: workload(metav1.ConditionTrue, "", "", "h100"),
			Copies: map[string]*kueue.Workload{
				"w2": workload(metav1.ConditionFalse, "no a100", "", ""), "w1": workload(metav1.ConditionFalse, "no h100", "", ""),
			},
		}, "Offered  h100 0 w1: no h100; w2: no a100"},
		{"a job that a worker has admitted shows the worker's flavor, not the hub's", facts{
			Workload: workload(metav1.ConditionTrue, "", "w2", "h100"),
			Admitted: workload(metav1.ConditionTrue, "", "", "a100"),
			Pods:     up[:1],
		}, "Placed w2 a100 1 pods are starting"},
		{"a job runs when all its pods are up", facts{
			Workload: workload(metav1.ConditionTrue, "", "w1", "h100"), Pods: up,
		}, "Running w1 h100 2 "},
		{"a job that has failed says why", facts{
			Workload: workload(metav1.ConditionTrue, "", "w1", "h100"), Outcome: failed, Message: "BackoffLimitExceeded",
		}, "Failed w1 h100 0 BackoffLimitExceeded"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRow(two, c.facts)
			got := strings.Join([]string{string(r.State), r.Cluster, r.Flavor, strings.Fields(r.tableCells()[7])[0][:1], r.Why}, " ")
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAJobHasRunOnceOnlyIfAllItsPodsRanOnOneCluster(t *testing.T) {
	pod := func(cluster string, phase corev1.PodPhase) podFact { return podFact{Cluster: cluster, Phase: phase} }
	cases := []struct {
		name  string
		state state
		pods  []podFact
		want  string // "" if it ran once
	}{
		{"two pods on one cluster are as wanted", finished, []podFact{pod("w1", corev1.PodSucceeded), pod("w1", corev1.PodSucceeded)}, ""},
		{"a pod that never got to run does not count", finished,
			[]podFact{pod("w1", corev1.PodSucceeded), pod("w1", corev1.PodSucceeded), pod("w2", corev1.PodPending)}, ""},
		{"a pod that ran on another cluster as well counts", finished,
			[]podFact{pod("w1", corev1.PodSucceeded), pod("w1", corev1.PodSucceeded), pod("w2", corev1.PodRunning)}, "2 on w1, 1 on w2"},
		{"one more pod on the same cluster counts", finished,
			[]podFact{pod("w1", corev1.PodSucceeded), pod("w1", corev1.PodSucceeded), pod("w1", corev1.PodFailed)}, "3 on w1"},
		{"a job that finished without pods did not run", finished, nil, "none"},
		{"a job that failed is wrong whatever its pods did", failed, []podFact{pod("w1", corev1.PodSucceeded), pod("w1", corev1.PodSucceeded)}, "is Failed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rows := []row{{request: request{Namespace: "vision", Name: "j", Pods: 2}, State: c.state}}
			got := strings.Join(wrongRuns(rows, func(request) []podFact { return c.pods }), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want it to say %q", got, c.want)
			}
		})
	}
}
