package serving

import (
	"context"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Groups makes the Workloads of groups of pods that an object of one kind stands for.
type Groups struct {
	rules job.Rules
	gvk   schema.GroupVersionKind
	short bool
}

// NewGroups returns what makes Workloads for objects of the kind.
func NewGroups(gvk schema.GroupVersionKind, o job.Options, cached, live client.Reader) Groups {
	return Groups{rules: job.NewRules(gvk, o, cached, live), gvk: gvk, short: o.Gates.ShortWorkloadNames}
}

// Group is what is admitted together.
type Group struct {
	// Owner is the object that the group is of.
	Owner client.Object
	// Name of the group: that of the owner, and which of its groups it is if it has several.
	Name string
	// Index is its place among the groups of an owner that has several, else nil.
	Index *int
	// PodSets are what the group asks for.
	PodSets []kueue.PodSet
}

// IsManaged tells whether the object's pods are to wait for quota: nothing else answers for it, and it names a queue if it must.
func (g Groups) IsManaged(ctx context.Context, obj client.Object) (bool, error) {
	if !g.rules.IsManaged(obj) {
		return false, nil
	}
	return g.rules.IsOwn(ctx, obj)
}

// IsCopy tells whether a hub made the object. It makes the Workloads, too.
func IsCopy(obj client.Object) bool { return obj.GetLabels()[kueue.MultiKueueOriginLabel] != "" }

// WorkloadName is the name of the Workload of an owner's group. A copy's groups have those of the hub's object.
func (g Groups) WorkloadName(owner client.Object, group string) string {
	return WorkloadName(g.gvk, owner, group, g.short)
}

// WorkloadName is [Groups.WorkloadName] for who makes no Workloads; short asks for a short one.
func WorkloadName(gvk schema.GroupVersionKind, owner client.Object, group string, short bool) string {
	uid := owner.GetUID()
	if origin := owner.GetAnnotations()[kueue.MultiKueueOriginUIDAnnotation]; origin != "" && IsCopy(owner) {
		uid = types.UID(origin)
	}
	return job.WorkloadName(gvk, group, uid, short)
}

// NewWorkload returns the Workload that the group should get.
func (g Groups) NewWorkload(ctx context.Context, group Group) (*kueue.Workload, error) {
	wl, err := g.rules.NewWorkload(ctx, group.Owner, g.WorkloadName(group.Owner, group.Name), group.PodSets)
	if err == nil {
		g.claim(wl, group)
	}
	return wl, err
}

// Follow returns the Workload with what follows from its group at any time, and whether anything of it was different: that it is the
// group's, and the owner's queue, priority and gates. While it holds no quota and pods are not nil, it asks for the group's pods.
func (g Groups) Follow(ctx context.Context, wl *kueue.Workload, group Group) (*kueue.Workload, bool, error) {
	next := wl.DeepCopy()
	g.claim(next, group)
	if err := g.rules.Sync(ctx, group.Owner, next); err != nil {
		return nil, false, err
	}
	if wl.Status.Admission == nil && group.PodSets != nil && !job.SamePodSets(group.PodSets, wl.Spec.PodSets) {
		next.Spec.PodSets = group.PodSets
	}
	return next, !equality.Semantic.DeepEqual(wl, next), nil
}

// claim makes the Workload that of the group. The owner is not its controller: pods will be owners beside it.
func (g Groups) claim(wl *kueue.Workload, group Group) {
	metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.IsGroupWorkloadAnnotation, "true")
	metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.JobOwnerGVKAnnotation, g.gvk.String())
	metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.JobOwnerNameAnnotation, group.Owner.GetName())
	if group.Index != nil {
		metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.ComponentWorkloadIndexAnnotation, strconv.Itoa(*group.Index))
	}
	metav1.SetMetaDataLabel(&wl.ObjectMeta, kueue.JobUIDLabel, string(group.Owner.GetUID()))
	if !IsOwnedBy(wl, group.Owner) {
		wl.OwnerReferences = append(wl.OwnerReferences, metav1.OwnerReference{
			APIVersion: g.gvk.GroupVersion().String(), Kind: g.gvk.Kind, Name: group.Owner.GetName(), UID: group.Owner.GetUID(),
		})
	}
}

// IsOwnedBy tells whether the object is among the owners of the Workload.
func IsOwnedBy(wl *kueue.Workload, owner client.Object) bool {
	return slices.ContainsFunc(wl.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })
}

// ownerReference is the reference of a Workload to an object of a kind, in whatever version; nil if there is none.
func ownerReference(gvk schema.GroupVersionKind, wl *kueue.Workload) *metav1.OwnerReference {
	for i, ref := range wl.OwnerReferences {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && gv.Group == gvk.Group && ref.Kind == gvk.Kind {
			return &wl.OwnerReferences[i]
		}
	}
	return nil
}

// IsOurs tells of a Workload that names an owner of the kind, which may be gone, whether it was made for a group of that owner: it has the
// name of the group, and no controller. group is the name of the group, given that of the owner.
func (g Groups) IsOurs(wl *kueue.Workload, group func(owner string) string) bool {
	ref := ownerReference(g.gvk, wl)
	if ref == nil || metav1.GetControllerOfNoCopy(wl) != nil {
		return false
	}
	for _, uid := range []types.UID{ref.UID, ""} { // none in a name from before names held it
		for _, short := range []bool{false, true} {
			if job.WorkloadName(g.gvk, group(ref.Name), uid, short) == wl.Name {
				return true
			}
		}
	}
	return false
}

// IsForeign tells whether a Workload of the group's name is for something else: it has a controller, or its owner is another object of
// the kind, such as an earlier one of the same name.
func (g Groups) IsForeign(wl *kueue.Workload, owner client.Object) bool {
	return metav1.GetControllerOfNoCopy(wl) != nil || ownerReference(g.gvk, wl) != nil && !IsOwnedBy(wl, owner)
}
