package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
)

// state is where a job is on its way, as the hub has it.
type state string

const (
	submitted state = "Submitted" // no Workload yet
	queued    state = "Queued"    // waits for quota on the hub
	offered   state = "Offered"   // has quota on the hub; no worker has admitted it yet
	placed    state = "Placed"    // a worker has admitted it; not all pods run yet
	running   state = "Running"
	finished  state = "Finished"
	failed    state = "Failed"
)

// done tells whether nothing more will happen to the job.
func (s state) done() bool { return s == finished || s == failed }

// podFact is a pod that was seen on a worker.
type podFact struct {
	Cluster string
	UID     string
	Phase   corev1.PodPhase
}

// hasRun tells whether the pod got as far as running.
func (p podFact) hasRun() bool { return p.Phase != corev1.PodPending && p.Phase != corev1.PodUnknown }

// facts is all that is known of a job.
type facts struct {
	// Workload is the hub's; nil if there is none.
	Workload *kueue.Workload
	// Copies are the workers' by cluster.
	Copies map[string]*kueue.Workload
	// Admitted is the copy on the cluster that runs the job, even if it is gone by now; nil before.
	Admitted *kueue.Workload
	// Pods are all that were ever seen, on any worker, in their last phase.
	Pods []podFact
	// Outcome is finished, failed or, while the hub's job has not ended, empty.
	Outcome state
	// Message says why it failed.
	Message string
}

// row is a line of the table.
type row struct {
	request
	State           state
	Cluster, Flavor string
	// Up is how many pods run or have succeeded.
	Up  int
	Why string
}

func newRow(r request, f facts) row {
	result := row{request: r, State: submitted, Why: "no Workload yet"}
	for _, pod := range f.Pods {
		if pod.Phase == corev1.PodRunning || pod.Phase == corev1.PodSucceeded {
			result.Up++
		}
	}
	if f.Workload != nil {
		result.Cluster = deref(f.Workload.Status.ClusterName)
		result.Flavor = flavorOf(f)
		result.State, result.Why = progress(f)
	}
	if result.State == placed && result.Up >= r.allPods() {
		result.State, result.Why = running, ""
	}
	if f.Outcome != "" {
		result.State, result.Why = f.Outcome, f.Message
	}
	return result
}

// progress reads the hub's Workload, and its copies for what the workers say.
func progress(f facts) (state, string) {
	status := f.Workload.Status
	reserved := meta.FindStatusCondition(status.Conditions, kueue.WorkloadQuotaReserved)
	switch {
	case reserved == nil:
		return queued, "not yet considered"
	case reserved.Status != metav1.ConditionTrue:
		return queued, reserved.Message
	case status.ClusterName == nil:
		return offered, lastAnswers(f)
	default:
		return placed, "pods are starting"
	}
}

// lastAnswers is what the workers that were asked say; until one was asked, what the check says.
func lastAnswers(f facts) string {
	var said []string
	for name, copied := range f.Copies {
		if reserved := meta.FindStatusCondition(copied.Status.Conditions, kueue.WorkloadQuotaReserved); reserved != nil {
			said = append(said, name+": "+reserved.Message)
		}
	}
	if len(said) > 0 {
		slices.Sort(said)
		return strings.Join(said, "; ")
	}
	for _, check := range f.Workload.Status.AdmissionChecks {
		if check.Message != "" {
			return check.Message
		}
	}
	return "waits for the workers' answers"
}

// flavorOf is the flavor of the GPUs where the job runs or has run, or before of its quota on the hub.
func flavorOf(f facts) string {
	workload := f.Workload
	if f.Admitted != nil {
		workload = f.Admitted
	}
	if workload.Status.Admission == nil {
		return ""
	}
	var names []string
	for _, assignment := range workload.Status.Admission.PodSetAssignments {
		if flavor, ok := assignment.Flavors[clusters.GPUResource]; ok {
			names = append(names, string(flavor))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

func deref(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

// wrongRuns says of every job that did not run exactly once what happened instead.
func wrongRuns(rows []row, pods func(request) []podFact) []string {
	var wrong []string
	for _, r := range rows {
		if r.State != finished {
			wrong = append(wrong, fmt.Sprintf("%s is %s: %s", r.title(), r.State, r.Why))
			continue
		}
		ran := map[string]int{}
		for _, pod := range pods(r.request) {
			if pod.hasRun() {
				ran[pod.Cluster]++
			}
		}
		if len(ran) != 1 || total(ran) != r.allPods() {
			wrong = append(wrong, fmt.Sprintf("%s: pods that ran: %s; want %d on one cluster", r.title(), perCluster(ran), r.allPods()))
		}
	}
	return wrong
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

func perCluster(counts map[string]int) string {
	if len(counts) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d on %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}
