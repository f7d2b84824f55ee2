package view

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	api "switchyard.dev/worker/workload"
)

// assumption is a reservation that a cycle made and whose write has not been answered. Because the write carries the
// resourceVersion that the decision was based on, the first version after that one says for certain what became of it.
type assumption struct {
	// base is the resourceVersion that the decision was based on.
	base string
	// conflicted is set once the API refused the write because the workload had changed; that change has not been seen.
	conflicted bool
}

// settledBy reports whether the object says what became of the write.
func (a *assumption) settledBy(wl *kueue.Workload) bool {
	return api.HasQuota(wl) || a.conflicted && wl.ResourceVersion != a.base
}

// setWorkload is what an informer event about a Workload does. Versions older than the answer to a write of this process
// are ignored: they are already history.
func (v *View) setWorkload(wl *kueue.Workload) {
	key := keyOf(wl.Namespace, wl.Name)
	w := v.workloads[key]
	if w != nil && w.obj.UID != wl.UID {
		v.dropWorkload(w.obj)
		w = nil
	}
	if w == nil {
		w = &workload{obj: wl}
		v.workloads[key] = w
	}
	if w.written != "" {
		if older(wl.ResourceVersion, w.written) {
			return
		}
		w.written = ""
	}
	v.see(w, wl)
}

// see takes the object as the API's last word.
func (v *View) see(w *workload, wl *kueue.Workload) {
	if c := (change{was: w.obj, is: wl}); v.tell != nil && c.counts() {
		v.untold = append(v.untold, c)
	}
	v.unlinkWorkload(w)
	w.obj = wl
	v.link(w)
	if w.assumed != nil && w.assumed.settledBy(wl) {
		v.drop(w)
	}
	v.put(w)
}

// dropWorkload forgets a deleted workload, whatever was assumed of it.
func (v *View) dropWorkload(wl *kueue.Workload) {
	key := keyOf(wl.Namespace, wl.Name)
	w := v.workloads[key]
	if w == nil {
		return
	}
	w.assumed = nil
	v.move(w, place{})
	v.unlinkWorkload(w)
	delete(v.workloads, key)
	v.signal()
}

func (v *View) link(w *workload) {
	local := keyOf(w.obj.Namespace, string(w.obj.Spec.QueueName))
	if v.byLocal[local] == nil {
		v.byLocal[local] = map[admission.Key]*workload{}
	}
	v.byLocal[local][keyOf(w.obj.Namespace, w.obj.Name)] = w
}

func (v *View) unlinkWorkload(w *workload) {
	local := keyOf(w.obj.Namespace, string(w.obj.Spec.QueueName))
	delete(v.byLocal[local], keyOf(w.obj.Namespace, w.obj.Name))
	if len(v.byLocal[local]) == 0 {
		delete(v.byLocal, local)
	}
}

// drop ends an assumption: the snapshot has the workload where it was before the cycle.
func (v *View) drop(w *workload) {
	w.assumed = nil
	v.snap.Forget(keyOf(w.obj.Namespace, w.obj.Name))
	v.changedPlaces(w.place, w.place)
	v.signal()
}

// Written takes the answer to a successful write of a Workload's status. It settles an assumption, and what the informer
// still has to say about earlier versions will be ignored.
func (v *View) Written(answer *kueue.Workload) {
	v.mu.Lock()
	defer v.unlock()
	w := v.known(answer)
	if w == nil || !older(w.obj.ResourceVersion, answer.ResourceVersion) {
		return // Deleted meanwhile, or the informer was faster.
	}
	w.written = answer.ResourceVersion
	w.retries, w.retryAt = 0, time.Time{}
	v.see(w, answer)
}

// change is one step of a workload as seen.
type change struct{ was, is *kueue.Workload }

// counts tells whether the workload was admitted or ended in that step.
func (c change) counts() bool {
	return !api.IsFinished(c.was) && api.IsFinished(c.is) || !api.IsAdmitted(c.was) && api.IsAdmitted(c.is)
}

// unlock gives the mutex back and then tells of the changes seen meanwhile: who is told may ask the view.
func (v *View) unlock() {
	untold, tell := v.untold, v.tell
	v.untold = nil
	v.mu.Unlock()
	for _, c := range untold {
		tell(c.was, c.is)
	}
}

// Conflicted ends the assumption about a Workload whose write failed because it had changed since, or is gone. Quota is
// given back as soon as the change has been seen; until then it may well be held by an earlier attempt at the same write
// whose answer was lost. Seen is the object that the decision was based on.
func (v *View) Conflicted(seen *kueue.Workload) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.known(seen)
	if w == nil || w.assumed == nil || w.assumed.base != seen.ResourceVersion {
		return
	}
	w.assumed.conflicted = true
	if w.assumed.settledBy(w.obj) {
		v.drop(w)
		v.put(w)
	}
}

// Refused ends the assumption about a Workload whose write the API refused for good: quota is given back at once and the
// workload tries again after a backoff that doubles from one second to five minutes.
func (v *View) Refused(seen *kueue.Workload, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.known(seen)
	if w == nil || w.assumed == nil || w.assumed.base != seen.ResourceVersion {
		return
	}
	w.retryAt = now.Add(min(time.Second<<min(w.retries, 20), 5*time.Minute))
	w.retries++
	v.drop(w)
	v.put(w)
}

// known returns what is known of the same Workload: one that was deleted and made again is another.
func (v *View) known(wl *kueue.Workload) *workload {
	w := v.workloads[keyOf(wl.Namespace, wl.Name)]
	if w == nil || w.obj.UID != wl.UID {
		return nil
	}
	return w
}

// older compares versions of one object. Versions that cannot be compared count as news.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
