package job

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/fence/epoch"
	"switchyard.dev/worker/job/elastic"
	"switchyard.dev/worker/workload"
)

// Elastic jobs have slices in place of one Workload (contract: job-kinds.md 15): package elastic decides which of them run, wait and end.

// Messages of Finished (contract: job-kinds.md 15).
const (
	messageSliceReplaced  = "Replaced to accommodate a new workload slice"
	messageSliceOutOfSync = "The workload slice is out of sync with its parent job"
)

// slices are the Workloads of an elastic job besides the one by which it runs.
type sliceSet struct {
	// next waits to take over, nil if there is none.
	next *kueue.Workload
	// endings are to be finished now, with reason and message.
	endings []sliceEnding
	// released have ended, or are on their way out without quota, and are still kept by our finalizer.
	released []*kueue.Workload
	// kept are those that stay though they have ended, see keptSlices; recordAwaited tells that the dispatcher has yet to hand their record on.
	kept          []*kueue.Workload
	recordAwaited bool
	// names are those of all Workloads that the job owns or has owned.
	names map[string]bool
	// unadopted is a copy that a hub has made to replace one of the job's slices, nil if there is none.
	unadopted *kueue.Workload
	// resized is the Workload whose counts do not say what the job asks for, if they can be changed in place.
	resized *kueue.Workload
}

// sliceEnding is a slice that is of no use any more, and why.
type sliceEnding struct {
	wl      *kueue.Workload
	reason  kueue.Reason
	message string
}

// isElastic tells whether the job can be scaled by slices. One that runs on another cluster can if its copy can be resized there.
func (r *reconciler[T]) isElastic(job T) bool {
	e := r.kind.Elastic
	if e == nil || !r.opts.Gates.ElasticJobs || !workload.IsElastic(job) {
		return false
	}
	return (e.Resize != nil || !r.runsElsewhere(job)) && (r.kind.Suspended(job) || e.Gated(job))
}

// observeSlices sorts the Workloads that a job of this name owns, or has owned, if it is elastic.
func (r *reconciler[T]) observeSlices(s *snapshot[T], owned []kueue.Workload) {
	s.facts.Elastic = true
	s.slices.names = map[string]bool{}
	var own, live, ended []*kueue.Workload
	for i := range owned {
		wl := &owned[i]
		s.slices.names[wl.Name] = true
		if s.isOwnerOf(wl) {
			own = append(own, wl)
		}
	}
	for i := range owned {
		wl := &owned[i]
		guarded := controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer)
		switch {
		case !s.isOwnerOf(wl):
			if guarded || r.orphans.mayBeOrphan(wl) {
				s.orphans = append(s.orphans, wl)
			}
		case workload.IsFinished(wl):
			ended = append(ended, wl)
		case !wl.DeletionTimestamp.IsZero() && !workload.HasQuota(wl) && !mayHaveDebts(wl) && !awaitsRecord(wl, own) && len(owned) > 1:
			s.slices.released = append(s.slices.released, wl)
		default:
			live = append(live, wl)
		}
	}
	s.facts.Orphans = len(s.orphans) > 0
	s.chooseSlices(live)
	if s.wl != nil {
		s.slices.kept, s.slices.recordAwaited = keptSlices(s.wl, own), awaitsRecord(s.wl, own)
	} else {
		s.wl = lastOutcome(ended)
	}
	for _, wl := range ended {
		if wl != s.wl && !slices.Contains(s.slices.kept, wl) {
			s.slices.released = append(s.slices.released, wl)
		}
	}
	s.slices.released = slices.DeleteFunc(s.slices.released, func(wl *kueue.Workload) bool {
		return !controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer)
	})
	s.facts.StaleSlices = len(s.slices.endings)+len(s.slices.released) > 0
}

// observeNextCopy finds the copy of the next slice that a hub has made for the job, which no job has taken up yet. It becomes the job's before
// it has quota, so that the job runs by one of its slices at any moment, whenever its hub has it name the next one.
func (r *reconciler[T]) observeNextCopy(ctx context.Context, s *snapshot[T], owned []kueue.Workload) error {
	if r.opts.Gates.PrebuiltWorkloadName(s.job) == "" || r.runsElsewhere(s.job) {
		return nil
	}
	for i := range owned {
		if !s.isOwnerOf(&owned[i]) {
			continue
		}
		next, err := r.readNextCopy(ctx, &owned[i])
		if err != nil {
			return err
		}
		if next != nil {
			s.slices.unadopted = next
		}
	}
	s.facts.NextUnadopted = s.slices.unadopted != nil
	return nil
}

// readNextCopy returns the copy that replaces the slice and that no job has taken up; nil if there is none. The index has what claims to.
func (r *reconciler[T]) readNextCopy(ctx context.Context, slice *kueue.Workload) (*kueue.Workload, error) {
	var claims kueue.WorkloadList
	by := client.MatchingFields{r.watches.replacedIndex(): slice.Name}
	if err := r.client.List(ctx, &claims, client.InNamespace(slice.Namespace), by, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the copies that are to replace %s: %w", slice.Name, err)
	}
	for i := range claims.Items {
		next := &claims.Items[i]
		if metav1.GetControllerOfNoCopy(next) != nil || workload.IsFinished(next) || !next.DeletionTimestamp.IsZero() {
			continue
		}
		if workload.ReplacesSlice(next, slice) && epoch.IsSameHub(next, slice) {
			return next, nil
		}
	}
	return nil, nil
}

// mayHaveDebts tells whether a Workload records a cluster that may run the job.
func mayHaveDebts(wl *kueue.Workload) bool {
	return wl.Status.ClusterName != nil || meta.IsStatusConditionTrue(wl.Status.Conditions, switchyard.DispatchCondition)
}

// isRecorded tells whether the dispatcher has recorded anything of a Workload.
func isRecorded(wl *kueue.Workload) bool {
	return wl.Status.ClusterName != nil || meta.FindStatusCondition(wl.Status.Conditions, switchyard.DispatchCondition) != nil
}

// keptSlices are the slices before the one by which the job is to run, which stay, though somebody deletes them, until that one has recorded what they
// have recorded, and has been admitted where the job runs by what they have there.
func keptSlices(running *kueue.Workload, own []*kueue.Workload) []*kueue.Workload {
	earlier := workload.SlicesBefore(running, own)
	isDone := isRecorded(running) && (workload.IsAdmitted(running) || running.Status.ClusterName == nil)
	if isDone || !slices.ContainsFunc(earlier, isRecorded) {
		return nil
	}
	return earlier
}

// awaitsRecord tells of a slice that has got quota that the dispatcher has not recorded yet what it takes over.
func awaitsRecord(wl *kueue.Workload, own []*kueue.Workload) bool {
	return (workload.HasQuota(wl) || workload.CountEvictions(wl) > 0) && !isRecorded(wl) && slices.ContainsFunc(workload.SlicesBefore(wl, own), mayHaveDebts)
}

// chooseSlices finds the slice by which the job runs, the next one, and those that end.
func (s *snapshot[T]) chooseSlices(live []*kueue.Workload) {
	list := make([]elastic.Slice, len(live))
	for i, wl := range live {
		list[i] = elastic.Slice{
			Name: wl.Name, UID: string(wl.UID), Created: wl.CreationTimestamp.Time, Reserved: workload.HasQuota(wl), Evicted: workload.IsEvicted(wl),
			Recorded: mayHaveDebts(wl),
		}
		for _, older := range live {
			if workload.ReplacesSlice(wl, older) {
				list[i].Replaces = older.Name
			}
		}
	}
	choice := elastic.Choose(list)
	if choice.Running != elastic.None {
		s.wl = live[choice.Running]
	}
	if choice.Next != elastic.None {
		s.slices.next = live[choice.Next]
	}
	for _, end := range choice.End {
		e := sliceEnding{wl: live[end.Slice], reason: kueue.ReasonOutOfSync, message: messageSliceOutOfSync}
		if end.Replaced {
			e.reason, e.message = kueue.ReasonWorkloadSliceReplaced, messageSliceReplaced
		}
		s.slices.endings = append(s.slices.endings, e)
	}
}

// lastOutcome returns the newest Workload that says how the job has ended, or that it cannot start; nil if there is none.
func lastOutcome(ended []*kueue.Workload) *kueue.Workload {
	var last *kueue.Workload
	for _, wl := range ended {
		c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
		ofSlice := c.Reason == string(kueue.ReasonWorkloadSliceReplaced) || c.Reason == string(kueue.ReasonOutOfSync)
		if !ofSlice && (last == nil || last.CreationTimestamp.Before(&wl.CreationTimestamp)) {
			last = wl
		}
	}
	return last
}

// endSlices finishes the slices that are of no use any more, and lets go of those that have ended.
func (r *reconciler[T]) endSlices(ctx context.Context, s *snapshot[T]) error {
	var failed *multierror.Error
	for _, end := range s.slices.endings {
		wl := end.wl.DeepCopy()
		workload.Finish(wl, end.reason, end.message, s.facts.Now)
		err := r.writer.applyAdmission(ctx, wl)
		if err == nil && !slices.Contains(s.slices.kept, end.wl) {
			err = r.writer.patchObject(ctx, wl, withoutFinalizer(wl))
		}
		failed = multierror.Append(failed, err)
	}
	for _, wl := range s.slices.released {
		failed = multierror.Append(failed, r.writer.patchObject(ctx, wl, withoutFinalizer(wl)))
	}
	return failed.ErrorOrNil()
}

// compareSlices tells how the job differs from the slices that it has, one of which holds quota.
func (r *reconciler[T]) compareSlices(ctx context.Context, s *snapshot[T]) error {
	sets, err := r.composer.buildPodSets(ctx, s.job)
	if err != nil {
		s.facts.Link = LinkStale
		return s.cannotCompose(err)
	}
	running, err := r.runningPods(ctx, s.job)
	if err != nil {
		return err
	}
	if workload.IsAdmissionTooLarge(s.wl) {
		s.facts.PodsLeaving = elastic.Needed(podCounts(s.wl.Spec.PodSets), admittedCounts(s.wl), running).Leaving
		if !s.facts.PodsLeaving {
			s.facts.AdmissionTooLarge = true
			return nil
		}
	}
	placement, err := r.buildPlacements(ctx, s)
	if err != nil {
		return err
	}
	asked, err := r.askedCounts(ctx, s.job, sets)
	if err != nil {
		return s.cannotCompose(err)
	}
	need := elastic.Needed(asked, podCounts(s.wl.Spec.PodSets), running)
	s.facts.PodsLeaving, s.facts.Overdrawn = s.facts.PodsLeaving || need.Leaving, need.Overdrawn
	change := elastic.Compare(podCounts(s.wl.Spec.PodSets), need.Counts)
	if change == elastic.Incompatible || !r.matchesWorkload(s, withCounts(sets, podCounts(s.wl.Spec.PodSets)), placement) {
		return r.observeMismatch(ctx, s, sets)
	}
	if err := r.compareSliceSettings(ctx, s); err != nil || s.facts.Outdated {
		return err
	}
	if s.facts.CannotCompose == "" && s.facts.Admitted && s.facts.Suspended && !s.facts.CannotPlace {
		s.prepareStart(r, placement)
	}
	if s.facts.Evicted || r.opts.Gates.PrebuiltWorkloadName(s.job) != "" { // Whoever made that Workload scales it.
		return nil
	}
	return r.observeResize(ctx, s, change, need.Counts)
}

// askedCounts are how many pods a running job asks for, given what it asks for by its own spec. An error is one of reading, or says what is wrong
// with the child by which it is scaled (contract: job-kinds.md 6). One that is not the job's own has no say, as one that is not there.
func (r *reconciler[T]) askedCounts(ctx context.Context, job T, sets []kueue.PodSet) ([]elastic.Count, error) {
	counts := podCounts(sets)
	e := r.kind.Elastic
	if e.ScaledBy == nil || r.kind.Suspended(job) {
		return counts, nil
	}
	child := e.ScaledBy(job)
	if child == nil {
		return counts, nil
	}
	key := client.ObjectKeyFromObject(child)
	err := r.client.Get(ctx, key, child)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s, by which %s is scaled: %w", key, job.GetName(), err)
	}
	if !metav1.IsControlledBy(child, job) {
		return counts, nil
	}
	sizes := e.Sizes(child)
	for i := range counts {
		name := kueue.PodSetReference(counts[i].Name)
		if size, sized := sizes[name]; sized {
			counts[i].Pods = int32(min(max(size, 0), math.MaxInt32))
			delete(sizes, name)
		}
	}
	if len(sizes) > 0 {
		return nil, fmt.Errorf("PodSet name mismatch: %s has %s, of which %s says nothing", key, strings.Join(sortedNames(sizes), ", "), job.GetName())
	}
	return counts, nil
}

func sortedNames(sizes map[kueue.PodSetReference]int64) []string {
	var names []string
	for name := range sizes {
		names = append(names, strconv.Quote(string(name)))
	}
	slices.Sort(names)
	return names
}

// runningPods counts the pods of the job that run, by pod set. Those on another cluster are seen to over there.
func (r *reconciler[T]) runningPods(ctx context.Context, job T) (map[string]int32, error) {
	if r.opts.ElasticPods == nil || r.runsElsewhere(job) {
		return nil, nil
	}
	return r.opts.ElasticPods.Running(ctx, job.GetNamespace(), job.GetUID())
}

// trustSlice has the job's pods let go by the slice that was found to be the job's own.
func (r *reconciler[T]) trustSlice(ctx context.Context, s *snapshot[T]) {
	f := &s.facts
	if r.opts.ElasticPods != nil && f.Elastic && !r.runsElsewhere(s.job) && f.Scope == ScopeOwn && f.Admitted && f.Link == LinkMatching &&
		!f.CacheBehind && !f.Evicted && !f.Deleting && !f.Finished && !f.Overdrawn {
		r.opts.ElasticPods.Trust(ctx, s.wl)
	}
}

// observeResize prepares what brings the slices in line with the counts that the job asks for.
func (r *reconciler[T]) observeResize(ctx context.Context, s *snapshot[T], change elastic.Change, asked []elastic.Count) error {
	target := s.wl
	if s.slices.next != nil {
		target = s.slices.next
		if elastic.Compare(podCounts(target.Spec.PodSets), asked) != elastic.Same {
			change = elastic.Shrunk
		} else {
			change = elastic.Same
		}
	}
	switch change {
	case elastic.Shrunk:
		s.facts.Resize = ResizeInPlace
		s.slices.resized, s.desired = target, target.DeepCopy()
		s.desired.Spec.PodSets = withCounts(s.desired.Spec.PodSets, asked)
	case elastic.Grown:
		next, err := r.composer.buildWorkload(ctx, s.job, withCounts(s.wl.Spec.PodSets, asked))
		if err != nil {
			return s.cannotCompose(err)
		}
		r.nameSlice(s, next)
		next.Annotations[kueue.WorkloadSliceNameAnnotation] = workload.SliceName(s.wl)
		next.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = workloadName(s.wl)
		s.facts.Resize, s.desired = ResizeBySlice, next
	case elastic.Same, elastic.Incompatible:
	}
	return nil
}

// compareSliceSettings tells whether the slice by which the job runs, or the next one, has the job's queue, priority, gates and time limit.
func (r *reconciler[T]) compareSliceSettings(ctx context.Context, s *snapshot[T]) error {
	if err := r.compareSettings(ctx, s); err != nil || s.facts.Outdated || s.slices.next == nil || s.facts.CannotCompose != "" {
		return err
	}
	synced, outdated, err := r.composer.syncWorkload(ctx, s.job, s.slices.next)
	if err != nil {
		return s.cannotCompose(err)
	}
	if outdated {
		s.desired, s.slices.resized, s.facts.Outdated = synced, s.slices.next, true
	}
	return nil
}

// markDispatched has the only Workload of an elastic job that runs on another cluster say so: its pods are gated, and let go over there.
func (r *reconciler[T]) markDispatched(job T, wl *kueue.Workload) {
	if r.kind.Elastic != nil && r.opts.Gates.ElasticJobs && workload.IsElastic(job) && r.runsElsewhere(job) {
		metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.ElasticJobAnnotation, "true")
		metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.WorkloadSliceNameAnnotation, wl.Name)
	}
}

// nameSlice makes a new Workload a slice of the job, under a name that none of its Workloads has: the job's generation tells slices apart
// (contract: kueue-api.md 2.6), and where that does not suffice their number.
func (r *reconciler[T]) nameSlice(s *snapshot[T], wl *kueue.Workload) {
	extra := strconv.FormatInt(s.job.GetGeneration(), 10)
	name := func(extra string) string {
		return WorkloadName(r.kind.GVK, s.job.GetName(), s.job.GetUID(), r.opts.Gates.ShortWorkloadNames, extra)
	}
	wl.Name = name(extra)
	for n := 1; s.slices.names[wl.Name]; n++ {
		wl.Name = name(extra + "_" + strconv.Itoa(n))
	}
	metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.ElasticJobAnnotation, "true")
	metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.WorkloadSliceNameAnnotation, wl.Name)
}

// markElastic has the pods of an elastic job wait for their gate, and be found by their job.
func (r *reconciler[T]) markElastic(job T, wl *kueue.Workload, placements []Placement) {
	for i := range placements {
		p := &placements[i]
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[kueue.WorkloadSliceNameAnnotation] = workload.SliceName(wl)
		if slices.Contains(r.kind.Elastic.Ungated, p.Name) {
			continue
		}
		p.Labels[switchyard.ElasticPodLabel] = string(job.GetUID())
		if gate := (corev1.PodSchedulingGate{Name: kueue.ElasticJobSchedulingGate}); !slices.Contains(p.SchedulingGates, gate) {
			p.SchedulingGates = append(p.SchedulingGates, gate)
		}
	}
}

// podCounts are the sizes of pod sets.
func podCounts(sets []kueue.PodSet) []elastic.Count {
	counts := make([]elastic.Count, len(sets))
	for i := range sets {
		counts[i] = elastic.Count{Name: string(sets[i].Name), Pods: sets[i].Count}
	}
	return counts
}

// admittedCounts are for how many pods of its pod sets a Workload holds quota.
func admittedCounts(wl *kueue.Workload) []elastic.Count {
	counts := podCounts(wl.Spec.PodSets)
	for i := range wl.Status.Admission.PodSetAssignments {
		psa := &wl.Status.Admission.PodSetAssignments[i]
		for j := range counts {
			if counts[j].Name == string(psa.Name) {
				counts[j].Pods = ptr.Deref(psa.Count, counts[j].Pods)
			}
		}
	}
	return counts
}

// withCounts returns the pod sets with other counts, as many as there are.
func withCounts(sets []kueue.PodSet, counts []elastic.Count) []kueue.PodSet {
	sized := slices.Clone(sets)
	for i := range min(len(sized), len(counts)) {
		sized[i].Count, sized[i].MinCount = counts[i].Pods, nil
	}
	return sized
}

// observeElasticAncestor finds out whether an elastic ancestor has quota: that its next slice waits is no reason to stop.
func (r *reconciler[T]) observeElasticAncestor(ctx context.Context, s *snapshot[T], found ancestry) error {
	var owned kueue.WorkloadList
	index := ownerIndexOf(found.kind.GVK().GroupKind())
	err := r.client.List(ctx, &owned, client.InNamespace(s.job.GetNamespace()), client.MatchingFields{index: found.top.GetName()})
	if err != nil {
		return fmt.Errorf("list workloads of the owner %s: %w", found.top.GetName(), err)
	}
	for i := range owned.Items {
		wl := &owned.Items[i]
		if !metav1.IsControlledBy(wl, found.top) || workload.IsFinished(wl) {
			continue
		}
		s.facts.AncestorAdmitted = s.facts.AncestorAdmitted || workload.HasQuota(wl) && !workload.IsEvicted(wl)
		if until := stopsChildrenUntil(wl, s.facts.Now); until.After(s.facts.AncestorStopsUntil) {
			s.facts.AncestorStopsUntil = until
		}
	}
	return nil
}
