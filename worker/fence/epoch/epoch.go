// Package epoch keeps a worker from going back: what a hub makes there bears the epoch in which it was made, and nothing is
// taken that is older than what was seen. A request that was held up on its way, or a second leader of the hub that does not
// know yet that it is one no more, changes nothing then.
//
// The rules are functions of objects; [Memory] adds what no object tells any more. ../DESIGN.md says what it cannot know.
package epoch

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// first is the epoch of an object that bears none: hubs that know of no epochs have but one.
const first int64 = 1

// last is the last epoch that there is. What bears a later one was not stamped by a hub, and says nothing.
const last int64 = 1 << 53

// Read returns the epoch in which a hub made the object; 1 if it does not say.
func Read(object client.Object) int64 {
	epoch, err := strconv.ParseInt(object.GetAnnotations()[switchyard.EpochAnnotation], 10, 64)
	if err != nil || epoch > last {
		return first
	}
	return max(epoch, first)
}

// IsBefore tells whether a hub made a for the same Workload as b, or for a slice of the same elastic job, in an epoch before b's.
func IsBefore(a, b client.Object) bool {
	return isCopy(a) && isCopy(b) && (owner(a) == owner(b) || areOfOneChain(a, b)) && Read(a) < Read(b)
}

// AreUnrelated tells whether hubs made a and b for different Workloads, as both say: neither is for the other then, and no epoch
// tells which is older.
func AreUnrelated(a, b client.Object) bool {
	return isCopy(a) && isCopy(b) && owner(a) != "" && owner(b) != "" && owner(a) != owner(b) && !areOfOneChain(a, b)
}

// areOfOneChain tells whether two objects were made for slices of one elastic job, as both say. The slices take over from each other, and the job
// bears the UID of the first that had it.
func areOfOneChain(a, b client.Object) bool {
	chain := a.GetAnnotations()[kueue.WorkloadSliceNameAnnotation]
	return chain != "" && chain == b.GetAnnotations()[kueue.WorkloadSliceNameAnnotation]
}

// IsSameHub tells whether two objects say that the same hub has made them, or neither says anything of a hub.
func IsSameHub(a, b client.Object) bool {
	return origin(a) == origin(b) && a.GetAnnotations()[switchyard.HubUIDAnnotation] == b.GetAnnotations()[switchyard.HubUIDAnnotation]
}

// ValidateUpdate refuses an update that changes what a hub has written on an object to know it by: its origin, the epoch, the
// UIDs of its Workload and of the hub, and whether it stops without the hub. No hub ever changes them, and taking one off
// would have the job run elsewhere as well. Nor may they be put on what no hub has made.
func ValidateUpdate(old, object client.Object) *field.Error {
	switch {
	case !isCopy(old) && !isCopy(object):
		return nil
	case origin(old) != origin(object):
		return field.Forbidden(field.NewPath("metadata", "labels").Key(kueue.MultiKueueOriginLabel), changedMessage(origin(old)))
	case Read(object) < Read(old):
		return field.Forbidden(path(), fmt.Sprintf("must not fall: it is %d", Read(old)))
	case Read(old) != Read(object):
		return field.Forbidden(path(), changedMessage(strconv.FormatInt(Read(old), 10)))
	}
	for _, name := range stampKeys() {
		if was := old.GetAnnotations()[name]; was != object.GetAnnotations()[name] {
			return field.Forbidden(field.NewPath("metadata", "annotations").Key(name), changedMessage(was))
		}
	}
	return nil
}

// stampKeys are the annotations, but for the epoch, that a hub writes once.
func stampKeys() []string {
	return []string{switchyard.OwnerUIDAnnotation, switchyard.HubUIDAnnotation, switchyard.OnHubLostAnnotation}
}

func changedMessage(was string) string {
	return fmt.Sprintf("is written once, by the hub that makes the object, and must stay %q", was)
}

func origin(object client.Object) string { return object.GetLabels()[kueue.MultiKueueOriginLabel] }

func errEpochOver(epoch, seen int64) *field.Error {
	return field.Forbidden(path(), fmt.Sprintf("epoch %d is over: the hub has been in epoch %d here", epoch, seen))
}

func errUnrelated() *field.Error {
	return field.Forbidden(field.NewPath("metadata", "annotations").Key(switchyard.OwnerUIDAnnotation),
		"is that of another Workload of a hub than the one that its Workload here was made for")
}

func path() *field.Path {
	return field.NewPath("metadata", "annotations").Key(switchyard.EpochAnnotation)
}

func isCopy(object client.Object) bool { return origin(object) != "" }

func owner(object client.Object) string {
	return object.GetAnnotations()[switchyard.OwnerUIDAnnotation]
}
