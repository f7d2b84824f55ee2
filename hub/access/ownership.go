package access

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	// maxOwners is how many owners an object may have above it. A pod of an executor of a Spark application has two, one of an
	// AppWrapper's RayJob four.
	maxOwners = 6
	// maxSingleReads is how many objects of a kind are read one by one for one request. Then all of that kind are listed.
	maxSingleReads = 3
	// maxRemembered is how many objects are remembered for one request.
	maxRemembered = 100_000
	// maxCopies is how many copies are read to find the one that a job belongs to: an elastic job has one for each slice.
	maxCopies = 4
)

// hubIdentity is how copies are known for this hub's.
type hubIdentity struct {
	// origin is multiKueue.origin, never empty.
	origin string
	// uid is that of the hub's namespace kube-system, never empty. Adopted are those of former hubs whose objects on the cluster are this hub's.
	uid     types.UID
	adopted []types.UID
}

// metadataReader reads the metadata of objects of one namespace on one worker.
type metadataReader interface {
	// get returns an object. An error is one of the worker's, or that of the way there.
	get(ctx context.Context, resource schema.GroupVersionResource, name string) (*metav1.PartialObjectMetadata, error)
	// listAll calls each for all objects of a resource, and ends with its first error. Nothing of an object is to be kept that is not bounded.
	listAll(ctx context.Context, resource schema.GroupVersionResource, each func(*metav1.PartialObjectMetadata) error) error
}

// ownership tells for one request which objects of a namespace on a worker belong to the hub's jobs that are bound there. An
// object belongs to a job if the chain of its owners leads to it by UID, and a job is the hub's if it bears this hub's marks and a
// copy of a Workload that is bound to this cluster belongs to it. What a pod's labels say counts for nothing: whoever may make a pod
// may write them. It is not safe for concurrent use.
type ownership struct {
	hub       hubIdentity
	placement placement
	worker    metadataReader
	kinds     *kinds
	cluster   string
	namespace string
	// only, if set, is the one Workload whose objects are looked for.
	only *kueue.Workload

	// seen are objects that were read, absent the UIDs of those that are not there, reads how many of each resource were read one by one, listed
	// the resources of which all were.
	seen   map[types.UID]*metav1.PartialObjectMetadata
	absent map[types.UID]bool
	reads  map[schema.GroupVersionResource]int
	listed map[schema.GroupVersionResource]bool
	// denied is why objects of some kind cannot be read: what they own is not known for a job's.
	denied error
	// jobs are the Workloads of jobs that are the hub's.
	jobs map[types.UID]types.NamespacedName
}

func newOwnership(h *Handler, worker metadataReader, hub hubIdentity, cluster, namespace string) *ownership {
	return &ownership{
		hub: hub, placement: h.placement, worker: worker, kinds: h.kinds, cluster: cluster, namespace: namespace,
		seen:   map[types.UID]*metav1.PartialObjectMetadata{},
		absent: map[types.UID]bool{},
		reads:  map[schema.GroupVersionResource]int{},
		listed: map[schema.GroupVersionResource]bool{},
		jobs:   map[types.UID]types.NamespacedName{},
	}
}

// workloadOf returns the hub's Workload that an object of the worker belongs to; ok is false if it belongs to none that is bound to this
// cluster. An error is one of reading.
func (o *ownership) workloadOf(ctx context.Context, obj *metav1.PartialObjectMetadata) (key types.NamespacedName, ok bool, err error) {
	if obj.Namespace != o.namespace || obj.UID == "" {
		return key, false, nil
	}
	for range maxOwners {
		if key, ok, err = o.workloadOfJob(ctx, obj); ok || err != nil {
			return key, ok, err
		}
		owner := ownerOf(obj)
		if owner == nil {
			return key, false, nil
		}
		if obj, err = o.read(ctx, *owner); obj == nil || err != nil {
			return key, false, err
		}
	}
	return key, false, nil
}

// ownerOf is the owner that an object belongs to: its controller, or the only owner it has.
func ownerOf(obj *metav1.PartialObjectMetadata) *metav1.OwnerReference {
	if controller := metav1.GetControllerOfNoCopy(obj); controller != nil {
		return controller
	}
	if len(obj.OwnerReferences) == 1 {
		return &obj.OwnerReferences[0]
	}
	return nil
}

// read returns the object of a reference; nil if there is none with that UID, or if it is of a kind that has nothing to do with jobs.
func (o *ownership) read(ctx context.Context, ref metav1.OwnerReference) (*metav1.PartialObjectMetadata, error) {
	if obj := o.seen[ref.UID]; obj != nil || o.absent[ref.UID] {
		return obj, nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if o.isOther(kind.GroupKind(), ref.Name) {
		return nil, nil
	}
	resource, ok := o.kinds.resourceOf(kind.GroupKind())
	if !ok {
		return nil, nil
	}
	kind.Version = resource.Version
	var err error
	o.reads[resource]++
	switch {
	case o.reads[resource] <= maxSingleReads:
		err = o.readOne(ctx, resource, kind, ref.Name)
	case !o.listed[resource]:
		err = o.readAll(ctx, resource, kind)
	}
	if apierrors.IsForbidden(err) {
		o.denied, err = err, nil
	}
	if err != nil {
		return nil, err
	}
	obj := o.seen[ref.UID]
	if obj == nil {
		// An owner is there before what it owns: it will not come.
		o.absent[ref.UID] = true
	}
	return obj, nil
}

func (o *ownership) readOne(ctx context.Context, resource schema.GroupVersionResource, kind schema.GroupVersionKind, name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil
	}
	obj, err := o.worker.get(ctx, resource, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	o.remember(obj, kind)
	return nil
}

func (o *ownership) readAll(ctx context.Context, resource schema.GroupVersionResource, kind schema.GroupVersionKind) error {
	err := o.worker.listAll(ctx, resource, func(obj *metav1.PartialObjectMetadata) error {
		o.remember(obj, kind)
		if len(o.seen) > maxRemembered {
			return newStatus(http.StatusBadGateway, metav1.StatusReasonInternalError, fmt.Sprintf("cluster %q has too many %s", o.cluster, resource.Resource))
		}
		return nil
	})
	o.listed[resource] = err == nil
	return err
}

// remember keeps what is needed of an object that the worker says is there, if it is no longer than it can be.
func (o *ownership) remember(obj *metav1.PartialObjectMetadata, kind schema.GroupVersionKind) {
	if obj.Namespace != o.namespace || obj.UID == "" || len(obj.Name) > maxSegment || len(obj.UID) > maxSegment {
		return
	}
	kept := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.namespace, Name: obj.Name, UID: obj.UID, Labels: map[string]string{}, Annotations: map[string]string{},
	}}
	if owner := ownerOf(obj); owner != nil && len(owner.APIVersion)+len(owner.Kind)+len(owner.Name)+len(owner.UID) <= 4*maxSegment {
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	kept.SetGroupVersionKind(kind)
	copyKey(kueue.MultiKueueOriginLabel, obj.Labels, kept.Labels)
	for _, key := range []string{switchyard.HubUIDAnnotation, switchyard.OwnerUIDAnnotation} {
		copyKey(key, obj.Annotations, kept.Annotations)
	}
	o.seen[obj.UID] = kept
}

func copyKey(key string, from, to map[string]string) {
	if value, ok := from[key]; ok && len(value) <= maxSegment {
		to[key] = value
	}
}

// nextEvent allows a few more objects to be read one by one, and forgets everything where that has become much: it can be read again.
func (o *ownership) nextEvent() {
	clear(o.reads)
	if len(o.seen)+len(o.absent)+len(o.jobs) > maxRemembered {
		clear(o.seen)
		clear(o.absent)
		clear(o.jobs)
		clear(o.listed)
	}
}

// workloadOfJob returns the Workload that an object was made for as its job.
func (o *ownership) workloadOfJob(ctx context.Context, obj *metav1.PartialObjectMetadata) (types.NamespacedName, bool, error) {
	if key, known := o.jobs[obj.UID]; known {
		wl, err := o.placement.bound(ctx, key, o.cluster)
		return key, wl != nil, err
	}
	if !mirror.HasOrigin(obj, o.hub.origin) || mirror.OtherHub(obj, o.hub.uid, o.hub.adopted) != "" {
		return types.NamespacedName{}, false, nil
	}
	candidates, err := o.placement.boundWorkloads(ctx, o.namespace, obj.GroupVersionKind(), obj.Name, o.cluster)
	if err != nil {
		return types.NamespacedName{}, false, err
	}
	if o.only != nil {
		candidates = slices.DeleteFunc(candidates, func(wl kueue.Workload) bool { return wl.UID != o.only.UID })
	}
	// The newest first: of an elastic job it has the copy that the job belongs to.
	slices.SortFunc(candidates, func(a, b kueue.Workload) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for i := range candidates[:min(len(candidates), maxCopies)] {
		wl := &candidates[i]
		belongs, err := o.hasCopy(ctx, wl, obj)
		if err != nil {
			return types.NamespacedName{}, false, err
		}
		if belongs {
			key := client.ObjectKeyFromObject(wl)
			o.jobs[obj.UID] = key
			return key, true, nil
		}
	}
	return types.NamespacedName{}, false, nil
}

// hasCopy tells whether the copy of a Workload is there, is this hub's, and belongs to the job. A copy that no job has taken up yet, and that of
// a job which several Workloads share, belongs to the job that was made for this very Workload.
func (o *ownership) hasCopy(ctx context.Context, wl *kueue.Workload, job *metav1.PartialObjectMetadata) (bool, error) {
	found, err := o.worker.get(ctx, workloadsResource, wl.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if found.Namespace != o.namespace || !mirror.HasOrigin(found, o.hub.origin) || mirror.OtherHub(found, o.hub.uid, o.hub.adopted) != "" {
		return false, nil
	}
	if madeFor := found.Annotations[switchyard.OwnerUIDAnnotation]; madeFor != "" && madeFor != string(wl.UID) {
		return false, nil
	}
	if found.Labels[kueue.JobUIDLabel] == string(job.UID) {
		return true, nil
	}
	if slices.ContainsFunc(found.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == job.UID }) {
		return true, nil
	}
	return len(found.OwnerReferences) == 0 && job.Annotations[switchyard.OwnerUIDAnnotation] == string(wl.UID), nil
}

// workloadsResource are the copies.
var workloadsResource = kueue.GroupVersion.WithResource("workloads")

// kinds are the kinds of objects between a job and its pods, by which owners are followed, and which of them are jobs.
type kinds struct {
	// jobs are the kinds of job that the hub dispatches, owners those that stand between one and its pods.
	jobs   []schema.GroupVersionKind
	owners []schema.GroupVersionKind
	// declared returns the kinds that JobKinds declare.
	declared func() []schema.GroupVersionKind
}

// all returns every kind by which owners are followed.
func (k *kinds) all() []schema.GroupVersionKind { return slices.Concat(k.jobKinds(), k.owners) }

func (k *kinds) jobKinds() []schema.GroupVersionKind {
	if k.declared == nil {
		return k.jobs
	}
	return slices.Concat(k.jobs, k.declared())
}

// resourceOf returns how objects of a kind are read, in the version that the hub knows; ok is false for kinds that have nothing to do with jobs.
func (k *kinds) resourceOf(kind schema.GroupKind) (resource schema.GroupVersionResource, ok bool) {
	for _, one := range k.all() {
		if one.GroupKind() == kind {
			return plural(one), true
		}
	}
	return schema.GroupVersionResource{}, false
}

// Job implements resources.
func (k *kinds) Job(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	for _, one := range k.jobKinds() {
		if plural(one) == resource {
			return one, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// plural is the resource of a kind. That of every kind of job is regular.
func plural(kind schema.GroupVersionKind) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return resource
}

// workloadOfSubject is workloadOf for what an event is about.
func (o *ownership) workloadOfSubject(ctx context.Context, ref *corev1.ObjectReference) (types.NamespacedName, bool, error) {
	if ref == nil || ref.UID == "" || ref.Namespace != o.namespace {
		return types.NamespacedName{}, false, nil
	}
	obj, err := o.read(ctx, metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID})
	if obj == nil || err != nil {
		return types.NamespacedName{}, false, err
	}
	if obj.GroupVersionKind().GroupKind() != copyKind.GroupKind() {
		return o.workloadOf(ctx, obj)
	}
	key := types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
	if !mirror.HasOrigin(obj, o.hub.origin) || mirror.OtherHub(obj, o.hub.uid, o.hub.adopted) != "" {
		return key, false, nil
	}
	wl, err := o.placement.bound(ctx, key, o.cluster)
	return key, wl != nil, err
}

// copyKind is the kind of the copies.
var copyKind = kueue.GroupVersion.WithKind("Workload")
