package view

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	api "switchyard.dev/worker/workload"
)

// assumptions are the decisions of cycles that are in the snapshot, and that the API has not confirmed yet. Callers hold the view's mutex.
type assumptions struct {
	snap        *admission.Snapshot
	index       *workloadIndex
	broadcaster *broadcaster
	writer      *snapshotWriter
	// deferredEvictions are victims to be evicted as soon as the API has confirmed their admission.
	deferredEvictions map[admission.Key]*workload
	// lagging are the workloads of which the informer shows a version older than our own last write.
	lagging map[admission.Key]*workload
}

// pendingWrite is a write about a workload that has not been answered for good. Because it carries the resourceVersion that the
// decision was based on, the first version after that one says for certain what became of it.
type pendingWrite struct {
	// baseVersion is the resourceVersion that the decision was based on.
	baseVersion string
	// conflicted is set once the API refused the write because the workload had changed.
	conflicted bool
}

// hasFailed reports whether the object says that the write has not taken effect, provided that it does not show the effect.
func (a *pendingWrite) hasFailed(wl *kueue.Workload) bool {
	return a.conflicted && wl.ResourceVersion != a.baseVersion
}

// setWorkload is what an informer event about a Workload does. Versions older than the answer to a write of this process
// are passed over: they are already history, unless they stay the last word, see restore.
func (v *View) setWorkload(wl *kueue.Workload) {
	key := keyOf(wl.Namespace, wl.Name)
	w := v.workloads[key]
	if w != nil && w.obj.UID != wl.UID {
		v.deleteWorkload(w.obj)
		w = nil
	}
	if w == nil {
		w = &workload{obj: wl}
		v.workloads[key] = w
		v.indexWorkload(w)
	}
	if w.written != "" {
		if isOlder(wl.ResourceVersion, w.written) {
			v.deferStaleVersion(w, wl)
			return
		}
	}
	v.clearWritten(w)
	v.observeWorkload(w, wl)
}

// observeWorkload takes the object as the API's last word.
func (v *View) observeWorkload(w *workload, wl *kueue.Workload) {
	if c := (workloadChange{before: w.obj, after: wl}); v.onConditionChange != nil && c.conditionsChanged() {
		v.unreportedChanges = append(v.unreportedChanges, c)
	}
	was := w.obj
	if !sameSpec(was, wl) {
		w.requested = nil
	}
	w.obj = wl
	if was.Spec.QueueName != wl.Spec.QueueName || !v.opts.isSameReplacement(was, wl) {
		v.unindexWorkload(was)
		v.indexWorkload(w)
	} else if !slices.Equal(runtimeClassNames(was), runtimeClassNames(wl)) {
		v.unindexRuntimeClasses(was)
		v.indexRuntimeClasses(w)
	}
	v.settleWrites(w)
	v.syncWorkload(w)
}

// deleteWorkload forgets a deleted workload, whatever was assumed of it.
func (v *View) deleteWorkload(wl *kueue.Workload) {
	key := keyOf(wl.Namespace, wl.Name)
	w := v.workloads[key]
	if w == nil {
		return
	}
	w.assumed, w.evicting = nil, nil
	v.clearWritten(w)
	v.setSnapshotEntry(w, snapshotEntry{})
	v.unindexWorkload(w.obj)
	delete(v.workloads, key)
	v.syncSlices(w)
	v.requestCycle()
}

// runtimeClassNames names the RuntimeClass of each pod set that has one.
func runtimeClassNames(wl *kueue.Workload) []string {
	var classes []string
	for i := range wl.Spec.PodSets {
		if class := wl.Spec.PodSets[i].Template.Spec.RuntimeClassName; class != nil {
			classes = append(classes, *class)
		}
	}
	return classes
}

// RecordWrite takes the answer to a successful write of a Workload's status. It settles an assumption, and what the informer
// still has to say about earlier versions will be ignored.
func (v *View) RecordWrite(answer *kueue.Workload) {
	v.mu.Lock()
	defer v.unlockAndReport()
	w := v.lookupWorkload(answer)
	if w == nil || !isOlder(w.obj.ResourceVersion, answer.ResourceVersion) {
		return // Deleted meanwhile, or the informer was faster.
	}
	v.clearWritten(w)
	w.written = answer.ResourceVersion
	w.retries, w.retryAt = 0, time.Time{}
	v.observeWorkload(w, answer)
}

// workloadChange is one step of a workload as seen.
type workloadChange struct{ before, after *kueue.Workload }

// conditionsChanged tells whether a condition came, went or changed its status or reason in that step.
func (c workloadChange) conditionsChanged() bool {
	return !slices.EqualFunc(c.before.Status.Conditions, c.after.Status.Conditions, func(a, b metav1.Condition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.LastTransitionTime.Equal(&b.LastTransitionTime)
	})
}

// unlockAndReport unlocks the mutex and then reports the changes seen meanwhile: the listeners may read the view.
func (v *View) unlockAndReport() {
	unreported, call := v.unreportedChanges, v.onConditionChange
	v.unreportedChanges = nil
	v.mu.Unlock()
	for _, c := range unreported {
		call(c.before, c.after)
	}
}

// RecordConflict takes the answer to an admission or an eviction that failed because the Workload had changed since, or is gone.
// The assumption ends, or the victim is spared, as soon as the change has been seen; until then an earlier attempt at the
// same write, whose answer was lost, may well have taken effect. Seen is the object that the decision was based on.
func (v *View) RecordConflict(seen *kueue.Workload) {
	v.mu.Lock()
	defer v.unlockAndReport()
	w, a := v.pendingWriteFor(seen)
	if a == nil {
		return
	}
	a.conflicted = true
	v.settleWrites(w)
	v.syncWorkload(w)
}

// RecordRefusal takes the answer to an admission or an eviction that the API refused for good: quota is given back, or the victim
// spared, at once. The workload that was to be admitted, or for which the victim was to leave, tries again after a backoff
// that doubles from one second to five minutes.
func (v *View) RecordRefusal(seen *kueue.Workload, now time.Time) {
	v.mu.Lock()
	defer v.unlockAndReport()
	w, a := v.pendingWriteFor(seen)
	switch {
	case a == nil:
	case w.assumed != nil:
		v.forgetAssumed(w)
		v.backOff(w, now)
	default:
		preemptor := v.lookupWorkload(w.evicting.preemptor.Object)
		v.cancelEviction(w)
		v.backOff(preemptor, now)
	}
}

// isOlder compares versions of one object. Versions that cannot be compared count as news.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// maxInformerLag is how long the informer may show versions older than the answer to our own write. If that is its last word for so
// long, the server was restored from a backup, and counts versions anew: our write is undone, and what it shows is true.
const maxInformerLag = time.Minute

// acceptStaleVersions believes what has been passed over for too long, and returns when to do so for the next; the zero time for none.
func (v *View) acceptStaleVersions(now time.Time) time.Time {
	var next time.Time
	for _, w := range v.lagging {
		if w.staleSince.IsZero() {
			w.staleSince = now
		}
		if at := w.staleSince.Add(maxInformerLag); now.Before(at) {
			next = earlierNonZero(next, at)
			continue
		}
		last := w.staleVersion
		v.clearWritten(w)
		v.observeWorkload(w, last)
	}
	return next
}

// forgetAssumed ends an assumption that did not come true: the snapshot has the workload where it was before the cycle.
func (p *assumptions) forgetAssumed(w *workload) {
	w.assumed, w.evicting = nil, nil
	p.snap.Forget(w.key())
	p.writer.resyncReplaced(w)
	p.writer.updateUsage(w)
	p.broadcaster.notifyEntryQueues(w.entry, w.entry)
	p.writer.requestCycle()
}

// settleWrites ends the attempts of which the API's last word says what became of them. What was assumed and is confirmed
// stays in the snapshot as it is until put replaces it, so that it never counts as released.
func (p *assumptions) settleWrites(w *workload) {
	if w.assumed != nil {
		switch {
		case api.HasQuota(w.obj):
			w.assumed = nil
		case w.assumed.hasFailed(w.obj):
			p.forgetAssumed(w)
		}
	}
	p.settleEviction(w)
}

// pendingWriteFor returns the attempt that was based on the object; nil when that is over.
func (p *assumptions) pendingWriteFor(seen *kueue.Workload) (*workload, *pendingWrite) {
	w := p.index.lookupWorkload(seen)
	switch {
	case w == nil:
		return nil, nil
	case w.assumed != nil && w.assumed.baseVersion == seen.ResourceVersion:
		return w, w.assumed
	case w.evicting != nil && w.evicting.baseVersion == seen.ResourceVersion:
		return w, &w.evicting.pendingWrite
	}
	return w, nil
}

// backOff keeps the workload out of the cycle for a while; nil is fine.
func (p *assumptions) backOff(w *workload, now time.Time) {
	if w == nil {
		return
	}
	w.retryAt = now.Add(min(time.Second<<min(w.retries, 20), 5*time.Minute))
	w.retries++
	p.writer.syncWorkload(w)
}

// clearWritten forgets our last write: the informer shows it, or a later one, or the object is gone.
func (p *assumptions) clearWritten(w *workload) {
	w.written, w.staleVersion, w.staleSince = "", nil, time.Time{}
	delete(p.lagging, w.key())
}

// deferStaleVersion passes over a version that is older than the answer to our last write, and keeps it in case no newer one comes.
func (p *assumptions) deferStaleVersion(w *workload, wl *kueue.Workload) {
	if w.staleVersion == nil {
		p.lagging[w.key()] = w
		p.writer.requestCycle()
	}
	w.staleVersion = wl
}
