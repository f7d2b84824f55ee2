package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// IsElastic tells whether a job, or the Workload of one, may be scaled while it runs (contract: job-kinds.md 15).
func IsElastic(obj client.Object) bool {
	return obj.GetAnnotations()[kueue.ElasticJobAnnotation] == "true"
}

// SliceName returns the name that all slices of a job have in common: that of the first one.
func SliceName(wl *kueue.Workload) string {
	return cmp.Or(wl.Annotations[kueue.WorkloadSliceNameAnnotation], wl.Name)
}

// ReplacedSlice returns the slice that the Workload claims to replace; false if it claims none, or one of another namespace.
func ReplacedSlice(wl *kueue.Workload) (types.NamespacedName, bool) {
	namespace, name, found := strings.Cut(wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation], "/")
	if !found || !IsElastic(wl) || namespace != wl.Namespace || name == "" || name == wl.Name {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, true
}

// ReplacesSlice tells whether the Workload, as it claims, is the next slice of the very job that the older one is a slice of. What it says
// by annotation is anybody's word: it must not be older, and of the same pod sets and chain, and the same job's, or the same hub's if no job has
// taken it up yet.
func ReplacesSlice(wl, older *kueue.Workload) bool {
	named, found := ReplacedSlice(wl)
	if !found || named != client.ObjectKeyFromObject(older) || !IsElastic(older) || SliceName(wl) != SliceName(older) || wl.CreationTimestamp.Before(&older.CreationTimestamp) {
		return false
	}
	sameSets := slices.EqualFunc(wl.Spec.PodSets, older.Spec.PodSets, func(a, b kueue.PodSet) bool { return a.Name == b.Name })
	return sameSets && isOfSameJob(wl, older)
}

// SlicesBefore follows the chain of slices back from one, as far as those given have it: what each of them replaces, the latest first. What claims to
// replace a later one ends it.
func SlicesBefore(wl *kueue.Workload, among []*kueue.Workload) []*kueue.Workload {
	var before []*kueue.Workload
	for at := wl; ; {
		i := slices.IndexFunc(among, func(older *kueue.Workload) bool { return ReplacesSlice(at, older) })
		if i < 0 || client.ObjectKeyFromObject(among[i]) == client.ObjectKeyFromObject(wl) || slices.Contains(before, among[i]) {
			return before
		}
		at = among[i]
		before = append(before, at)
	}
}

// isOfSameJob goes by the job that controls both. A copy that a hub has just made has none.
func isOfSameJob(wl, older *kueue.Workload) bool {
	mine, its := metav1.GetControllerOfNoCopy(wl), metav1.GetControllerOfNoCopy(older)
	switch {
	case mine != nil && its != nil:
		return mine.UID == its.UID
	case mine == nil:
		return IsRemoteCopy(wl) && wl.Labels[kueue.MultiKueueOriginLabel] == older.Labels[kueue.MultiKueueOriginLabel]
	}
	return false
}

// ReplaceSlice finishes a slice from which the next one has taken over, for one write (contract: messages.md 1). It returns the events to
// record after that write; none if there is nothing to write, because the slice has ended already.
func ReplaceSlice(old, by *kueue.Workload, now time.Time) []kube.Event {
	message := fmt.Sprintf("Replaced to accommodate a workload (UID: %s, JobUID: %s) due to workload slice aggregation",
		orUnknown(string(by.UID)), orUnknown(by.Labels[kueue.JobUIDLabel]))
	if !Finish(old, kueue.ReasonWorkloadSliceReplaced, message, now) {
		return nil
	}
	return []kube.Event{{Reason: string(kueue.ReasonWorkloadSliceReplaced), Action: "Replaced", Note: message}}
}

// IsAdmissionTooLarge tells whether the admission is for more pods than the Workload has: it was scaled down since.
func IsAdmissionTooLarge(wl *kueue.Workload) bool {
	return HasQuota(wl) && IsElastic(wl) && ShrinkAdmission(wl.DeepCopy())
}

// ShrinkAdmission has the admission say no more pods than the Workload has, and what those use. It reports whether that changed anything.
func ShrinkAdmission(wl *kueue.Workload) bool {
	changed := false
	for i := range wl.Status.Admission.PodSetAssignments {
		psa := &wl.Status.Admission.PodSetAssignments[i]
		for j := range wl.Spec.PodSets {
			set := &wl.Spec.PodSets[j]
			if set.Name != psa.Name || psa.Count == nil || *psa.Count <= set.Count || set.Count < 0 {
				continue
			}
			for name, total := range psa.ResourceUsage {
				psa.ResourceUsage[name] = share(total, *psa.Count, set.Count)
			}
			psa.Count, changed = ptr.To(set.Count), true
		}
	}
	return changed
}

// share is what so many of the pods use that use the total together. What an int64 cannot hold in thousandths is counted in units.
func share(total resource.Quantity, all, some int32) resource.Quantity {
	if total.CmpInt64(1<<50) > 0 {
		return *resource.NewQuantity(total.Value()/int64(all)*int64(some), total.Format)
	}
	return *resource.NewMilliQuantity(total.MilliValue()/int64(all)*int64(some), total.Format)
}
