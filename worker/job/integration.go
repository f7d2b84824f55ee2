package job

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence"
)

// Framework is what one cluster needs to know of a kind whose objects wait for quota.
type Framework interface {
	// Name is the name in the configuration, such as "batch/job".
	Name() string
	// GVK is the kind's group, version and kind.
	GVK() schema.GroupVersionKind
	// AddToScheme registers the Go types of the kind.
	AddToScheme(*runtime.Scheme) error
	// New returns an empty object of the kind.
	New() client.Object
	// NewList returns an empty list of objects of the kind.
	NewList() client.ObjectList
	// Setup adds the kind's reconciler to the manager; when the cluster does not serve the kind yet, as soon as it does.
	Setup(ctrl.Manager, Options) error
	// SetupWebhook adds the kind's defaulting and validating handlers to the manager's webhook server. With enabled
	// false the handlers accept everything unchanged, so that a static webhook configuration keeps working.
	SetupWebhook(mgr ctrl.Manager, o Options, enabled bool) error
}

// Integration is a [Kind] whose type has been forgotten, for callers that deal with jobs of all kinds. Objects passed to
// its methods must be of the type that New returns; anything else panics. Get one with [Of], or with [External] for a kind
// that has no Go type.
type Integration interface {
	Framework

	// Mirrorable tells whether jobs of this kind can be run on another cluster.
	Mirrorable() bool
	// IsManagedByMultiKueue tells whether the job has been handed to the multikueue dispatcher, and if not, why
	// (contract: multikueue.md 4 P4, 6).
	IsManagedByMultiKueue(client.Object) (bool, string)
	// RemoteCopy returns the job as it must be created on another cluster: name, namespace, labels, annotations and spec
	// as the user wrote them, whatever has been injected since; stamped with the origin and the name of its Workload and
	// handed to the remote cluster's own controller (contract: multikueue.md 6). The argument is not changed.
	RemoteCopy(client.Object, RemoteOptions) client.Object
	// CopyStatus makes the status of local like that of remote, in memory; changed says that local's status must be
	// written. Deferred says that local cannot take it yet: write if changed, and try again in about two seconds.
	CopyStatus(local, remote client.Object) (changed, deferred bool)
	// FollowsSpec tells whether jobs of this kind on other clusters follow changes of the hub's while they run: of their spec, or of their size.
	FollowsSpec() bool
	// SyncSpec makes what remote follows of local like that, in memory, and tells whether it changes anything. Of kinds that follow nothing it
	// changes nothing.
	SyncSpec(local, remote client.Object) bool
	// Resize makes remote ask for as many pods as the pod sets of local's Workload say, in memory, and tells whether it changes anything. Of kinds
	// that cannot be resized it changes nothing.
	Resize(local, remote client.Object, sets []kueue.PodSet) bool
	// Shrink is Resize where the pod sets ask for fewer pods than remote, and leaves the others as they are.
	Shrink(local, remote client.Object, sets []kueue.PodSet) bool
	// Scales tells whether jobs of this kind may be scaled while they run.
	Scales() bool
	// Progress reads the job's status.
	Progress(client.Object) Progress
	// StatusOutlivesPods tells whether the status of a job that has stopped may go on showing active pods ([Children.Decide]).
	StatusOutlivesPods() bool
	// TellsEnd tells whether Progress says of a job that has ended that it has. Of other kinds only their Workload does, and a
	// job that is gone may have ended.
	ReportsOutcome() bool
	// Awaits tells what the job waits for the kind's own controller to do, and what termination grace its pods have then; empty if
	// nothing, or if that controller does not look after it.
	ExpectedReaction(client.Object) (fence.Reaction, time.Duration)
	// Acted is the latest time that the kind's own controller has put into the job's status; zero if there is none.
	LastControllerUpdate(client.Object) time.Time
	// Local tells whether the kind's own controller looks after the job, and no other.
	IsLocal(client.Object) bool
	// Strip drops from a cached remote job what CopyStatus and Progress do not read (pod templates).
	Strip(client.Object)
	// DeletePropagation is how to delete a remote copy; empty leaves it to the server.
	DeletePropagation() metav1.DeletionPropagation

	// covers tells whether the quota of the owner, a job of this kind, is meant for the child too (see [Children]).
	coversChild(ctx context.Context, r client.Reader, owner, child client.Object) (bool, error)
	// cleansUp tells whether the child, which is covered, runs whatever has become of the owner's Workload.
	cleansUp(owner, child client.Object) bool
}

// RemoteOptions are the stamps of a remote copy.
type RemoteOptions struct {
	// Origin is the value of the multikueue-origin label; never empty.
	Origin string
	// Workload is the hub's Workload: the copy carries its name, and its pod sets tell what the user's templates were.
	Workload *kueue.Workload
	// WorkloadNameInLabel puts the Workload's name into a label instead of an annotation where it fits (gate
	// WorkloadIdentifierAnnotations off).
	WorkloadNameInLabel bool
	// Annotations are further stamps, such as the dispatcher's epoch.
	Annotations map[string]string
}

// Membered is implemented by kinds of which a Workload has any number of objects on another cluster, not one: those that carry its name.
type Membered interface {
	// HasEnded tells whether one of them has ended.
	HasEnded(member client.Object) bool
	// HaveEnded tells whether the run of all has ended with that, so that their Workload is about to say so. Group tells that the Workload
	// is one of several.
	HaveEnded(members []client.Object, group bool) bool
	// MarkEnded makes one of them show that it has ended, where its copy cannot be asked any more. It returns false if it has already.
	MarkEnded(member client.Object, success bool, message string) bool
}

// Serving is implemented by kinds whose objects serve until they are deleted: they never end. What the hub has of them shows nothing of their
// copies on other clusters, so that the dispatcher says in the Workload whether their pods are ready.
type Serving interface {
	Integration
	// Serves does nothing but tell such kinds from others.
	Serves()
}

// IsServing tells whether a kind is Serving.
func IsServing(kind Integration) bool {
	_, ok := kind.(Serving)
	return ok
}

// Shared is implemented by kinds of which one object is for several Workloads, each of which is for one of its groups. On another cluster they
// have one copy in common. A group runs there by its own Workload, and not before.
type Shared interface {
	Serving
	// GroupCount is how many Workloads an object is to have.
	GroupCount(client.Object) int
	// FirstWorkload is the name of the Workload of an object's first group, also given its copy.
	FirstWorkload(client.Object) string
}

// IsShared tells whether a kind is Shared.
func IsShared(kind Integration) bool {
	_, ok := kind.(Shared)
	return ok
}

// HasMembers tells whether a kind is Membered.
func HasMembers(kind Integration) bool {
	_, ok := kind.(Membered)
	return ok
}
