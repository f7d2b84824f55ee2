// Package status reads what the operators of kubeflow.org say of their jobs, in a form that is common to them: the training operator and
// the MPI operator have Go types of their own for it (contract: job-kinds.md 2, 3).
package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/worker/job"
)

// Types of conditions.
const (
	running   = "Running"
	suspended = "Suspended"
	succeeded = "Succeeded"
	failed    = "Failed"
)

// Condition is a condition of a job.
type Condition struct {
	Type                  string
	Status                corev1.ConditionStatus
	Message               string
	Updated, Transitioned metav1.Time
}

// Status is what an operator has said of a job.
type Status struct {
	// Suspended is what the job's spec says.
	Suspended bool
	// Active tells whether any replicas are.
	Active     bool
	Conditions []Condition
	// Times are those of the status besides those of conditions; nil where there is none.
	Times []*metav1.Time
}

// Progress returns how far the job is. Running is what the operators say as soon as the master or launcher runs, or any worker of a job
// without one (contract: job-kinds.md 17.1). Pods that are pending or being terminated are in no number of theirs.
func (s Status) Progress() job.Progress {
	return job.Progress{Active: s.Active, Ready: !s.Suspended && s.condition(running) == corev1.ConditionTrue, Finished: s.Outcome()}
}

// Outcome returns how the job ended, by the first condition that says so; nil while none does.
func (s Status) Outcome() *job.Outcome {
	for _, c := range s.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == succeeded || c.Type == failed) {
			return &job.Outcome{Success: c.Type == succeeded, Message: c.Message}
		}
	}
	return nil
}

// ControllerObserved is false for a suspended job whose status has it resumed. That a resumed job is known to be, the operators say only
// when they could make all pods, for which a namespace may lack room.
func (s Status) ControllerObserved() bool {
	return !s.Suspended || s.condition(suspended) != corev1.ConditionFalse
}

// LastUpdate is the latest time in the status; zero if there is none.
func (s Status) LastUpdate() time.Time {
	times := s.Times
	for i := range s.Conditions {
		times = append(times, &s.Conditions[i].Updated, &s.Conditions[i].Transitioned)
	}
	var latest time.Time
	for _, at := range times {
		if at != nil && at.After(latest) {
			latest = at.Time
		}
	}
	return latest
}

// condition is the status of the condition; empty if there is none.
func (s Status) condition(kind string) corev1.ConditionStatus {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}
