package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// shapeAnnotation keeps, in a cache only, the shape of a Workload whose pod sets have been stripped. No API server stores a
// key with a blank in it, so that no user can give a Workload a shape of his choice.
const shapeAnnotation = "switchyard.dev/cached shape"

// Shape returns a digest of everything in a Workload's spec that its copy must share, except the priority: equal specs
// have equal shapes, whatever notation their quantities were written in. Preemption gates are each cluster's own.
func Shape(wl *kueue.Workload) string {
	if shape, stripped := wl.Annotations[shapeAnnotation]; stripped && wl.Spec.PodSets == nil {
		return shape
	}
	spec := wl.Spec
	spec.PreemptionGates, spec.Priority, spec.PriorityClassRef = nil, nil, nil
	text, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("mirror: the spec of workload %s/%s has no JSON form: %v", wl.Namespace, wl.Name, err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// sizeAnnotation keeps, in a cache only, the size of an elastic Workload whose pod sets have been stripped.
const sizeAnnotation = "switchyard.dev/cached size"

// size is for how many pods a Workload is, and a digest of everything else that its copy must share.
type size struct {
	Shape  string
	Counts []int32
}

// sizeOf returns the size of an elastic Workload; none is found of any other.
func sizeOf(wl *kueue.Workload) (s size, found bool) {
	if !workload.IsElastic(wl) {
		return size{}, false
	}
	if text, stripped := wl.Annotations[sizeAnnotation]; stripped && wl.Spec.PodSets == nil {
		return s, json.Unmarshal([]byte(text), &s) == nil
	}
	sizeless := &kueue.Workload{Spec: wl.Spec}
	sizeless.Spec.PodSets = slices.Clone(wl.Spec.PodSets)
	for i := range sizeless.Spec.PodSets {
		sizeless.Spec.PodSets[i].Count = 0
	}
	return size{Shape: Shape(sizeless), Counts: Counts(wl)}, true
}

// Counts are for how many pods the pod sets of a Workload are.
func Counts(wl *kueue.Workload) []int32 {
	counts := make([]int32, len(wl.Spec.PodSets))
	for i := range wl.Spec.PodSets {
		counts[i] = wl.Spec.PodSets[i].Count
	}
	return counts
}

// isLarger tells whether a copy of an elastic Workload is for more pods than the Workload is now, and differs in nothing else that it must share.
func isLarger(remote, local *kueue.Workload) bool {
	is, found := sizeOf(remote)
	want, elastic := sizeOf(local)
	if !found || !elastic || is.Shape != want.Shape || len(is.Counts) != len(want.Counts) || slices.Equal(is.Counts, want.Counts) {
		return false
	}
	for i := range is.Counts {
		if is.Counts[i] < want.Counts[i] {
			return false
		}
	}
	return true
}

// StripWorkload removes the pod sets, by far the largest part of a Workload, from a cached object and keeps their shape.
func StripWorkload(obj client.Object) {
	wl, ok := obj.(*kueue.Workload)
	if !ok {
		return
	}
	shape := Shape(wl)
	if wl.Annotations == nil {
		wl.Annotations = map[string]string{}
	}
	if s, elastic := sizeOf(wl); elastic {
		text, err := json.Marshal(s)
		if err != nil {
			panic("mirror: the size of a workload has no JSON form: " + err.Error())
		}
		wl.Annotations[sizeAnnotation] = string(text)
	}
	wl.Annotations[shapeAnnotation] = shape
	wl.Spec.PodSets = nil
}

// samePriority compares what may differ from a copy without making it useless.
func samePriority(a, b *kueue.Workload) bool {
	return equality.Semantic.DeepEqual(a.Spec.Priority, b.Spec.Priority) &&
		equality.Semantic.DeepEqual(a.Spec.PriorityClassRef, b.Spec.PriorityClassRef)
}
