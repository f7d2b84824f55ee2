package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

const floorUser = "bench-floor"

// apiServerFloor admits the Workloads of a load as the ideal would, each with one write, from within the runner: no webhooks, no
// conversions, no events, no statuses of queues. What is left is the control plane's own work for the three writes of each
// Workload's life, so no controller can be faster on the same machine.
type apiServerFloor struct {
	client client.Client
	group  *errgroup.Group
	fail   context.CancelCauseFunc

	mu    sync.Mutex
	ideal *idealScheduler
}

func startFloor(ctx context.Context, cluster *clusters.Cluster, l load) (*runningController, error) {
	if err := installStoredVersions(ctx, cluster); err != nil {
		return nil, err
	}
	rest, err := userConfig(cluster, floorUser)
	if err != nil {
		return nil, err
	}
	f := &apiServerFloor{group: &errgroup.Group{}, ideal: newIdealScheduler(l)}
	if f.client, err = client.New(rest, client.Options{Scheme: installation.Scheme()}); err != nil {
		return nil, fmt.Errorf("client of the floor: %w", err)
	}
	ctx, f.fail = context.WithCancelCause(ctx)
	if err := f.run(ctx, rest); err != nil {
		f.fail(err)
		return nil, fmt.Errorf("watch Workloads: %w", err)
	}
	stop := func() error {
		f.fail(nil)
		return f.group.Wait()
	}
	died := func() error {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return cause
		}
		return nil
	}
	return &runningController{user: floorUser, stop: stop, died: died}, nil
}

func (f *apiServerFloor) run(ctx context.Context, config *rest.Config) error {
	seen, err := cache.New(config, cache.Options{Scheme: installation.Scheme()})
	if err != nil {
		return err
	}
	informer, err := seen.GetInformer(ctx, &kueue.Workload{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { f.recordWorkload(ctx, o, f.ideal.addWorkload) },
		UpdateFunc: func(_, o any) {
			if wl, ok := o.(*kueue.Workload); ok && meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) {
				f.recordWorkload(ctx, o, f.ideal.removeWorkload)
			}
		},
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return err
	}
	f.group.Go(func() error { return seen.Start(ctx) })
	return nil
}

// recordWorkload records an event and admits the Workloads that it lets in.
func (f *apiServerFloor) recordWorkload(ctx context.Context, object any, happened func(*kueue.Workload) []*kueue.Workload) {
	wl, ok := object.(*kueue.Workload)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range happened(wl) {
		f.group.Go(func() error {
			f.admitWorkload(ctx, in)
			return nil
		})
	}
}

func (f *apiServerFloor) admitWorkload(ctx context.Context, wl *kueue.Workload) {
	err := persist(ctx, func() error { return kube.ApplyAdmission(ctx, f.client, admitted(wl)) })
	if err == nil || apierrors.IsConflict(err) || ctx.Err() != nil {
		return // A conflict: the try before took effect although its answer was an error.
	}
	f.fail(fmt.Errorf("admit Workload %s: %w", wl.Name, err))
}

// installStoredVersions installs the API with the version only that is stored: nothing has to be converted.
func installStoredVersions(ctx context.Context, cluster *clusters.Cluster) error {
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		crd.Spec.Conversion = nil
		for _, version := range crd.Spec.Versions {
			if version.Storage {
				crd.Spec.Versions = append(crd.Spec.Versions[:0:0], version)
				break
			}
		}
	}
	return cluster.InstallCRDs(ctx, crds)
}

// admitted is the Workload with all of its pods in the one flavor.
func admitted(wl *kueue.Workload) *kueue.Workload {
	wl = wl.DeepCopy()
	assignment := &admission.Assignment{PodSets: []admission.PodSetAssignment{{
		Name: "main", Count: 1, Flavors: []admission.ResourceFlavor{{Resource: "cpu", Flavor: "bench"}},
	}}}
	workload.ReserveQuota(wl, view.BuildAdmission("q", assignment), nil, "Quota reserved in ClusterQueue q", time.Now())
	return wl
}
