package show

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Event is something that happened to an object.
type Event struct {
	At            time.Time
	Type, Reason  string
	From, Message string
	// Object is what it happened to, KIND/NAME.
	Object string
}

// DescribeWorkload is all about a workload: what was asked, where it is, its conditions, checks and events.
func DescribeWorkload(q Question, events []Event, now time.Time) string {
	t := &textBuilder{}
	wl := q.Workload
	kind, name := jobName(wl)
	writeHead(t, wl.Name, wl.Namespace, wl.Labels, wl.CreationTimestamp, now)
	t.writePair("Job", orNone(strings.TrimSuffix(kind+"/"+name, "/")))
	t.writePair("LocalQueue", orNone(string(wl.Spec.QueueName)))
	t.writePair("ClusterQueue", orNone(clusterQueueName(q)))
	t.writePair("Priority", fmt.Sprint(priority(wl))+priorityClass(wl))
	t.writePair("Active", fmt.Sprint(wl.Spec.Active == nil || *wl.Spec.Active))
	t.writePair("Status", string(WorkloadStatus(wl)))
	t.writePair("Cluster", orNone(boundCluster(wl)))
	t.writePair("Offered To", orNone(strings.Join(wl.Status.NominatedClusterNames, ", ")))
	t.writeLine("Pod Sets:")
	for _, p := range wl.Spec.PodSets {
		t.indented().writeLine("%s: %d pods%s", p.Name, p.Count, podSetQuota(wl, p.Name))
	}
	for i, c := range wl.Status.AdmissionChecks {
		if i == 0 {
			t.writeLine("Admission Checks:")
		}
		t.indented().writeLine("%s: %s since %s, %s", c.Name, c.State, age(now, c.LastTransitionTime), orNone(c.Message))
	}
	writeConditions(t, wl.Status.Conditions, now)
	writeEvents(t, events, now)
	return t.String()
}

// DescribeLocalQueue is all about a LocalQueue.
func DescribeLocalQueue(q *kueue.LocalQueue, workloads []kueue.Workload, events []Event, now time.Time) string {
	t := &textBuilder{}
	writeHead(t, q.Name, q.Namespace, q.Labels, q.CreationTimestamp, now)
	t.writePair("ClusterQueue", string(q.Spec.ClusterQueue))
	t.writePair("Stop Policy", stopPolicy(q.Spec.StopPolicy))
	t.writePair("Workloads", fmt.Sprintf("%d pending, %d reserving, %d admitted", q.Status.PendingWorkloads, q.Status.ReservingWorkloads, q.Status.AdmittedWorkloads))
	t.writePair("Clusters", orNone(formatCounts(workloads, func(wl *kueue.Workload) bool {
		return wl.Namespace == q.Namespace && string(wl.Spec.QueueName) == q.Name
	})))
	rows := [][]string{{"FLAVOR", "RESOURCE", "RESERVED"}}
	for _, f := range q.Status.FlavorsReservation {
		for _, r := range f.Resources {
			rows = append(rows, []string{string(f.Name), string(r.Name), r.Total.String()})
		}
	}
	writeUsage(t, rows)
	writeConditions(t, q.Status.Conditions, now)
	writeEvents(t, events, now)
	return t.String()
}

// DescribeClusterQueue is all about a ClusterQueue.
func DescribeClusterQueue(q *kueue.ClusterQueue, workloads []kueue.Workload, events []Event, now time.Time) string {
	t := &textBuilder{}
	writeHead(t, q.Name, "", q.Labels, q.CreationTimestamp, now)
	t.writePair("Cohort", orNone(string(q.Spec.CohortName)))
	t.writePair("Strategy", orNone(string(q.Spec.QueueingStrategy)))
	t.writePair("Stop Policy", stopPolicy(q.Spec.StopPolicy))
	t.writePair("Namespaces", metav1.FormatLabelSelector(q.Spec.NamespaceSelector))
	var checks []string
	if s := q.Spec.AdmissionChecksStrategy; s != nil {
		for _, c := range s.AdmissionChecks {
			checks = append(checks, string(c.Name))
		}
	}
	t.writePair("Admission Checks", orNone(strings.Join(checks, ", ")))
	t.writePair("Workloads", fmt.Sprintf("%d pending, %d reserving, %d admitted", q.Status.PendingWorkloads, q.Status.ReservingWorkloads, q.Status.AdmittedWorkloads))
	t.writePair("Clusters", orNone(formatCounts(workloads, func(wl *kueue.Workload) bool {
		return wl.Status.Admission != nil && string(wl.Status.Admission.ClusterQueue) == q.Name
	})))
	rows := [][]string{{"FLAVOR", "RESOURCE", "QUOTA", "BORROWING LIMIT", "RESERVED"}}
	for _, g := range q.Spec.ResourceGroups {
		for _, f := range g.Flavors {
			for _, r := range f.Resources {
				limit := "-"
				if r.BorrowingLimit != nil {
					limit = r.BorrowingLimit.String()
				}
				rows = append(rows, []string{string(f.Name), string(r.Name), r.NominalQuota.String(), limit, reservedTotal(q, f.Name, r.Name).String()})
			}
		}
	}
	writeUsage(t, rows)
	writeConditions(t, q.Status.Conditions, now)
	writeEvents(t, events, now)
	return t.String()
}

// writeHead writes what every description begins with.
func writeHead(t *textBuilder, name, namespace string, labels map[string]string, created metav1.Time, now time.Time) {
	t.writePair("Name", name)
	if namespace != "" {
		t.writePair("Namespace", namespace)
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, key+"="+labels[key])
	}
	t.writePair("Labels", orNone(strings.Join(list, ", ")))
	t.writePair("Age", age(now, created))
}

// clusterQueueName is where the workload has its quota, or where its LocalQueue leads to now; "" if that is not known.
func clusterQueueName(q Question) string {
	switch {
	case q.Workload.Status.Admission != nil:
		return string(q.Workload.Status.Admission.ClusterQueue)
	case q.LocalQueue != nil:
		return string(q.LocalQueue.Spec.ClusterQueue)
	}
	return ""
}

// priorityClass stands behind a priority that comes from a class.
func priorityClass(wl *kueue.Workload) string {
	if wl.Spec.PriorityClassRef == nil {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", wl.Spec.PriorityClassRef.Kind, wl.Spec.PriorityClassRef.Name)
}

// podSetQuota is what a pod set has been given; empty before.
func podSetQuota(wl *kueue.Workload, name kueue.PodSetReference) string {
	if wl.Status.Admission == nil {
		return ""
	}
	for _, p := range wl.Status.Admission.PodSetAssignments {
		if p.Name == name {
			return ", " + assignedFlavors(p)
		}
	}
	return ""
}

func writeUsage(t *textBuilder, rows [][]string) {
	if len(rows) > 1 {
		t.writeLine("Quota:")
		t.indented().writeColumns(rows)
	}
}

// writeConditions writes the conditions as a table; nothing if there are none.
func writeConditions(t *textBuilder, list []metav1.Condition, now time.Time) {
	if len(list) == 0 {
		return
	}
	t.writeLine("Conditions:")
	rows := [][]string{{"TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"}}
	for _, c := range list {
		rows = append(rows, []string{c.Type, string(c.Status), age(now, c.LastTransitionTime), c.Reason, c.Message})
	}
	t.indented().writeColumns(rows)
}

func writeEvents(t *textBuilder, events []Event, now time.Time) {
	if len(events) == 0 {
		t.writePair("Events", orNone(""))
		return
	}
	t.writeLine("Events:")
	rows := [][]string{{"AGE", "TYPE", "REASON", "FROM", "MESSAGE"}}
	for _, e := range events {
		rows = append(rows, []string{age(now, metav1.NewTime(e.At)), e.Type, e.Reason, e.From, e.Message})
	}
	t.indented().writeColumns(rows)
}
