package hubworkload

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Owner is the job of a Workload as the Workload names it.
type Owner struct {
	// GVK is its kind.
	GVK schema.GroupVersionKind
	// Name is in the namespace of the Workload.
	Name string
}

// LookupOwner names the job of a Workload: by its annotations, else by its controller, else by its first owner (contract:
// multikueue.md 4 P3). False if it has none.
func LookupOwner(wl *kueue.Workload) (Owner, bool) {
	text, name := wl.Annotations[kueue.JobOwnerGVKAnnotation], wl.Annotations[kueue.JobOwnerNameAnnotation]
	if gvk := parseGVK(text); gvk != nil && name != "" {
		return Owner{GVK: *gvk, Name: name}, true
	}
	ref := metav1.GetControllerOf(wl)
	if ref == nil && len(wl.OwnerReferences) > 0 {
		ref = &wl.OwnerReferences[0]
	}
	if ref == nil {
		return Owner{}, false
	}
	return Owner{GVK: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Name: ref.Name}, true
}

// parseGVK reads "group/version, Kind=kind", the way the annotation is written; nil if it is not of that form.
func parseGVK(text string) *schema.GroupVersionKind {
	gv, kind, ok := strings.Cut(text, ", Kind=")
	if !ok || kind == "" {
		return nil
	}
	parsed, err := schema.ParseGroupVersion(gv)
	if err != nil {
		return nil
	}
	return new(parsed.WithKind(kind))
}

// IsOwnedBy reports whether the job that bears the name of a Workload's job is that job. One that was deleted and made again
// is not: how the first ended would be written into the second, which would then never run. A Workload may not name its owner
// by UID, as one of several of its owner; then the name decides.
func IsOwnedBy(wl *kueue.Workload, own Owner, named client.Object) bool {
	if ref := metav1.GetControllerOfNoCopy(wl); ref != nil {
		of := Owner{GVK: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Name: ref.Name}
		return of.GVK.GroupKind() != own.GVK.GroupKind() || of.Name != own.Name || ref.UID == named.GetUID()
	}
	_, component := ComponentIndex(wl)
	uid := wl.Labels[kueue.JobUIDLabel]
	return uid == "" || component || uid == string(named.GetUID())
}

// IndexValue is the value of ByOwner under which the Workloads of a job are found.
func (o Owner) IndexValue() string { return o.GVK.GroupKind().String() + "/" + o.Name }
