package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// Capacity is what a cluster reports of itself.
type Capacity struct {
	// Report is nil if it is not known.
	Report *switchyard.CapacityReport
	// Unknown says why it is not known.
	Unknown string
}

// Top is the fleet at a glance: its clusters, what each has free, and the hub's queues.
func Top(f Fleet, capacities map[string]Capacity, queues []kueue.ClusterQueue, now time.Time) string {
	t := &textBuilder{}
	waiting, running := 0, 0
	for i := range f.Workloads {
		switch WorkloadStatus(&f.Workloads[i]) {
		case Pending, QuotaReserved:
			waiting++
		case Admitted:
			running++
		case Finished:
		}
	}
	connected := 0
	rows := [][]string{{"CLUSTER", "CONNECTED", "STANDING", "SINCE", "JOBS", "OFFERS", "WAITING THERE", "REPORTED"}}
	for i := range f.Clusters {
		c := &f.Clusters[i]
		if meta.IsStatusConditionTrue(c.Status.Conditions, kueue.MultiKueueClusterActive) {
			connected++
		}
		rows = append(rows, clusterSummary(f, c, capacities[c.Name], now))
	}
	t.writeLine("%s   clusters: %d of %d connected   workloads: %d waiting, %d admitted", now.UTC().Format(time.DateTime), connected, len(f.Clusters), waiting, running)
	t.writeLine("")
	t.writeColumns(rows)
	t.writeLine("")
	t.writeColumns(capacityRows(f.Clusters, capacities))
	t.writeLine("")
	rows = [][]string{{"CLUSTERQUEUE", "PENDING", "RESERVING", "ADMITTED", "ACTIVE"}}
	for i := range queues {
		s := &queues[i].Status
		rows = append(rows, []string{queues[i].Name, fmt.Sprint(s.PendingWorkloads), fmt.Sprint(s.ReservingWorkloads), fmt.Sprint(s.AdmittedWorkloads), ActiveText(s.Conditions)})
	}
	t.writeColumns(rows)
	return t.String()
}

// clusterSummary is a cluster's row. Columns about its capacity have a dash while no report of it has been read.
func clusterSummary(f Fleet, c *kueue.MultiKueueCluster, capacity Capacity, now time.Time) []string {
	jobs, offers := countPlaced(f.Workloads, c.Name)
	status, since, _ := connection(c)
	there, reported := "-", "-"
	if r := capacity.Report; r != nil {
		n := 0
		for _, q := range r.ClusterQueues {
			for _, w := range q.Waiting {
				n += int(w.Count)
			}
		}
		there, reported = strconv.Itoa(n), age(now, metav1.NewTime(r.ObservedAt.Time))+" ago"
	}
	return []string{c.Name, status, AnnotationText(c), age(now, since), strconv.Itoa(jobs), strconv.Itoa(offers), there, reported}
}

// capacityRows are what every cluster's queues have free, flavor by flavor.
func capacityRows(clusters []kueue.MultiKueueCluster, capacities map[string]Capacity) [][]string {
	rows := [][]string{{"CLUSTER", "QUEUE", "FLAVOR", "FREE", "LARGEST JOB"}}
	for i := range clusters {
		name := clusters[i].Name
		c := capacities[name]
		if c.Report == nil {
			rows = append(rows, []string{name, "-", "-", "unknown: " + orNone(cutToLine(c.Unknown)), ""})
			continue
		}
		for _, q := range c.Report.ClusterQueues {
			if q.Closed != "" {
				rows = append(rows, []string{name, q.Name, "-", "closed: " + q.Closed, ""})
				continue
			}
			for _, g := range q.Groups {
				for _, flavor := range g.Flavors {
					rows = append(rows, []string{name, q.Name, flavor.Flavor, formatFigures(g.Resources, flavor.Free), formatFigures(g.Resources, flavor.Largest)})
				}
			}
		}
	}
	return rows
}

// formatFigures are amounts of a CapacityReport as quantities: thousandths of cpu, whole units of everything else.
func formatFigures(resources []string, amounts []int64) string {
	var parts []string
	for i, name := range resources {
		if i >= len(amounts) {
			break
		}
		var q *resource.Quantity
		switch {
		case amounts[i] == switchyard.Unlimited:
			parts = append(parts, name+"=unlimited")
			continue
		case name == "cpu":
			q = resource.NewMilliQuantity(amounts[i], resource.DecimalSI)
		case strings.Contains(name, "memory") || strings.Contains(name, "storage"):
			q = resource.NewQuantity(amounts[i], resource.BinarySI)
		default:
			q = resource.NewQuantity(amounts[i], resource.DecimalSI)
		}
		parts = append(parts, name+"="+q.String())
	}
	return strings.Join(parts, " ")
}

// cutToLine leaves out what would take a second line of a table.
func cutToLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
