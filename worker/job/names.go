package job

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// hashLength is how many hex digits of the owner's hash end a generated name.
const hashLength = 5

// WorkloadName returns the name of the Workload of an owner: kind and name, cut so that the whole is at most 253
// characters (63 if short) and no label of it ends there, and a hash of the owner's identity, and of what tells several Workloads of one owner apart (contract: kueue-api.md 2.6). The hash holds the UID, so a
// job that is deleted and created again gets a new Workload.
func WorkloadName(owner schema.GroupVersionKind, name string, uid types.UID, short bool, extra ...string) string {
	limit := validation.DNS1123SubdomainMaxLength
	if short {
		limit = validation.DNS1123LabelMaxLength
	}
	prefix := strings.ToLower(owner.Kind) + "-" + name
	if room := limit - hashLength - 1; len(prefix) > room {
		prefix = strings.TrimRight(prefix[:room], ".") // what follows is a hyphen, which no label begins with
	}
	sum := sha1.Sum([]byte(strings.Join(append([]string{owner.Kind, owner.Group, name, string(uid)}, extra...), "\n")))
	return prefix + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// QueueName returns the name of the LocalQueue that the object asks for, empty if none.
func QueueName(obj client.Object) string { return obj.GetLabels()[kueue.QueueNameLabel] }

// PrebuiltWorkloadName returns the name of the Workload that was made for the job in advance, empty if none. The annotation
// is preferred over the label (contract: kueue-api.md 2.1, 2.2).
func PrebuiltWorkloadName(obj client.Object) string {
	if name := obj.GetAnnotations()[kueue.PrebuiltWorkloadNameKey]; name != "" {
		return name
	}
	return obj.GetLabels()[kueue.PrebuiltWorkloadNameKey]
}

// PrebuiltWorkloadName is the function of that name. With the gate WorkloadIdentifierAnnotations off the label comes first; the
// annotation counts only where no label could hold the name (contract: messages.md 5.7).
func (g Gates) PrebuiltWorkloadName(obj client.Object) string {
	if g.WorkloadIdentifierAnnotations {
		return PrebuiltWorkloadName(obj)
	}
	if name := obj.GetLabels()[kueue.PrebuiltWorkloadNameKey]; name != "" {
		return name
	}
	if name := obj.GetAnnotations()[kueue.PrebuiltWorkloadNameKey]; len(name) > validation.LabelValueMaxLength {
		return name
	}
	return ""
}
