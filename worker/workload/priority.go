package workload

import (
	"math"
	"strconv"

	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Priority is what orders the Workload among others: spec.priority, 0 if absent, plus, with the gate PriorityBoost on, the
// annotation priority-boost, kept within 32 bits (contract: kueue-api.md 2.2, 4.16). A boost that is no 32-bit number is none.
func Priority(wl *kueue.Workload, boosted bool) int32 {
	priority := int64(ptr.Deref(wl.Spec.Priority, 0))
	if !boosted {
		return int32(priority)
	}
	boost, err := strconv.ParseInt(wl.Annotations[kueue.PriorityBoostAnnotation], 10, 32)
	if err != nil {
		boost = 0
	}
	return int32(min(max(priority+boost, math.MinInt32), math.MaxInt32))
}
