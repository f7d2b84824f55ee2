package mirror

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// Stamps returns the annotations of an object made for a Workload in an epoch.
func Stamps(owner types.UID, epoch int64) map[string]string {
	return map[string]string{
		switchyard.OwnerUIDAnnotation: string(owner),
		dispatch.EpochAnnotation:      strconv.FormatInt(epoch, 10),
	}
}

// Epoch returns the epoch stamp of an object: 0 when it has none, dispatch.UnreadableEpoch when what it has is no epoch.
func Epoch(obj client.Object) int64 {
	stamp, stamped := obj.GetAnnotations()[dispatch.EpochAnnotation]
	if !stamped {
		return 0
	}
	epoch, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || epoch < 0 || epoch > dispatch.MaxEpoch {
		return dispatch.UnreadableEpoch
	}
	return epoch
}

// StopsWithoutHub tells whether an object on a worker is stamped to be stopped when the hub's run lease has run out.
func StopsWithoutHub(obj client.Object) bool {
	return obj.GetAnnotations()[switchyard.OnHubLostAnnotation] == string(switchyard.Stop)
}

// OtherHub returns the identity of the hub that made an object, if that is neither this one nor one of those adopted; empty if it
// is, if the object does not say, and as long as this hub's own identity is not known.
func OtherHub(obj client.Object, own types.UID, adopted []types.UID) types.UID {
	hub := types.UID(obj.GetAnnotations()[switchyard.HubUIDAnnotation])
	if own == "" || hub == own || slices.Contains(adopted, hub) {
		return ""
	}
	return hub
}

// HasOrigin tells whether an object was made by a hub of the given origin. An empty origin owns nothing.
func HasOrigin(obj client.Object, origin string) bool {
	return origin != "" && obj.GetLabels()[kueue.MultiKueueOriginLabel] == origin
}
