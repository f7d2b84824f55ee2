package job

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
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
	// A kind with Inputs has none.
	PodSets func(T) ([]kueue.PodSet, error)
	// Inputs, optional, are other objects that decide what the job asks for, in the place of PodSets.
	Inputs *Inputs[T]
	// Suspended tells whether the job's spec forbids pods.
	Suspended func(T) bool
	// SetSuspend forbids or allows pods.
	SetSuspend func(T, bool)
	// Place puts the outcome of an admission, one entry per pod set in the order of PodSets, into the templates and
	// counts. It does not resume the job, and placing the same once more changes nothing. An error is a conflict that no
	// retry can solve (contract: FailedToStart). Of a kind with Inputs, whose templates may be in another object, the framework looks for
	// conflicts with these, and a placement's tolerations are all that the pods have.
	Place func(T, []Placement) error
	// PlacesSuspended tells that the kind's API takes a placement only while the job is suspended, so that a start is two
	// writes: place, then resume.
	PlacesSuspended bool
	// Restore undoes Place, given the pod sets of the Workload that was made from the job before it was placed. Pod sets
	// that are missing, or that the job does not have, are passed over.
	Restore func(T, []kueue.PodSet)
	// Progress reads the job's status. It never fails: what the status does not say is zero.
	Progress func(T) Progress
	// Ignores, optional, tells that the job is none of ours although it names a queue, because no admission could change
	// what it uses.
	Ignores func(T) bool
	// KeepsQuotaWhileDeleted, optional, tells of a job that is being deleted that its controller still runs pods for it until
	// it is gone, so that its Workload has to stay until then.
	KeepsQuotaWhileDeleted func(T, Gates) bool

	// ControllerObserved, optional, tells whether the status shows that the kind's own controller knows whether the job may run, as the spec has
	// it now. Without it nothing can be told from a job's status about whether that controller works.
	ControllerObserved func(T) bool
	// LastControllerUpdate, required with Noticed, is the latest time that the kind's own controller has put into the status; zero if there is none.
	LastControllerUpdate func(T) time.Time

	// Unfenced tells that the fence does not follow jobs of the kind, because nothing says how its controller shows that it has acted.
	Unfenced bool

	// Elastic, optional, says how jobs with the elastic-job annotation are scaled while they run. Without it a job may not carry it.
	Elastic *Elastic[T]
	// Stop, optional, takes the job one write further on the way from running to suspended and restored, given the
	// Workload's pod sets (nil when there is no Workload any more), and says which part of the object to write, if any.
	// Without it one write suspends and restores.
	Stop func(T, []kueue.PodSet) StopStep
	// Priority, optional, names the PriorityClass of the whole job; without it, or when empty, the first pod set with a
	// priorityClassName decides.
	Priority func(T) string
	// Webhook is what the webhooks of the kind do besides what they do for every kind.
	Webhook Webhook[T]

	// Children, optional, are the jobs of other kinds that this kind's controller makes. A kind without is no ancestor: a
	// job that names one as its owner was made by another program.
	Children *Children[T]
	// PodLabels, optional, are those of the pods that the kind's controller makes itself, and of those that these make. It is for kinds whose
	// status does not count all of them, such as those that are pending or being terminated.
	PodLabels func(T) map[string]string

	// ManagedBy, optional, is the job's field that names the controller responsible for it. Without it the job cannot be
	// mirrored to another cluster.
	ManagedBy *ManagedBy[T]
	// CopyStatus, required with ManagedBy, makes the local status like the remote one. Deferred says that the local job
	// is not ready for it and the caller should try again in about two seconds; changed may be true even then.
	CopyStatus func(local, remote T) (changed, deferred bool)
	// SyncSpec, optional, makes what a remote job follows of the local one while it runs like that, and tells whether it changes anything.
	SyncSpec func(local, remote T) bool
	// Detach, optional, removes from a copy of the spec what belongs to one cluster: generated selectors and identities.
	Detach func(T)
	// Strip, optional, drops from a cached remote job what CopyStatus and Progress do not read, to save memory.
	Strip func(T)
	// DeletePropagation for a remote copy; empty leaves it to the server.
	DeletePropagation metav1.DeletionPropagation
}

// Inputs declares the objects in a job's cluster that decide, besides the job, what it asks for: a runtime that it names, a cluster that
// was made for it.
type Inputs[T client.Object] struct {
	// Kinds returns an empty object of each kind that may be read. Their changes wake the jobs that read them.
	Kinds func() []client.Object
	// Of returns what to read for the job: empty objects with a name and, if they have one, a namespace. An error says what the user must
	// change.
	Of func(T) ([]client.Object, error)
	// PodSets is Kind.PodSets, given what Of named as it is in the cluster; nil in the place of an object that does not exist. An error
	// says what is missing or must be changed. The job is looked at again when one of the objects changes.
	PodSets func(job T, inputs []client.Object) ([]kueue.PodSet, error)
	// OnlyAtStart tells that a job which runs has been given what its inputs said when it started, and that it is not compared with what
	// they say now.
	OnlyAtStart bool
	// Progress, optional, adds to Kind.Progress what only the inputs tell: whether all is ready, and what is reclaimable.
	Progress func(job T, inputs []client.Object, known Progress) Progress
	// Covers is Children.Covers, in its place, given the inputs of the job.
	Covers func(job T, inputs []client.Object, child client.Object) bool
}

// Webhook declares what the webhooks of one kind do besides the rules of all kinds (contract: job-kinds.md 1.1 to 1.4).
type Webhook[T client.Object] struct {
	// Default, optional, completes a job when it is created, whether or not it is managed.
	Default func(T, Gates)
	// Validate, optional, checks what only this kind knows, on create (old is the zero T) and update.
	Validate func(old, job T) field.ErrorList
	// TemplatePath, optional, is the path of the metadata of the pod template of the job's i-th pod set, for what is wrong with it.
	TemplatePath func(job T, i int) *field.Path
	// PodSetPath, in the place of TemplatePath, is the path of that metadata by the pod set's name, where templates are not in the job.
	PodSetPath func(kueue.PodSetReference) *field.Path
	// TemplateAdvice is added to what is said about a pod template.
	TemplateAdvice string
	// NoTopologyRules tells that what pod templates say about topology is not judged, as in the public API.
	NoTopologyRules bool
	// PairsFree tells that pod sets of one topology group are not compared with each other, as in the public API.
	PairsFree bool
	// ChangesFirst tells that the rules about changes come before those that hold for every job, as in the public API.
	ChangesFirst bool
	// SortByField tells that what is wrong is listed by the path of the field, as in the public API.
	SortByField bool
	// ManagedOnly tells that jobs which are not managed are not judged by the rules of the kind, and that an update is not judged at all
	// unless the job is managed or was (contract: job-kinds.md 1.3).
	ManagedOnly bool
	// NoPrebuilt tells that jobs of the kind may not name a prebuilt Workload (contract: job-kinds.md 1.10).
	NoPrebuilt bool
}

// Children declares the jobs of other kinds that a kind's controller makes for one of its jobs.
type Children[T client.Object] struct {
	// NewLists, required with HoldsPods, returns an empty list of each of the children's kinds.
	NewLists func() []client.ObjectList
	// Labels, required with HoldsPods, are those that all children of the job carry; nil if there are none to tell them by.
	Labels func(T) map[string]string
	// Covers tells whether the object, whose controller the job claims to be, can be one of the job's children and asks for no
	// more than the job asks for it. What is not covered is not paid for by the job's quota. The object says what kind it is of.
	Covers func(job T, child client.Object) bool
	// CleansUp, optional, tells of such a child that it only clears away what the job has left, which is being deleted and waits for it. It
	// runs whatever has become of the job's Workload.
	CleansUp func(job T, child client.Object) bool
	// HoldsPods tells whether the child may have pods, those that are being terminated included. Nil means that the job's own status
	// tells it.
	HoldsPods func(child client.Object) bool
	// Decide tells that the children of a suspended job, if there are any, say whether it has pods, whatever its own status says: that may
	// not follow.
	Decide bool
	// Watched, optional, returns an empty object of each kind of child whose changes wake the job.
	Watched func() []client.Object
}

// ManagedBy is the accessor of a job's managedBy field.
type ManagedBy[T client.Object] struct {
	// Path is the field's path in messages, such as "spec.managedBy".
	Path string
	// Default is the value that means the kind's own controller, besides none.
	Default string
	// Get returns the field's value; "" if it is not set.
	Get func(T) string
	// Set sets the field; "" unsets it.
	Set func(T, string)
}

// ManagedByField is the accessor of a managedBy field that the kind's Go type has. Field returns its address.
func ManagedByField[T client.Object](path, ownController string, field func(T) **string) *ManagedBy[T] {
	return &ManagedBy[T]{
		Path: path, Default: ownController,
		Get: func(job T) string { return ptr.Deref(*field(job), "") },
		Set: func(job T, manager string) {
			*field(job) = nil
			if manager != "" {
				*field(job) = &manager
			}
		},
	}
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
	// OnHold is empty, or why the job cannot go on until its user changes it, such as [OnHoldMessage]. It asks for nothing meanwhile.
	OnHold string
	// Finished is nil until the job has ended for good.
	Finished *Outcome
}

// OnHoldMessage is what a Workload says whose job is on hold (contract: job-kinds.md 6).
const OnHoldMessage = "Job is on hold"

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
