package controller

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// orphans is what tells copies that this hub may remove, because it has seen or has on record that their Workload went, from
// those that it must leave to people.
type orphans struct {
	adopted atomic.Pointer[[]types.UID] // hubs whose objects are this one's

	mu        sync.Mutex
	witnessed map[client.ObjectKey]string // Workloads seen by this program, of which the hub's record would not tell
	departed  map[client.ObjectKey]bool   // Workloads that were seen to go, as long as there may be something of them on workers
}

// hubs are the identities of former hubs whose objects are this hub's.
func (o *orphans) hubs() []types.UID {
	if list := o.adopted.Load(); list != nil {
		return *list
	}
	return nil
}

func (o *orphans) adopt(hubs []types.UID) { o.adopted.Store(&hubs) }

func (o *orphans) forget(key client.ObjectKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.witnessed, key)
	delete(o.departed, key)
}

// depart notes that a Workload goes.
func (o *orphans) depart(key client.ObjectKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.departed == nil {
		o.departed = map[client.ObjectKey]bool{}
	}
	o.departed[key] = true
}

func (o *orphans) hasDeparted(key client.ObjectKey) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.departed[key]
}

// Owned tells whether a Workload is the hub's as far as this program knows: its cache has it, or had it. What else clusters show
// anybody may have made who may make jobs there.
func (r *Resolver) Owned(key client.ObjectKey) bool {
	return !r.unowned(context.Background(), key) || r.orphans.hasDeparted(key)
}

// departures passes all events of Workloads and notes which of them go.
func (r *Resolver) departures() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		r.orphans.depart(client.ObjectKeyFromObject(e.Object))
		return true
	}}
}

// lookAtDeparted makes those be looked at again that were seen to go: a cluster that showed something of them is no more.
func (r *Resolver) lookAtDeparted() {
	r.orphans.mu.Lock()
	keys := slices.Collect(maps.Keys(r.orphans.departed))
	r.orphans.mu.Unlock()
	for _, key := range keys {
		r.Fleet.WorkloadRequests().EnqueueLowPriority(key)
	}
}

// witness notes that a Workload exists which has a copy made in a time that the hub has no record of: if it goes from now on, this
// program knows that it did.
func (r *Resolver) witness(o mirror.Original, seen mirror.Found) {
	if o.Gone || !r.undocumented(o, seen) {
		return
	}
	r.orphans.mu.Lock()
	defer r.orphans.mu.Unlock()
	if r.orphans.witnessed == nil {
		r.orphans.witnessed = map[client.ObjectKey]string{}
	}
	r.orphans.witnessed[o.Key()] = string(o.Workload.UID)
}

// undocumented tells whether something that is seen was made in a time that the hub has no record of, or by a hub that it has
// adopted. What does not name its hub was made by a program that keeps no record.
func (r *Resolver) undocumented(o mirror.Original, seen mirror.Found) bool {
	for _, obj := range seen.Objects() {
		hub := types.UID(obj.GetAnnotations()[switchyard.HubUIDAnnotation])
		if hub != "" && (slices.Contains(o.Adopted, hub) || hub == o.Hub && r.Hub.unknown(obj.GetCreationTimestamp().Time)) {
			return true
		}
	}
	return false
}

// keeps tells whether what a cluster shows of a Workload that the hub does not have is kept: a job may run there, and the hub may
// just not know. A Workload that this program has seen was deleted. People may have it removed.
func (r *Resolver) keeps(ctx context.Context, cluster string, ghost mirror.Original) bool {
	seen := r.seen(cluster, ghost)
	if !seen.MayRun() || !r.undocumented(ghost, seen) {
		return false
	}
	r.orphans.mu.Lock()
	owner, witnessed := r.orphans.witnessed[ghost.Key()]
	r.orphans.mu.Unlock()
	made := time.Time{}
	for _, obj := range seen.Objects() {
		if witnessed && obj.GetAnnotations()[switchyard.OwnerUIDAnnotation] != owner {
			witnessed = false
		}
		if at := obj.GetCreationTimestamp().Time; at.After(made) {
			made = at
		}
	}
	return !witnessed && !made.Before(r.notes(ctx, &subject{}, cluster).discard)
}

// removable tells whether anything that is seen on a cluster is this hub's.
func removable(v dispatch.ClusterView) bool {
	ours := func(h dispatch.Holder) bool { return h == dispatch.Ours || h == dispatch.Predecessor }
	if v.Live != nil && (ours(v.Live.Copy.Holder) || ours(v.Live.Job.Holder)) {
		return true
	}
	return ours(v.Copy.Holder) || ours(v.Job.Holder)
}

// stray is what is left alone on a cluster: Workloads, as namespace/name, by the hub that made them, as they say.
type stray map[types.UID]map[string]struct{}

func (s stray) add(hub types.UID, key client.ObjectKey) {
	if s[hub] == nil {
		s[hub] = map[string]struct{}{}
	}
	s[hub][key.String()] = struct{}{}
}

// strays looks through the informers of a cluster.
func (r *Resolver) strays(ctx context.Context, cluster string, kinds []fleet.WatchedKind) stray {
	found, own, adopted := stray{}, r.Hub.identity(), r.orphans.hubs()
	for _, kind := range kinds {
		for _, obj := range r.Fleet.List(cluster, kind.GVK) {
			key, ok := kind.WorkloadKey(obj)
			if other := mirror.OtherHub(obj, own, adopted); other != "" {
				if !ok {
					key = client.ObjectKeyFromObject(obj)
				}
				found.add(other, key)
			} else if ok && r.undocumented(mirror.Original{Hub: own, Adopted: adopted}, mirror.Found{Job: obj}) && r.unowned(ctx, key) {
				if ghost := r.ghost(key); r.keeps(ctx, cluster, ghost) {
					found.add(own, key)
				} else {
					r.Fleet.RequeueWorkload(cluster, key) // somebody may have said that it is to go
				}
			}
		}
	}
	return found
}

// unowned tells whether, as far as the hub's cache knows, it has no such Workload.
func (r *Resolver) unowned(ctx context.Context, key client.ObjectKey) bool {
	return apierrors.IsNotFound(r.Client.Get(ctx, key, &kueue.Workload{}, client.UnsafeDisableDeepCopy))
}

// adoptedBy are the hubs that people have said are this one's now, by a mark on any of the clusters.
func adoptedBy(clusters []kueue.MultiKueueCluster) []types.UID {
	var hubs []types.UID
	for i := range clusters {
		for _, name := range names(strings.TrimSpace(clusters[i].Annotations[switchyard.AdoptHubsAnnotation])) {
			if !slices.Contains(hubs, types.UID(name)) {
				hubs = append(hubs, types.UID(name))
			}
		}
	}
	slices.Sort(hubs)
	return hubs
}
