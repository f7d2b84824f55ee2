package show

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// evil erases the screen, begins a line of its own, hides what follows and turns it around.
const evil = "calm\x1b[2J\x1b]0;owned\x07\nStatus:              Finished\u202e\u009b8m"

func TestWhatClustersSayNeitherLeavesItsLineNorSteersATerminal(t *testing.T) {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: "team", Labels: map[string]string{"a": evil}}}
	wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Reason: evil, Message: evil}}
	wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "mk", Message: evil}}
	cluster := &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: evil}}
	cluster.Status.Conditions = []metav1.Condition{{Type: kueue.MultiKueueClusterActive, Status: metav1.ConditionFalse, Reason: evil, Message: evil}}
	q := Question{Workload: wl, Clusters: []kueue.MultiKueueCluster{*cluster}}
	events := []Event{{Type: evil, Reason: evil, From: evil, Message: evil}}
	texts := []string{DescribeWorkload(q, events, metav1.Now().Time), Explain(q, metav1.Now().Time)}
	for _, row := range Findings([]Finding{Connection(cluster), {Subject: evil, Detail: evil, Remedy: evil}}).Rows {
		for _, cell := range row.Cells {
			texts = append(texts, fmt.Sprint(cell))
		}
	}
	for _, text := range texts {
		if strings.ContainsAny(text, "\x1b\x07\u202e\u009b") {
			t.Errorf("it steers the terminal:\n%q", text)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "Status:") && strings.Contains(line, "Finished") {
				t.Errorf("a line was forged: %q", line)
			}
		}
	}
}
