package mirror

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// ErrNoJob says that the hub's job is not there to be copied. It has the form of a refusal by an API server, so that it is
// not taken for a failure of the worker.
var ErrNoJob error = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: "the hub's job does not exist",
}}

// Found is what a worker's API server holds of an Original; nil means that it holds nothing of the name.
type Found struct {
	Workload *kueue.Workload
	Job      client.Object
}

// Read reads Workload and job straight from the worker.
func (o Original) Read(ctx context.Context, c client.Reader) (Found, error) {
	var found Found
	wl := &kueue.Workload{}
	switch err := c.Get(ctx, o.Key(), wl); {
	case err == nil:
		found.Workload = wl
	case !apierrors.IsNotFound(err):
		return found, fmt.Errorf("read the copy of workload %s: %w", o.Key(), err)
	}
	remote, err := o.readJob(ctx, c)
	found.Job = remote
	return found, err
}

// readJob returns nil if there is no job of the name; a worker that does not serve the kind has none.
func (o Original) readJob(ctx context.Context, c client.Reader) (client.Object, error) {
	if o.Kind == nil || o.JobName == "" {
		return nil, nil
	}
	if o.hasMembers() {
		return o.readMember(ctx, c)
	}
	remote := o.Kind.New()
	err := c.Get(ctx, o.JobKey(), remote)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the copy of job %s: %w", o.JobKey(), err)
	}
	return remote, nil
}

// ObserveLive tells the dispatcher about what a live read has found.
func (o Original) ObserveLive(epoch int64, found Found) dispatch.Live {
	return dispatch.Live{Epoch: epoch, Copy: o.ObserveWorkload(found.Workload), Job: o.ObserveJob(found.Job)}
}

// CreateOffer creates the Workload on a worker and reports whether it did. A copy of the same epoch that exists already is
// as good; anything else of the name is returned as found, untouched.
func (o Original) CreateOffer(ctx context.Context, c client.Client, epoch int64) (created bool, other *Found, err error) {
	err = c.Create(ctx, o.WorkloadCopy(epoch))
	if err == nil {
		return true, nil, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return false, nil, fmt.Errorf("create the copy of workload %s: %w", o.Key(), err)
	}
	found, err := o.Read(ctx, c)
	if err != nil || found.Workload == nil {
		return false, nil, err
	}
	if o.holderOf(found.Workload) == dispatch.Ours && Epoch(found.Workload) == epoch {
		return false, nil, nil
	}
	return false, &found, nil
}

// UpdateOffer writes priority and priority class of the hub's Workload to the copy seen on a worker, and the pod sets if it has only become smaller.
func (o Original) UpdateOffer(ctx context.Context, c client.Client, seen *kueue.Workload) error {
	base := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: seen.Name, Namespace: seen.Namespace, UID: seen.UID, ResourceVersion: seen.ResourceVersion}}
	base.Spec.Priority, base.Spec.PriorityClassRef = seen.Spec.Priority, seen.Spec.PriorityClassRef
	next := base.DeepCopy()
	next.Spec.Priority, next.Spec.PriorityClassRef = o.Workload.Spec.Priority, o.Workload.Spec.PriorityClassRef
	if isLarger(seen, o.Workload) {
		next.Spec.PodSets = o.Workload.Spec.PodSets
	}
	if err := c.Patch(ctx, next, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("update the copy of workload %s: %w", o.Key(), err)
	}
	return nil
}

// CreateJob creates the job on a worker, provided that a live read shows the copy to be ours, of this epoch, admitted, not
// adopted by a job, not finished and not going. If it is not, or another object bears the job's name, what was found is returned instead.
func (o Original) CreateJob(ctx context.Context, c client.Client, epoch int64, nameInLabel bool) (other *Found, err error) {
	if o.Job == nil {
		return nil, fmt.Errorf("create the copy of job %s: %w", o.JobKey(), ErrNoJob)
	}
	wl := &kueue.Workload{}
	err = c.Get(ctx, o.Key(), wl)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the copy of workload %s: %w", o.Key(), err)
	}
	if err != nil || !o.mayRun(wl, epoch) {
		return o.readOther(ctx, c)
	}
	if o.hasMembers() {
		return o.createMembers(ctx, c, epoch, nameInLabel)
	}
	err = c.Create(ctx, o.JobCopy(epoch, nameInLabel))
	switch {
	case err == nil:
		return nil, nil
	case !apierrors.IsAlreadyExists(err):
		return nil, fmt.Errorf("create the copy of job %s: %w", o.JobKey(), err)
	}
	found, err := o.readOther(ctx, c)
	if err == nil && found.Job != nil && o.holderOfJob(found.Job) == dispatch.Ours && o.epochOfJob(found.Job) == epoch {
		return nil, nil
	}
	return found, err
}

func (o Original) mayRun(wl *kueue.Workload, epoch int64) bool {
	return o.mayRunAs(o.ObserveWorkload(wl), epoch)
}

func (o Original) mayRunAs(fact dispatch.Copy, epoch int64) bool {
	current := fact.Epoch == epoch || fact.Epoch == 0 && epoch == 1
	return fact.Holder == dispatch.Ours && current && fact.Admitted && !fact.Adopted && fact.Finished == nil &&
		!fact.Deleting && !fact.Evicted && !fact.Deactivating
}

func (o Original) readOther(ctx context.Context, c client.Client) (*Found, error) {
	found, err := o.Read(ctx, c)
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// Removal says what Retract may remove.
type Removal struct {
	// BelowEpoch is the epoch below which objects of ours are removed; those of a predecessor are removed whatever their epoch.
	BelowEpoch int64
	// SpareJob leaves a job of ours that turns out to have finished alone, and its Workload with it. The result of a
	// predecessor's job is not waited for.
	SpareJob bool
	// KeepJob removes the Workload only.
	KeepJob bool
	// Foreground keeps the job's object until its pods have ended. Of a Workload that the hub does not have any more (Gone)
	// only a job that was to be fenced is removed so: what it was promised is stamped on it, and the public API removes the
	// others in the background.
	Foreground bool
	// Seen is what the caches show. What they do not show, if they show anything, is taken to be absent: this is no
	// evidence, but a removal that misses something is asked for again.
	Seen Found
	// Confirm is called before a job, or a copy that a job has taken up, is removed; its error gives the removal up. An offer
	// that no job has taken up is removed without it. Nil confirms everything.
	Confirm func(context.Context) error
}

// Retract removes job, then Workload, from a worker. A removal names the UID of the object and, where it depends on a
// status, the version, so that nothing else is ever hit. A job that was spared is returned as found.
func (o Original) Retract(ctx context.Context, c client.Client, r Removal) (spared *Found, err error) {
	seen := r.Seen
	switch {
	case seen.Job == nil && seen.Workload == nil:
		seen, err = o.Read(ctx, c)
	case r.SpareJob && o.Kind != nil && !o.Kind.ReportsOutcome():
		seen, err = o.Read(ctx, c)
	case r.SpareJob:
		seen.Job, err = o.readJob(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	if r.KeepJob {
		seen.Job = nil
	}
	if err := o.confirmRemoval(ctx, seen, r); err != nil {
		return nil, err
	}
	if seen.Job != nil && o.isJobRemovable(seen.Job, r.BelowEpoch) {
		spare, err := o.deleteJobs(ctx, c, seen, r)
		if spare && err == nil {
			return o.readOther(ctx, c)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, o.retractWorkload(ctx, c, seen.Workload, r)
}

// deleteJobs deletes the job that was seen, with all of its members. It says if that was spared because it has ended.
func (o Original) deleteJobs(ctx context.Context, c client.Client, seen Found, r Removal) (spared bool, err error) {
	if o.hasMembers() {
		return o.deleteMembers(ctx, c, seen, r)
	}
	if r.SpareJob && o.holderOfJob(seen.Job) == dispatch.Ours && o.hasEnded(seen) {
		return true, nil
	}
	return false, o.deleteJob(ctx, c, seen.Job, r)
}

// hasEnded tells whether a job that was found has ended, as it says itself or, where its kind cannot, its Workload of the same
// epoch does.
func (o Original) hasEnded(seen Found) bool {
	if o.Kind.ReportsOutcome() {
		return Outcome(o.Kind, seen.Job) != nil
	}
	wl := o.ObserveWorkload(seen.Workload)
	return wl.Holder == dispatch.Ours && wl.Epoch == Epoch(seen.Job) && wl.Finished != nil && wl.Finished.Reason != dispatch.OutOfSync
}

// confirmRemoval asks whether work may be destroyed, if any would be.
func (o Original) confirmRemoval(ctx context.Context, seen Found, r Removal) error {
	job := seen.Job != nil && o.isJobRemovable(seen.Job, r.BelowEpoch)
	taken := seen.Workload != nil && o.ObserveWorkload(seen.Workload).Adopted && isRemovable(o.holderOf(seen.Workload), seen.Workload, r.BelowEpoch)
	if r.Confirm == nil || !job && !taken {
		return nil
	}
	return r.Confirm(ctx)
}

// deleteJob deletes a remote job, provided that it is the one that was seen; a job that is to be spared if it has finished
// must not have changed either.
func (o Original) deleteJob(ctx context.Context, c client.Client, remote client.Object, r Removal) error {
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(remote.GetUID())}}
	if r.SpareJob {
		options.Preconditions.ResourceVersion = ptr.To(remote.GetResourceVersion())
	}
	if propagation := o.Kind.DeletePropagation(); propagation != "" {
		options.PropagationPolicy = &propagation
	}
	if r.Foreground && (!o.Deleted || StopsWithoutHub(remote)) {
		options.PropagationPolicy = ptr.To(metav1.DeletePropagationForeground)
	}
	return deleteObject(ctx, c, remote, options)
}

// retractWorkload deletes a copy below the epoch, and takes our finalizer off it first. A copy that is to go without its job must not have changed
// since: the job may run by it now.
func (o Original) retractWorkload(ctx context.Context, c client.Client, seen *kueue.Workload, r Removal) error {
	if seen == nil || !isRemovable(o.holderOf(seen), seen, r.BelowEpoch) {
		return nil
	}
	version := seen.ResourceVersion
	if slices.Contains(seen.Finalizers, kueue.ResourceInUseFinalizer) {
		var err error
		if version, err = o.removeFinalizer(ctx, c, seen); err != nil {
			return err
		}
	}
	only := &metav1.Preconditions{UID: ptr.To(seen.UID)}
	if r.KeepJob {
		only.ResourceVersion = ptr.To(version)
	}
	return deleteObject(ctx, c, seen, &client.DeleteOptions{Preconditions: only})
}

func isRemovable(h dispatch.Holder, obj client.Object, below int64) bool {
	return isRemovableIn(h, Epoch(obj), below)
}

func isRemovableIn(h dispatch.Holder, epoch, below int64) bool {
	return h == dispatch.Predecessor || (h == dispatch.Ours || h == dispatch.Relabelled) && dispatch.IsBelow(epoch, below)
}

// deleteObject deletes an object unless that was asked for already.
func deleteObject(ctx context.Context, c client.Client, obj client.Object, options *client.DeleteOptions) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	own, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("remove %T: its copy is not an object", obj)
	}
	if err := client.IgnoreNotFound(c.Delete(ctx, own, options)); err != nil {
		return fmt.Errorf("remove the copy %s/%s from the worker: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// removeFinalizer takes our finalizer off a copy; copies are made without it, so this is rare (contract: multikueue.md 4).
func (o Original) removeFinalizer(ctx context.Context, c client.Client, seen *kueue.Workload) (version string, err error) {
	base := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Name: seen.Name, Namespace: seen.Namespace, ResourceVersion: seen.ResourceVersion, Finalizers: seen.Finalizers,
	}}
	next := base.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == kueue.ResourceInUseFinalizer })
	err = c.Patch(ctx, next, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err := client.IgnoreNotFound(err); err != nil {
		return "", fmt.Errorf("take the finalizer off the copy of workload %s: %w", o.Key(), err)
	}
	return next.ResourceVersion, nil
}

// Evict asks a worker to deactivate the copy, if it is ours and of an epoch below the given one (contract: multikueue.md 4
// case 6b). It is written the way the worker writes its own conditions, so that the worker can take it back.
func (o Original) Evict(ctx context.Context, c client.Client, below int64, message string, now time.Time) error {
	wl := &kueue.Workload{}
	if err := c.Get(ctx, o.Key(), wl); err != nil {
		return client.IgnoreNotFound(err)
	}
	fact := o.ObserveWorkload(wl)
	if fact.Holder != dispatch.Ours || !dispatch.IsBelow(fact.Epoch, below) || fact.Deactivating || fact.Evicted || fact.Finished != nil {
		return nil
	}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadDeactivationTarget, Status: metav1.ConditionTrue,
		Reason: string(kueue.ReasonEvictedOnManagerCluster), Message: kube.Truncate(message, kube.MaxConditionMessage),
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: wl.Generation,
	})
	return kube.ApplyAdmission(ctx, c, wl)
}

// OpenPreemptionGate opens the hub's preemption gate of a copy that is ours and of this epoch, unless it is open already (contract:
// multikueue.md 8). It is written the way the worker writes the status, so that the worker can close it again.
func (o Original) OpenPreemptionGate(ctx context.Context, c client.Client, epoch int64, now time.Time) error {
	wl := &kueue.Workload{}
	if err := c.Get(ctx, o.Key(), wl); err != nil {
		return client.IgnoreNotFound(err)
	}
	fact := o.ObserveWorkload(wl)
	if fact.Holder != dispatch.Ours || fact.Epoch != epoch || !fact.GateClosed || fact.Finished != nil {
		return nil
	}
	gates := &wl.Status.PreemptionGates
	*gates = slices.DeleteFunc(*gates, func(g kueue.PreemptionGateState) bool {
		return g.Name == kueue.MultiKueuePreemptionGate
	})
	*gates = append(*gates, kueue.PreemptionGateState{
		Name: kueue.MultiKueuePreemptionGate, Position: kueue.GateOpen, LastTransitionTime: metav1.NewTime(now),
	})
	return kube.ApplyAdmission(ctx, c, wl)
}

// Objects are those that there are.
func (f Found) Objects() []client.Object {
	var list []client.Object
	if f.Workload != nil {
		list = append(list, f.Workload)
	}
	if f.Job != nil {
		list = append(list, f.Job)
	}
	return list
}

// MayRun tells whether there is a job, or a Workload that one has taken up.
func (f Found) MayRun() bool {
	if f.Job != nil || f.Workload == nil {
		return f.Job != nil
	}
	taken, _ := adoptingJob(f.Workload)
	return taken
}
