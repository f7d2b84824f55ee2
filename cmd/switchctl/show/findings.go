package show

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// Result is how a check came out.
type Result string

// The results.
const (
	// Passed means that nothing has to be done.
	Passed Result = "ok"
	// Warned means that something does not work as well as it could.
	Warned Result = "warning"
	// Failed means that jobs cannot run there.
	Failed Result = "FAILED"
)

// Finding is what one check of a cluster found.
type Finding struct {
	// Subject is what was checked.
	Subject string `json:"check"`
	Result  Result `json:"result"`
	// Detail is what was found.
	Detail string `json:"found"`
	// Remedy is what to do about it; empty if it passed.
	Remedy string `json:"whatToDo,omitempty"`
}

// Findings is the table of a cluster's check.
func Findings(findings []Finding) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: plain("Check", "Result", "Found", "What to do")}
	for _, f := range findings {
		table.Rows = append(table.Rows, row(f.Subject, string(f.Result), f.Detail, f.Remedy))
	}
	return table
}

// Identity is what the hub says of the cluster's identity: that credentials lead to another cluster than jobs were sent to,
// and that there are jobs which it leaves to administrators. Both are rare.
func Identity(cluster *kueue.MultiKueueCluster) []Finding {
	var list []Finding
	if c := meta.FindStatusCondition(cluster.Status.Conditions, switchyard.IdentityCondition); c != nil && c.Status != metav1.ConditionTrue {
		f := Finding{
			Subject: "identity", Result: Warned, Detail: c.Message, Remedy: fmt.Sprintf("cluster register %s --context CONTEXT", cluster.Name),
		}
		if c.Status == metav1.ConditionFalse {
			f.Result, f.Remedy = Failed, "give the credentials of the first back, or cluster gone "+cluster.Name
		}
		list = append(list, f)
	}
	if meta.IsStatusConditionTrue(cluster.Status.Conditions, switchyard.OrphansCondition) {
		c := meta.FindStatusCondition(cluster.Status.Conditions, switchyard.OrphansCondition)
		list = append(list, Finding{
			Subject: "orphans", Result: Warned, Detail: c.Message,
			Remedy: fmt.Sprintf("of a hub that is no more: cluster adopt %[1]s HUB; then to have them removed: cluster discard %[1]s", cluster.Name),
		})
	}
	return list
}

// Connection is what the hub says of its connection to a cluster, and what can be done about it.
func Connection(cluster *kueue.MultiKueueCluster) Finding {
	f := Finding{Subject: "connection", Result: Failed}
	active := meta.FindStatusCondition(cluster.Status.Conditions, kueue.MultiKueueClusterActive)
	switch {
	case active == nil:
		f.Detail = "the hub has not said anything about the cluster"
		f.Remedy = "is the hub's program running, with MultiKueue enabled? See its pods in its namespace"
	case active.Status == metav1.ConditionTrue:
		f.Result, f.Detail = Passed, active.Message
	default:
		f.Detail = fmt.Sprintf("%s: %s", active.Reason, active.Message)
		f.Remedy = indentRemedy(kueue.Reason(active.Reason), cluster.Name)
	}
	return f
}

// indentRemedy is what to do about a reason of the contract (multikueue.md 2).
func indentRemedy(reason kueue.Reason, cluster string) string {
	switch reason {
	case kueue.ReasonBadKubeConfig, kueue.ReasonInsecureKubeConfig:
		return fmt.Sprintf("make a kubeconfig that the hub accepts: cluster register %s", cluster)
	case kueue.ReasonClientConnectionFailed:
		return "can the hub's pods reach that address (register with --address), is the token still good (cluster rotate), and is " +
			"Switchyard or Kueue installed on the worker?"
	case kueue.ReasonBadClusterProfile, kueue.ReasonBadRestConfig:
		return "repair the ClusterProfile, or the access provider in the hub's configuration"
	case kueue.ReasonMultiKueueClusterProfileFeatureDisabled:
		return "switch on the feature gate MultiKueueClusterProfile on the hub, or register the cluster by a kubeconfig"
	default:
		return "see the hub's log"
	}
}
