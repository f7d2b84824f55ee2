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

// attempt is a write about a workload that has not been answered for good. Because it carries the resourceVersion that the
// decision was based on, the first version after that one says for certain what became of it.
type attempt struct {
	// base is the resourceVersion that the decision was based on.
	base string
	// conflicted is set once the API refused the write because the workload had changed.
	conflicted bool
}

// failed reports whether the object says that the write has not taken effect, provided that it does not show the effect.
func (a *attempt) failed(wl *kueue.Workload) bool {
	return a.conflicted && wl.ResourceVersion != a.base
}

// setWorkload is what an informer event about a Workload does. Versions older than the answer to a write of this process
// are passed over: they are already history, unless they stay the last word, see restore.
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
		v.link(w)
	}
	if w.written != "" {
		if older(wl.ResourceVersion, w.written) {
			v.hide(w, wl)
			return
		}
	}
	v.caughtUp(w)
	v.see(w, wl)
}

// see takes the object as the API's last word.
func (v *View) see(w *workload, wl *kueue.Workload) {
	if c := (change{was: w.obj, is: wl}); v.tell != nil && c.counts() {
		v.untold = append(v.untold, c)
	}
	was := w.obj
	if !sameSpec(was, wl) {
		w.asked = nil
	}
	w.obj = wl
	if was.Spec.QueueName != wl.Spec.QueueName {
		v.unlink(was)
		v.link(w)
	} else if !slices.Equal(classesOf(was), classesOf(wl)) {
		v.unlinkClasses(was)
		v.linkClasses(w)
	}
	v.settle(w)
	v.put(w)
}

// settle ends the attempts of which the API's last word says what became of them. What was assumed and is confirmed stays in
// the snapshot as it is until put replaces it, so that nobody takes it for released.
func (v *View) settle(w *workload) {
	if w.assumed != nil {
		switch {
		case api.HasQuota(w.obj):
			w.assumed = nil
		case w.assumed.failed(w.obj):
			v.forget(w)
		}
	}
	v.settleEviction(w)
}

// dropWorkload forgets a deleted workload, whatever was assumed of it.
func (v *View) dropWorkload(wl *kueue.Workload) {
	key := keyOf(wl.Namespace, wl.Name)
	w := v.workloads[key]
	if w == nil {
		return
	}
	w.assumed, w.evicting = nil, nil
	v.caughtUp(w)
	v.move(w, place{})
	v.unlink(w.obj)
	delete(v.workloads, key)
	v.signal()
}

func (v *View) link(w *workload) {
	local := keyOf(w.obj.Namespace, string(w.obj.Spec.QueueName))
	if v.byLocal[local] == nil {
		v.byLocal[local] = map[admission.Key]*workload{}
	}
	v.byLocal[local][keyOf(w.obj.Namespace, w.obj.Name)] = w
	v.linkClasses(w)
}

func (v *View) unlink(wl *kueue.Workload) {
	local := keyOf(wl.Namespace, string(wl.Spec.QueueName))
	delete(v.byLocal[local], keyOf(wl.Namespace, wl.Name))
	if len(v.byLocal[local]) == 0 {
		delete(v.byLocal, local)
	}
	v.unlinkClasses(wl)
}

func (v *View) linkClasses(w *workload) {
	for _, class := range classesOf(w.obj) {
		if v.byClass[class] == nil {
			v.byClass[class] = map[admission.Key]*workload{}
		}
		v.byClass[class][w.key()] = w
	}
}

func (v *View) unlinkClasses(wl *kueue.Workload) {
	for _, class := range classesOf(wl) {
		delete(v.byClass[class], keyOf(wl.Namespace, wl.Name))
		if len(v.byClass[class]) == 0 {
			delete(v.byClass, class)
		}
	}
}

// classesOf names the RuntimeClass of each pod set that has one.
func classesOf(wl *kueue.Workload) []string {
	var classes []string
	for i := range wl.Spec.PodSets {
		if class := wl.Spec.PodSets[i].Template.Spec.RuntimeClassName; class != nil {
			classes = append(classes, *class)
		}
	}
	return classes
}

// forget ends an assumption that did not come true: the snapshot has the workload where it was before the cycle.
func (v *View) forget(w *workload) {
	w.assumed, w.evicting = nil, nil
	v.snap.Forget(w.key())
	v.account(w)
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
	v.caughtUp(w)
	w.written = answer.ResourceVersion
	w.retries, w.retryAt = 0, time.Time{}
	v.see(w, answer)
}

// change is one step of a workload as seen.
type change struct{ was, is *kueue.Workload }

// counts tells whether a condition came, went or changed its status or reason in that step.
func (c change) counts() bool {
	return !slices.EqualFunc(c.was.Status.Conditions, c.is.Status.Conditions, func(a, b metav1.Condition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.LastTransitionTime.Equal(&b.LastTransitionTime)
	})
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

// Conflicted takes the answer to an admission or an eviction that failed because the Workload had changed since, or is gone.
// The assumption ends, or the victim is spared, as soon as the change has been seen; until then an earlier attempt at the
// same write, whose answer was lost, may well have taken effect. Seen is the object that the decision was based on.
func (v *View) Conflicted(seen *kueue.Workload) {
	v.mu.Lock()
	defer v.unlock()
	w, a := v.attempted(seen)
	if a == nil {
		return
	}
	a.conflicted = true
	v.settle(w)
	v.put(w)
}

// Refused takes the answer to an admission or an eviction that the API refused for good: quota is given back, or the victim
// spared, at once. The workload that was to be admitted, or for which the victim was to leave, tries again after a backoff
// that doubles from one second to five minutes.
func (v *View) Refused(seen *kueue.Workload, now time.Time) {
	v.mu.Lock()
	defer v.unlock()
	w, a := v.attempted(seen)
	switch {
	case a == nil:
	case w.assumed != nil:
		v.forget(w)
		v.backOff(w, now)
	default:
		preemptor := v.known(w.evicting.preemptor.Seen)
		v.spare(w)
		v.backOff(preemptor, now)
	}
}

// backOff keeps the workload out of the cycle for a while; nil is fine.
func (v *View) backOff(w *workload, now time.Time) {
	if w == nil {
		return
	}
	w.retryAt = now.Add(min(time.Second<<min(w.retries, 20), 5*time.Minute))
	w.retries++
	v.put(w)
}

// attempted returns the attempt that was based on the object; nil when that is over.
func (v *View) attempted(seen *kueue.Workload) (*workload, *attempt) {
	w := v.known(seen)
	switch {
	case w == nil:
		return nil, nil
	case w.assumed != nil && w.assumed.base == seen.ResourceVersion:
		return w, w.assumed
	case w.evicting != nil && w.evicting.base == seen.ResourceVersion:
		return w, &w.evicting.attempt
	}
	return w, nil
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
