package show

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Status is how far a workload is.
type Status string

// The statuses, in the order in which a workload goes through them.
const (
	Pending       Status = "PENDING"
	QuotaReserved Status = "QUOTARESERVED"
	Admitted      Status = "ADMITTED"
	Finished      Status = "FINISHED"
)

// WorkloadStatus says how far a workload is.
func WorkloadStatus(wl *kueue.Workload) Status {
	for _, s := range []struct {
		condition string
		status    Status
	}{
		{kueue.WorkloadFinished, Finished}, {kueue.WorkloadAdmitted, Admitted}, {kueue.WorkloadQuotaReserved, QuotaReserved},
	} {
		if meta.IsStatusConditionTrue(wl.Status.Conditions, s.condition) {
			return s.status
		}
	}
	return Pending
}

// Queues tells which ClusterQueue a LocalQueue leads to, by namespace/name.
type Queues map[string]string

// ClusterQueueFor is the ClusterQueue of a workload: the one that has admitted it, or else that of its LocalQueue.
func (q Queues) ClusterQueueFor(wl *kueue.Workload) string {
	if wl.Status.Admission != nil {
		return string(wl.Status.Admission.ClusterQueue)
	}
	return q[wl.Namespace+"/"+string(wl.Spec.QueueName)]
}

// Workloads is the table of workloads. Positions, by namespace/name, are those in their ClusterQueues, from 0; workloads
// whose position is not known are left out.
func Workloads(workloads []kueue.Workload, queues Queues, positions map[string]int, namespaced bool, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: append(
		plain("Name", "Job Type", "Job Name", "LocalQueue", "ClusterQueue", "Status", "Position in Queue", "Exec Time", "Age", "Cluster"),
		column("Priority", wide), column("Offered To", wide), column("Why", wide))}
	var namespaces []string
	for i := range workloads {
		wl := &workloads[i]
		kind, name := jobName(wl)
		var position any = ""
		if at, ok := positions[wl.Namespace+"/"+wl.Name]; ok && WorkloadStatus(wl) == Pending {
			position = int64(at)
		}
		table.Rows = append(table.Rows, row(wl.Name, kind, name, string(wl.Spec.QueueName), queues.ClusterQueueFor(wl),
			string(WorkloadStatus(wl)), position, executionTime(wl, now), age(now, wl.CreationTimestamp), boundCluster(wl),
			priority(wl), strings.Join(wl.Status.NominatedClusterNames, ","), PendingReason(wl)))
		namespaces = append(namespaces, wl.Namespace)
	}
	if !namespaced {
		indentTable(table, namespaces)
	}
	return table
}

// jobName is the type (kind.group, in lower case) and the name of the job that a workload was made for.
func jobName(wl *kueue.Workload) (kind, name string) {
	if len(wl.OwnerReferences) == 0 {
		return "", ""
	}
	owner := wl.OwnerReferences[0]
	kind = strings.ToLower(owner.Kind)
	if group, _, ok := strings.Cut(owner.APIVersion, "/"); ok {
		kind += "." + group
	}
	return kind, owner.Name
}

func priority(wl *kueue.Workload) any {
	if wl.Spec.Priority == nil {
		return int64(0)
	}
	return int64(*wl.Spec.Priority)
}

// executionTime is how long a workload has been admitted, all its admissions together.
func executionTime(wl *kueue.Workload, now time.Time) string {
	var past time.Duration
	if s := wl.Status.AccumulatedPastExecutionTimeSeconds; s != nil {
		past = time.Duration(*s) * time.Second
	}
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted); c != nil && c.Status == metav1.ConditionTrue {
		end := now
		if f := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); f != nil && f.Status == metav1.ConditionTrue {
			end = f.LastTransitionTime.Time
		}
		past += end.Sub(c.LastTransitionTime.Time)
	}
	if past == 0 {
		return ""
	}
	return duration.HumanDuration(past)
}

// PendingReason is, in a line, why a workload does not run; empty if it does.
func PendingReason(wl *kueue.Workload) string {
	switch WorkloadStatus(wl) {
	case Finished:
		return meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished).Message
	case Admitted:
		return ""
	case QuotaReserved:
		for _, check := range wl.Status.AdmissionChecks {
			if check.State != kueue.CheckStateReady {
				return check.Message
			}
		}
	case Pending:
		if wl.Spec.Active != nil && !*wl.Spec.Active {
			return "stopped"
		}
		if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil {
			return c.Message
		}
	}
	return "not looked at yet"
}
