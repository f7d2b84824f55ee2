package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/fence/epoch"
	"switchyard.dev/worker/workload"
)

// snapshot is what one reconcile sees. Objects in it may be the cache's own and must not be changed.
type snapshot[T client.Object] struct {
	facts Facts
	job   T
	// wl is the job's Workload, nil if there is none.
	wl *kueue.Workload
	// extras are other Workloads of this very job; orphans are those whose finalizer is of no use any more: of a job of the
	// same name that is gone.
	extras, orphans []*kueue.Workload
	// desired is what to create (DoCreate) or what the Workload should be (DoUpdate).
	desired *kueue.Workload
	// started is the job as it runs (DoStart).
	started T
	// slices are the other Workloads of an elastic job.
	slices sliceSet
	// ready and reclaimable are what to report; ready is nil if there is nothing to say.
	ready       *metav1.Condition
	reclaimable []kueue.ReclaimablePod
	// missingClass is the class that the job waits for (PriorityClassNotFound).
	missingClass class
	// message explains the decision to the user where the reason does not suffice.
	message string
}

// observe reads the job, its Workload and what else Step decides by. Where the first facts decide already, the rest is not
// read.
func (r *reconciler[T]) observe(ctx context.Context, key types.NamespacedName) (*snapshot[T], error) {
	s := &snapshot[T]{job: r.kind.New(), facts: Facts{Now: r.opts.Clock.Now()}}
	err := r.client.Get(ctx, key, s.job)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get %s: %w", r.kind.GVK.Kind, err)
	}
	s.facts.JobDeleted = err != nil || !s.job.GetDeletionTimestamp().IsZero()
	if err == nil && s.facts.JobDeleted {
		if keeps, err := r.keepsQuota(ctx, s.job); keeps || err != nil {
			return s, err
		}
	}
	if err := r.observeWorkloads(ctx, key, s); err != nil {
		return nil, err
	}
	s.facts.CacheBehind = !s.facts.JobDeleted && r.isCacheBehind(s)
	if s.facts.JobDeleted || s.facts.Orphans || s.facts.CacheBehind {
		return s, nil
	}
	if err := r.observeScope(ctx, s); err != nil || s.facts.Scope != ScopeOwn {
		return s, err
	}
	r.observeJob(s)
	if err := r.observeLink(ctx, s); err != nil {
		return nil, err
	}
	return s, r.observeChildren(ctx, s)
}

// keepsQuota tells of a job that is being deleted that its Workload stays until it is gone. In the foreground that would be for ever, since the
// job waits for its Workload as well: there it stays for as long as the job has children.
func (r *reconciler[T]) keepsQuota(ctx context.Context, job T) (bool, error) {
	keeps := r.kind.KeepsQuotaWhileDeleted
	if keeps == nil || !keeps(job, r.opts.Gates) || !slices.Contains(job.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		return keeps != nil && keeps(job, r.opts.Gates), nil
	}
	children, _, err := r.countChildren(ctx, job)
	return children > 0, err
}

// isCacheBehind tells whether we have written the job or its Workload since the cache saw them.
func (r *reconciler[T]) isCacheBehind(s *snapshot[T]) bool {
	now := s.facts.Now
	return r.writer.written.IsNewerThan(s.job, now) || s.wl != nil && r.writer.written.IsNewerThan(s.wl, now)
}

// observeWorkloads sorts the Workloads that a job of this name owns, or has owned.
func (r *reconciler[T]) observeWorkloads(ctx context.Context, key types.NamespacedName, s *snapshot[T]) error {
	var owned kueue.WorkloadList
	err := r.client.List(ctx, &owned, client.InNamespace(key.Namespace), client.MatchingFields{r.watches.ownerIndex(): key.Name})
	if err != nil {
		return fmt.Errorf("list workloads of %s: %w", r.kind.GVK.Kind, err)
	}
	if !s.facts.JobDeleted && r.isElastic(s.job) {
		r.observeSlices(s, owned.Items)
		return r.observeNextCopy(ctx, s, owned.Items)
	}
	if err := r.sortWorkloads(ctx, s, owned.Items); err != nil {
		return err
	}
	needed := r.opts.Gates.PrebuiltWorkloadName(s.job)
	for i := range owned.Items {
		wl := &owned.Items[i]
		ours, guarded := s.isOwnerOf(wl), controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer)
		switch {
		case ours && s.wl == nil && (needed == "" || wl.Name == needed):
			s.wl = wl
		case ours && (wl.DeletionTimestamp.IsZero() || guarded):
			s.extras = append(s.extras, wl)
		case guarded, r.orphans.mayBeOrphan(wl):
			s.orphans = append(s.orphans, wl)
		}
	}
	s.facts.Orphans, s.facts.Extras = len(s.orphans) > 0, len(s.extras) > 0
	s.facts.ExtrasHaveQuota = slices.ContainsFunc(s.extras, workload.HasQuota)
	return r.observeExtras(ctx, s)
}

// observeScope finds out whether the job is to be managed: by its namespace and by the jobs that own it.
func (r *reconciler[T]) observeScope(ctx context.Context, s *snapshot[T]) error {
	selected, err := isNamespaceManaged(ctx, r.client, r.opts.Namespaces, s.job.GetNamespace())
	if err != nil || !selected {
		return err
	}
	found, err := findAncestors(ctx, r.newReader(), &r.opts, s.job, r.kind.GVK)
	switch {
	case err != nil:
		return err
	case found.tooDeep:
		s.facts.Scope = ScopeTooDeep
	case found.external, found.free:
		s.facts.Scope = ScopeIgnored
	case found.top != nil:
		s.facts.Scope = ScopeChild
		return r.observeAncestor(ctx, s, found)
	case r.kind.Ignores != nil && r.kind.Ignores(s.job):
		s.facts.Scope = ScopeIgnored
	case QueueName(s.job) != "" || r.opts.ManageJobsWithoutQueueName:
		s.facts.Scope = ScopeOwn
	}
	return nil
}

// observeAncestor finds out whether the Workload of the managed ancestor is admitted: the job runs only then.
func (r *reconciler[T]) observeAncestor(ctx context.Context, s *snapshot[T], found ancestry) error {
	s.facts.Suspended = r.kind.Suspended(s.job)
	s.facts.Ended = r.kind.Progress(s.job).Finished
	name := r.opts.Gates.PrebuiltWorkloadName(found.top)
	if r.opts.Gates.ElasticJobs && workload.IsElastic(found.top) {
		return r.observeElasticAncestor(ctx, s, found)
	}
	if name == "" {
		name = WorkloadName(found.kind.GVK(), found.top.GetName(), found.top.GetUID(), r.opts.Gates.ShortWorkloadNames)
	}
	wl := &kueue.Workload{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: s.job.GetNamespace(), Name: name}, wl)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get workload of the owner %s: %w", found.top.GetName(), err)
	}
	if err == nil && metav1.IsControlledBy(wl, found.top) && !workload.IsFinished(wl) {
		s.facts.AncestorAdmitted = workload.IsAdmitted(wl) && !workload.IsEvicted(wl)
		s.facts.AncestorStopsUntil = stopsChildrenUntil(wl, s.facts.Now)
	}
	return nil
}

// stopsChildrenUntil is until when the controller of an evicted job stops the job's children itself; zero if the job has no quota left for them,
// or if somebody has written that it is evicted at a time to come.
func stopsChildrenUntil(wl *kueue.Workload, now time.Time) time.Time {
	evicted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted == nil || evicted.Status != metav1.ConditionTrue || evicted.LastTransitionTime.After(now) || !workload.HasQuota(wl) {
		return time.Time{}
	}
	return evicted.LastTransitionTime.Add(childrenGrace)
}

// observeJob reads the job itself, before its Workload is known.
func (r *reconciler[T]) observeJob(s *snapshot[T]) {
	progress := r.kind.Progress(s.job)
	s.facts.Suspended = r.kind.Suspended(s.job)
	s.facts.Ended, s.facts.OnHold = progress.Finished, progress.OnHold != ""
	s.facts.Drained = !progress.Active && (r.opts.Gates.FastQuotaRelease || !progress.Terminating)
}

// observeLink finds the job's Workload, and compares the two.
func (r *reconciler[T]) observeLink(ctx context.Context, s *snapshot[T]) error {
	if err := r.observePrebuilt(ctx, s); err != nil {
		return err
	}
	if s.wl == nil {
		s.facts.Stopped = r.isStopped(s, nil)
		if s.facts.Link == LinkNone && s.facts.Ended == nil && s.facts.Suspended {
			return r.observeDesired(ctx, s)
		}
		return nil
	}
	if err := r.observeWorkloadStatus(ctx, s); err != nil {
		return err
	}
	if err := r.observeDispatch(ctx, s); err != nil {
		return err
	}
	if s.facts.Ended != nil || s.facts.Deleting || s.facts.Finished {
		return nil
	}
	return r.compareWorkload(ctx, s)
}

// observePrebuilt finds the prebuilt Workload that the job names, if it has no Workload yet.
func (r *reconciler[T]) observePrebuilt(ctx context.Context, s *snapshot[T]) error {
	name := r.opts.Gates.PrebuiltWorkloadName(s.job)
	if name == "" || s.wl != nil {
		return nil
	}
	wl := &kueue.Workload{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: s.job.GetNamespace(), Name: name}, wl)
	switch {
	case apierrors.IsNotFound(err):
		s.facts.Link = LinkAwaited
		s.message = fmt.Sprintf("The prebuilt workload %q does not exist", name)
	case err != nil:
		return fmt.Errorf("get prebuilt workload %s: %w", name, err)
	case metav1.GetControllerOfNoCopy(wl) != nil:
		s.facts.Link = LinkOwnedByOther
		s.message = fmt.Sprintf("The prebuilt workload %q belongs to another owner", name)
	case epoch.IsBefore(s.job, wl):
		s.facts.Link = LinkOwnedByOther
		s.message = fmt.Sprintf("The prebuilt workload %q was made by the hub in a later epoch than the job", name)
	case epoch.AreUnrelated(s.job, wl):
		s.facts.Link = LinkOwnedByOther
		s.message = fmt.Sprintf("The prebuilt workload %q was made by the hub for another one than the job", name)
	default:
		s.facts.Link = LinkUnowned
		s.wl = wl
		s.facts.CacheBehind = r.isCacheBehind(s) // adopted a moment ago
	}
	return nil
}

// observeWorkloadStatus reads how far the Workload has come.
func (r *reconciler[T]) observeWorkloadStatus(ctx context.Context, s *snapshot[T]) error {
	f, wl := &s.facts, s.wl
	if f.Link == LinkNone {
		f.Link = LinkMatching
	}
	f.Stopped = r.isStopped(s, wl.Spec.PodSets)
	f.Deleting = !wl.DeletionTimestamp.IsZero()
	f.Reserved = workload.HasQuota(wl)
	f.Admitted = workload.IsAdmitted(wl)
	f.Evicted = workload.IsEvicted(wl)
	f.Held = workload.IsOnHold(wl)
	f.OnHold = f.OnHold && (f.Reserved || workload.IsActive(wl)) && !r.runsElsewhere(s.job)
	f.Finalizer = controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer)
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); c != nil && c.Status == metav1.ConditionTrue {
		f.Finished = true
		f.FinishedAsJob = c.Reason == string(kueue.ReasonSucceeded) || c.Reason == string(kueue.ReasonFailed)
	}
	f.Drained = f.Drained || r.drainedElsewhere(s.job, wl)
	f.RetireAt = r.retireAt(wl)
	return r.observeReport(ctx, s)
}

// isStopped tells whether a stop of the job, if one was begun, is complete. Of a job that is not suspended that is known without
// trying.
func (r *reconciler[T]) isStopped(s *snapshot[T], original []kueue.PodSet) bool {
	return s.facts.Suspended && r.kind.stopFully(deepCopy(s.job), original) == StopDone
}

// retireAt is when a job is to be deleted whose Workload was deactivated for a cause, which people do not give. Copies from
// a hub are the hub's to delete.
func (r *reconciler[T]) retireAt(wl *kueue.Workload) time.Time {
	evicted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if r.opts.KeepDeactivated == nil || evicted == nil || evicted.Status != metav1.ConditionTrue ||
		workload.IsActive(wl) || workload.HasQuota(wl) || workload.IsRemoteCopy(wl) {
		return time.Time{}
	}
	if _, cause := lifecycle.SplitEvictionReason(admission.Reason(evicted.Reason)); cause == "" {
		return time.Time{}
	}
	return evicted.LastTransitionTime.Add(*r.opts.KeepDeactivated)
}

// drainedElsewhere tells, for a job that runs on another cluster, that its pods are not to be waited for here: no cluster
// has it, or its dispatcher has given that cluster up and remembers itself what may still run there. The job's own status
// is then the last that was heard and may never change.
func (r *reconciler[T]) drainedElsewhere(job T, wl *kueue.Workload) bool {
	if !r.runsElsewhere(job) {
		return false
	}
	return workload.IsDrainedElsewhere(wl)
}

// observeDesired composes the Workload that the job should get.
func (r *reconciler[T]) observeDesired(ctx context.Context, s *snapshot[T]) error {
	sets, err := r.composer.buildPodSets(ctx, s.job)
	if err == nil {
		s.desired, err = r.composer.buildWorkload(ctx, s.job, sets)
	}
	switch {
	case err != nil:
	case s.facts.Elastic:
		r.nameSlice(s, s.desired)
	default:
		r.markDispatched(s.job, s.desired)
	}
	return s.cannotCompose(err)
}

// cannotCompose keeps errors that the user has to solve as facts, and returns all others.
func (s *snapshot[T]) cannotCompose(err error) error {
	var status apierrors.APIStatus
	var missing *missingClassError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		s.facts.CannotCompose = PriorityClassNotFound
		s.missingClass = missing.class
	case errors.As(err, &status), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		s.facts.CannotCompose = CannotCompose
	}
	s.message = err.Error()
	return nil
}

// isNamespaceManaged tells whether the namespace is one whose jobs are managed (contract: managedJobsNamespaceSelector, which applies
// to jobs that name a queue too).
func isNamespaceManaged(ctx context.Context, r client.Reader, selector labels.Selector, namespace string) (bool, error) {
	if selector == nil || selector.Empty() {
		return true, nil
	}
	ns := &corev1.Namespace{}
	if err := r.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		return false, fmt.Errorf("get namespace %s: %w", namespace, err)
	}
	return selector.Matches(labels.Set(ns.Labels)), nil
}
