package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
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
	wl.Annotations[shapeAnnotation] = shape
	wl.Spec.PodSets = nil
}

// samePriority compares what may differ from a copy without making it useless.
func samePriority(a, b *kueue.Workload) bool {
	return equality.Semantic.DeepEqual(a.Spec.Priority, b.Spec.Priority) &&
		equality.Semantic.DeepEqual(a.Spec.PriorityClassRef, b.Spec.PriorityClassRef)
}
