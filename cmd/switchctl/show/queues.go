package show

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// LocalQueues is the table of LocalQueues, with the clusters on which their workloads are.
func LocalQueues(queues []kueue.LocalQueue, workloads []kueue.Workload, namespaced bool, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: append(plain("Name", "ClusterQueue", "Pending Workloads", "Admitted Workloads", "Age", "Clusters"),
		column("Active", wide), column("Stop Policy", wide))}
	var namespaces []string
	for i := range queues {
		q := &queues[i]
		on := formatCounts(workloads, func(wl *kueue.Workload) bool {
			return wl.Namespace == q.Namespace && string(wl.Spec.QueueName) == q.Name
		})
		table.Rows = append(table.Rows, row(q.Name, string(q.Spec.ClusterQueue), int64(q.Status.PendingWorkloads),
			int64(q.Status.AdmittedWorkloads), age(now, q.CreationTimestamp), on, ActiveText(q.Status.Conditions), stopPolicy(q.Spec.StopPolicy)))
		namespaces = append(namespaces, q.Namespace)
	}
	if !namespaced {
		indentTable(table, namespaces)
	}
	return table
}

// ClusterQueues is the table of ClusterQueues, with the clusters on which their workloads are.
func ClusterQueues(queues []kueue.ClusterQueue, workloads []kueue.Workload, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: append(
		plain("Name", "Cohort", "Pending Workloads", "Admitted Workloads", "Active", "Age", "Clusters"),
		column("Strategy", wide), column("Stop Policy", wide), column("Why Inactive", wide))}
	for i := range queues {
		q := &queues[i]
		on := formatCounts(workloads, func(wl *kueue.Workload) bool {
			return wl.Status.Admission != nil && string(wl.Status.Admission.ClusterQueue) == q.Name
		})
		why := ""
		if c := meta.FindStatusCondition(q.Status.Conditions, kueue.ClusterQueueActive); c != nil && c.Status != metav1.ConditionTrue {
			why = c.Message
		}
		table.Rows = append(table.Rows, row(q.Name, string(q.Spec.CohortName), int64(q.Status.PendingWorkloads),
			int64(q.Status.AdmittedWorkloads), ActiveText(q.Status.Conditions), age(now, q.CreationTimestamp), on,
			string(q.Spec.QueueingStrategy), stopPolicy(q.Spec.StopPolicy), why))
	}
	return table
}

// ResourceFlavors is the table of flavors.
func ResourceFlavors(flavors []kueue.ResourceFlavor, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: plain("Name", "Node Labels", "Age")}
	for i := range flavors {
		f := &flavors[i]
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(f.Spec.NodeLabels)) {
			labels = append(labels, key+"="+f.Spec.NodeLabels[key])
		}
		table.Rows = append(table.Rows, row(f.Name, strings.Join(labels, ", "), age(now, f.CreationTimestamp)))
	}
	return table
}

// ActiveText is True, False or Unknown: whether a queue says that it is active.
func ActiveText(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, kueue.ClusterQueueActive); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}

func stopPolicy(p kueue.StopPolicy) string {
	if p == "" {
		return string(kueue.None)
	}
	return string(p)
}

// formatCounts counts unfinished workloads by cluster, as "w1:3,w2:1".
func formatCounts(workloads []kueue.Workload, of func(*kueue.Workload) bool) string {
	counts := map[string]int{}
	for i := range workloads {
		wl := &workloads[i]
		if name := boundCluster(wl); name != "" && WorkloadStatus(wl) != Finished && of(wl) {
			counts[name]++
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s:%d", name, counts[name]))
	}
	return strings.Join(parts, ",")
}
