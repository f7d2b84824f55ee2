package profile

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// +kubebuilder:rbac:groups=multicluster.x-k8s.io,resources=clusterprofiles,verbs=list;watch,namespace=kueue-system

// kind and resource of what is followed.
var (
	kind     = inventory.GroupVersion.WithKind("ClusterProfile")
	resource = schema.GroupResource{Group: inventory.GroupVersion.Group, Resource: "clusterprofiles"}
)

// pollKind is how often to look for the kind while the hub does not serve it.
const pollKind = 10 * time.Second

// Watch follows the ClusterProfiles in the hub's namespace. It is a Runnable of the hub's manager, on the leader only. The
// CRD may be installed at any time; until then there are no profiles.
type Watch struct {
	// Mapper knows what the hub's API server serves.
	Mapper meta.RESTMapper
	// NewCache makes a cache of the hub's namespace alone, whose scheme knows ClusterProfiles.
	NewCache func() (cache.Cache, error)
	// Namespace is the hub's own.
	Namespace string
	// Changed is told the name of each profile that is new, has changed or is gone, and "" when every profile is to be
	// looked at again because it is now known which there are. It must not block.
	Changed func(name string)
	// Every is how often to look for the kind, 10 s unless set.
	Every time.Duration

	isUnserved atomic.Bool
	synced     atomic.Pointer[cache.Cache]
}

// ErrUnknown says that it is not known yet which profiles there are.
var ErrUnknown = errors.New("the cluster profiles are not known yet")

var _ manager.LeaderElectionRunnable = (*Watch)(nil)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *Watch) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (w *Watch) Start(ctx context.Context) error {
	if !w.awaitKind(ctx) {
		return nil
	}
	c, err := w.NewCache()
	if err != nil {
		return fmt.Errorf("follow cluster profiles: %w", err)
	}
	informer, err := c.GetInformer(ctx, &inventory.ClusterProfile{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("follow cluster profiles: %w", err)
	}
	go func() {
		if !c.WaitForCacheSync(ctx) {
			return
		}
		w.synced.Store(&c)
		w.Changed("")
		if _, err := informer.AddEventHandler(w.handler()); err != nil {
			log.FromContext(ctx).Error(err, "Follow cluster profiles")
		}
	}()
	return c.Start(ctx)
}

// awaitKind returns true once the kind is served, false when ctx has ended before.
func (w *Watch) awaitKind(ctx context.Context) bool {
	every := w.Every
	if every == 0 {
		every = pollKind
	}
	for {
		_, err := w.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			return true
		}
		switch {
		case !meta.IsNoMatchError(err):
			log.FromContext(ctx).Error(err, "Look for cluster profiles")
		case !w.isUnserved.Swap(true):
			w.Changed("")
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(every):
		}
	}
}

// handler passes on the names of ClusterProfiles that come, change or go.
func (w *Watch) handler() toolscache.ResourceEventHandler {
	tell := func(obj any) {
		if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if p, ok := obj.(client.Object); ok {
			w.Changed(p.GetName())
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }, DeleteFunc: tell,
	}
}

// Get returns a profile by name, as a copy. It never waits: it returns ErrUnknown until it is known which there are, and
// Changed tells then. Where the kind is not served, no profile is found.
func (w *Watch) Get(ctx context.Context, name string) (*inventory.ClusterProfile, error) {
	c := w.synced.Load()
	switch {
	case c == nil && w.isUnserved.Load():
		return nil, apierrors.NewNotFound(resource, name)
	case c == nil:
		return nil, ErrUnknown
	}
	p := &inventory.ClusterProfile{}
	if err := (*c).Get(ctx, types.NamespacedName{Namespace: w.Namespace, Name: name}, p); err != nil {
		return nil, err
	}
	return p, nil
}
