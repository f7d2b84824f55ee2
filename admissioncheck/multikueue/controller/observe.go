package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// workloadScope is one Workload as the reconciler sees it: what Step is given, and what its plan is carried out on. Its objects are the
// caches' own and must not be changed.
type workloadScope struct {
	original  mirror.Original
	checkName kueue.AdmissionCheckReference // empty when the Workload has no entry for a multikueue check
	state     dispatch.State
	observed  dispatch.Observation
	policy    dispatch.Policy
	// choices are what placement says of the clusters; empty if it was not asked.
	choices []placement.Choice
	// ineligible are the clusters that it cannot be offered for what they say of themselves.
	ineligible []tracker.Ineligible
	// heldBySiblings are the clusters to which others are bound that share the job; sharedByOthers tells of an orphan that there are others.
	heldBySiblings map[string]bool
	sharedByOthers bool
	// clusterInfos are those of the clusters looked at.
	clusterInfos map[string]clusterInfo
	// preferredClusters are the clusters that the job or its ClusterQueue prefers, the most preferred first.
	preferredClusters []string
	// readyAt is when the check became Ready; zero while it is not.
	readyAt time.Time
	// retryAt is when to look again although nothing is known to change; zero for never.
	retryAt time.Time
}

func (s *workloadScope) key() client.ObjectKey { return s.original.Key() }

// observe reads what Step may look at: the hub's caches and what the fleet has seen. It calls no worker. A nil scope
// means that there is nothing to decide.
func (r *WorkloadReconciler) observe(ctx context.Context, key client.ObjectKey) (*workloadScope, error) {
	wl := &kueue.Workload{}
	err := r.Client.Get(ctx, key, wl, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return r.observeDeleted(ctx, key)
	case err != nil:
		return nil, fmt.Errorf("read workload %s: %w", key, err)
	case r.writes.IsNewerThan(wl, r.Clock.Now()):
		return nil, errCacheBehind
	}
	return r.observeWorkload(ctx, wl)
}

// observeWorkload is observe for a Workload as it is, or is about to be written.
func (r *WorkloadReconciler) observeWorkload(ctx context.Context, wl *kueue.Workload) (*workloadScope, error) {
	entry, ac, err := checkconfig.FindAdmissionCheck(ctx, r.Client, wl)
	if err != nil {
		return nil, err
	}
	config, err := r.lookupUsableConfig(ctx, ac)
	if err != nil {
		return nil, err
	}
	original, refusal, err := r.lookupOriginal(ctx, wl)
	if errors.Is(err, errLeftAlone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &workloadScope{original: original, state: hubworkload.DecodeState(wl)}
	adrift := (entry == nil || config == nil) && wl.DeletionTimestamp.IsZero() && workload.HasQuota(wl) && !workload.IsFinished(wl)
	if adrift && !r.wasDispatched(s, entry) {
		return nil, nil
	}
	r.resolvePolicy(ctx, s, config)
	s.observed = dispatch.Observation{Now: r.Clock.Now(), Local: observeLocal(wl, entry)}
	s.observed.Local.Job.Refusal = refusal
	s.observed.Local.Job.Unfenced = !supportsFencing(original.Kind)
	s.observed.Local.Job.KillGrace = killGrace(wl)
	s.observed.Local.KeptForJob = isRetained(wl, original.Job)
	r.observeSiblings(ctx, wl, &s.observed.Local)
	if s.observed.Local.Slice, err = r.observeSlice(ctx, s); err != nil {
		return nil, err
	}
	if err := r.observeShare(ctx, s); err != nil {
		return nil, err
	}
	if original.Job != nil && !s.original.Slice.Passive {
		s.observed.Local.Job.Active = original.Kind.Progress(original.Job).HoldsPods()
		s.observed.Local.Job.StatusOutlivesPods = original.Kind.StatusOutlivesPods()
	}
	if entry != nil {
		s.checkName = entry.Name
		if entry.State == kueue.CheckStateReady {
			s.readyAt = entry.LastTransitionTime.Time
		}
	}
	s.observed.Clusters = r.selectViews(ctx, s, listedClusters(s, config, adrift))
	s.observed.Fleet, s.observed.CutOffEnded = r.links.fleetLinks(s.observed.Clusters)
	r.ranker.rankClusters(ctx, s)
	return s, nil
}

// wasDispatched tells of a Workload whose check or config is missing whether it was dispatched before: then it is carried on with. If
// nothing says that the check was ever ours, the cluster may be another dispatcher's.
func (r *WorkloadReconciler) wasDispatched(s *workloadScope, entry *kueue.AdmissionCheckState) bool {
	state := s.state
	if state.Bound == "" && len(state.Debts) == 0 {
		return false
	}
	if entry != nil || meta.FindStatusCondition(s.original.Workload.Status.Conditions, dispatch.ConditionType) != nil {
		return true
	}
	seen := r.remote.lookupRemote(state.Bound, s.original)
	return s.original.ObserveWorkload(seen.Workload).Holder == dispatch.Ours || s.original.ObserveJob(seen.Job).Holder == dispatch.Ours
}

// listedClusters are the clusters that count as listed in the config. Without a readable config that is the bound cluster
// alone, and no cluster gets a new offer.
func listedClusters(s *workloadScope, config *kueue.MultiKueueConfig, adrift bool) []string {
	switch {
	case config != nil && !adrift:
		return config.Spec.Clusters
	case s.state.Bound != "":
		return []string{s.state.Bound}
	}
	return nil
}

// lookupUsableConfig returns the config of the check; nil if there is no check or no usable config.
func (r *WorkloadReconciler) lookupUsableConfig(ctx context.Context, ac *kueue.AdmissionCheck) (*kueue.MultiKueueConfig, error) {
	if ac == nil {
		return nil, nil
	}
	config, err := checkconfig.FindConfig(ctx, r.Client, ac)
	var status apierrors.APIStatus
	if asStatus(err, &status) && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the config of AdmissionCheck %s: %w", ac.Name, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // the check's condition says what is wrong
	}
	return config, nil
}

// observeDeleted looks after what is left on the workers of a Workload that the cache does not have. The cache is not
// believed: before anything is removed, the API server of the hub has to say so too.
func (r *WorkloadReconciler) observeDeleted(ctx context.Context, key client.ObjectKey) (*workloadScope, error) {
	orphan := r.orphans.buildOrphan(key)
	s := &workloadScope{original: orphan, state: dispatch.State{Epoch: 1}, policy: runpolicy.ForOrphans(r.Policy)}
	s.observed = dispatch.Observation{Now: r.Clock.Now(), Local: dispatch.Local{Deleted: true}}
	if err := r.observeOrphanedShare(ctx, s); err != nil {
		return nil, err
	}
	s.observed.Clusters = slices.DeleteFunc(r.selectViews(ctx, s, nil), func(v dispatch.ClusterView) bool {
		return !hasOwnObjects(v) || r.orphans.keepsOrphan(ctx, v.Name, orphan) || r.orphans.isSliceJob(ctx, v.Name, orphan)
	})
	if len(s.observed.Clusters) == 0 {
		r.tracker.do(func(t *tracker.Tracker) { t.ForgetWorkload(admissionKey(key)) })
		r.Fleet.ForgetWorkload(key)
		return nil, nil
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(workloadGVK())
	err := r.APIReader.Get(ctx, key, live)
	if err == nil {
		return nil, fmt.Errorf("workload %s exists, but the cache does not have it yet", key)
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("make sure that workload %s is gone: %w", key, err)
	}
	if err := r.Hub.VerifyNotRestored(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// observeLocal says what the hub knows of its own Workload.
func observeLocal(wl *kueue.Workload, entry *kueue.AdmissionCheckState) dispatch.Local {
	l := dispatch.Local{
		Deleted: !wl.DeletionTimestamp.IsZero(), Finished: workload.IsFinished(wl), FinishedAt: hubworkload.FinishedAt(wl),
		Quota: dispatch.LocalQuota{Reserved: workload.HasQuota(wl), Evicted: workload.IsEvicted(wl), Evictions: workload.CountEvictions(wl)},
		Check: dispatch.LocalCheck{OthersReady: true},
	}
	if l.Quota.Reserved {
		reserved := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
		l.Quota.ReservedAt = reserved.LastTransitionTime.Time
		l.Quota.Reservation = l.Quota.ReservedAt.UTC().Format(time.RFC3339) + "/" + strconv.FormatInt(l.Quota.Evictions, 10)
	}
	if l.Quota.Evicted {
		evicted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
		l.Quota.EvictedMessage = evicted.Message
		l.Quota.AwaitsUnbinding = entry != nil && evicted.Reason != string(kueue.ReasonAdmissionCheck)
	}
	if entry != nil {
		l.Check.State, l.Check.Message = dispatch.CheckState(entry.State), entry.Message
	}
	for i := range wl.Status.AdmissionChecks {
		other := &wl.Status.AdmissionChecks[i]
		l.Check.OthersReady = l.Check.OthersReady && (other == entry || other.State == kueue.CheckStateReady)
	}
	return l
}

// isRetained reports whether a Workload that is being deleted stays until its dispatcher has no cluster on record that may
// run the job: the job's controller keeps it then. If the job is being deleted as well, the Workload does not stay.
func isRetained(wl *kueue.Workload, owner client.Object) bool {
	return !wl.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer) &&
		owner != nil && owner.GetDeletionTimestamp().IsZero() && metav1.IsControlledBy(wl, owner)
}

// selectViews returns what is known of the clusters that Step needs to decide: as a rule, of those near; where it has to know all,
// of those of the config, in its order, and of every other one that the State mentions or that shows something of the
// Workload, by name.
func (r *WorkloadReconciler) selectViews(ctx context.Context, s *workloadScope, config []string) []dispatch.ClusterView {
	near := slices.Concat(s.state.Names(), r.remote.clustersFor(s.original))
	slices.Sort(near)
	near = slices.Compact(near)
	listed := config
	o := s.observed
	if !dispatch.NeedsAll(s.state, o) {
		listed = slices.DeleteFunc(slices.Clone(config), func(name string) bool { return !slices.Contains(near, name) })
	}
	o.Clusters = r.buildViews(ctx, s, listed, near)
	if len(listed) < len(config) && dispatch.NeedsAll(s.state, o) {
		return r.buildViews(ctx, s, config, near)
	}
	return o.Clusters
}

// buildViews returns the views of the listed clusters, and then of the others near that the State mentions or that show an
// object.
func (r *WorkloadReconciler) buildViews(ctx context.Context, s *workloadScope, listed, near []string) []dispatch.ClusterView {
	views := make([]dispatch.ClusterView, 0, len(listed)+1)
	for _, name := range listed {
		views = append(views, r.buildView(ctx, s, name, true))
	}
	named := s.state.Names()
	for _, name := range near {
		if slices.Contains(listed, name) {
			continue
		}
		v := r.buildView(ctx, s, name, false)
		if slices.Contains(named, name) || v.Copy.Holder != dispatch.Absent || v.Job.Holder != dispatch.Absent {
			views = append(views, v)
		}
	}
	return views
}
