package job

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Kind declares how Switchyard deals with one kind of job. Every function is pure: it reads and changes nothing but its
// arguments, and gives the same answer for the same object. Functions that change an object are given a copy of the
// caller's own. A nil optional field says that the kind cannot do it.
type Kind[T client.Object] struct {
	// Name is the name in the configuration's integrations.frameworks (contract: kueue-api.md 3.2), such as "batch/job".
	Name string
	// GVK is the served version that this kind speaks.
	GVK schema.GroupVersionKind
	// AddToScheme registers the Go types.
	AddToScheme func(*runtime.Scheme) error
	// New returns an empty job.
	New func() T
	// NewList returns an empty list of jobs.
	NewList func() client.ObjectList

	// PodSets returns what the job asks for, one entry per group of equal pods, templates copied. It must not depend on
	// whether the job runs, except through what Place has put into its templates. An error says what the user must change.
	PodSets func(T) ([]kueue.PodSet, error)
	// Suspended tells whether the job's spec forbids pods.
	Suspended func(T) bool
	// SetSuspend forbids or allows pods.
	SetSuspend func(T, bool)
	// Place puts the outcome of an admission, one entry per pod set in the order of PodSets, into the templates and
	// counts. It does not resume the job. An error is a conflict that no retry can solve (contract: FailedToStart).
	Place func(T, []Placement) error
	// Restore undoes Place, given the pod sets of the Workload that was made from the job before it was placed. Pod sets
	// that are missing, or that the job does not have, are passed over.
	Restore func(T, []kueue.PodSet)
	// Progress reads the job's status. It never fails: what the status does not say is zero.
	Progress func(T) Progress

	// ControllerObserved, optional, tells whether the status shows that the kind's own controller knows whether the job may run, as the spec has
	// it now. Without it nothing can be told from a job's status about whether that controller works.
	ControllerObserved func(T) bool
	// LastControllerUpdate, required with Noticed, is the latest time that the kind's own controller has put into the status; zero if there is none.
	LastControllerUpdate func(T) time.Time

	// Elastic tells whether the kind may carry the elastic-job annotation.
	Elastic bool
	// Stop, optional, takes the job one write further on the way from running to suspended and restored, given the
	// Workload's pod sets (nil when there is no Workload any more), and says which part of the object to write, if any.
	// Without it one write suspends and restores.
	Stop func(T, []kueue.PodSet) StopStep
	// Priority, optional, names the PriorityClass of the whole job; without it, or when empty, the first pod set with a
	// priorityClassName decides.
	Priority func(T) string
	// Validate, optional, checks what only this kind knows, on create (old is the zero T) and update.
	Validate func(old, job T) field.ErrorList

	// TemplatePath, optional, is the path of the metadata of the pod template of the job's i-th pod set, for what is wrong with it.
	TemplatePath func(i int) *field.Path
	// ValidateChangesFirst tells that the rules about changes come before those that hold for every job, as in the public API.
	ValidateChangesFirst bool

	// Children, optional, are the jobs of another kind that this kind's controller makes. A kind without is no ancestor: a
	// job that names one as its owner was made by another program.
	Children *Children[T]

	// ManagedBy, optional, is the job's field that names the controller responsible for it. Without it the job cannot be
	// mirrored to another cluster.
	ManagedBy *ManagedBy[T]
	// CopyStatus, required with ManagedBy, makes the local status like the remote one. Deferred says that the local job
	// is not ready for it and the caller should try again in about two seconds; changed may be true even then.
	CopyStatus func(local, remote T) (changed, deferred bool)
	// Detach, optional, removes from a copy of the spec what belongs to one cluster: generated selectors and identities.
	Detach func(T)
	// Strip, optional, drops from a cached remote job what CopyStatus and Progress do not read, to save memory.
	Strip func(T)
	// DeletePropagation for a remote copy; empty leaves it to the server.
	DeletePropagation metav1.DeletionPropagation
}

// Children declares the jobs of another kind that a kind's controller makes for one of its jobs.
type Children[T client.Object] struct {
	// NewList returns an empty list of the children's kind.
	NewList func() client.ObjectList
	// Labels are those that all children of the job carry.
	Labels func(T) map[string]string
	// Covers tells whether the object, whose controller the job claims to be, can be one of the job's children and asks for no
	// more than the job asks for it. What is not covered is not paid for by the job's quota.
	Covers func(job T, child client.Object) bool
	// HoldsPods tells whether the child may have pods, those that are being terminated included.
	HoldsPods func(child client.Object) bool
}

// ManagedBy is the accessor of a job's managedBy field.
type ManagedBy[T client.Object] struct {
	// Path is the field's path in messages, such as "spec.managedBy".
	Path string
	// Default is the value that means the kind's own controller, besides nil.
	Default string
	// Field returns the address of the field.
	Field func(T) **string
}

// Outcome is how a job ended.
type Outcome struct {
	// Success tells a completed job from a failed one.
	Success bool
	// Message is the job's own account.
	Message string
}

// FinishedMessage are the message of the Workload's Finished condition: the job's own, if it has any.
func (o Outcome) FinishedMessage() string {
	switch {
	case o.Message != "":
		return o.Message
	case o.Success:
		return "Job finished successfully"
	}
	return "Job failed"
}

// Progress is what a job's status says.
type Progress struct {
	// Active tells whether pods of the job may still be running.
	Active bool
	// Terminating tells whether pods of the job are being terminated. They hold what they use until they are gone.
	Terminating bool
	// Ready tells whether all pods that the job asks for are ready or have succeeded.
	Ready bool
	// Reclaimable is how many pods of each pod set need their quota no more; sorted by pod set name, zeros left out.
	Reclaimable []kueue.ReclaimablePod
	// Finished is nil until the job has ended for good.
	Finished *Outcome
}

// HoldsPods tells whether the job may have pods, those that are being terminated included.
func (p Progress) HoldsPods() bool { return p.Active || p.Terminating }

// StopStep says which part of the job Kind.Stop has changed.
type StopStep int

const (
	// StopDone means that the job is suspended and restored; nothing was changed.
	StopDone StopStep = iota
	// StopWait means that the job's own controller has to act first.
	StopWait
	// StopSpec means that metadata or spec must be written.
	StopSpec
	// StopStatus means that the status must be written.
	StopStatus
)
