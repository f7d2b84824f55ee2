package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-multierror"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// fleetSpec is a hub and its workers, to be measured together.
type fleetSpec struct {
	name        string
	hub, worker controllerSpec
	// kinds are those that the hub dispatches; Job and JobSet if there are none.
	kinds []mixedKind
}

// clusterProgram is a cluster with its program, and a client of the runner's.
type clusterProgram struct {
	*clusters.Cluster
	client client.WithWatch
	*runningController
}

// clusterFleet is a hub and its workers, connected. No job controller runs there: the runner plays it.
type clusterFleet struct {
	hub     *clusterProgram
	workers []*clusterProgram
}

// afarUser is the user of another owner's hub on the workers, where it may do everything.
const afarUser = "bench-afar"

// startBenchFleet starts clusters and programs and registers the workers. After an error nothing is left running.
func startBenchFleet(ctx context.Context, c fleetSpec, workers int, programs string) (*clusterFleet, error) {
	readers := append(installation.Users(), "bench-controller", afarUser)
	crds := operatorsOf(c.kinds)
	if !slices.Contains(crds, clusters.JobSet) {
		crds = append(crds, clusters.JobSet)
	}
	options := []clusters.Options{{Name: "hub", OperatorCRDs: crds, CountReadsOf: readers}}
	for i := range workers {
		options = append(options, clusters.Options{Name: workerName(i), OperatorCRDs: crds, CountReadsOf: readers})
	}
	started, err := clusters.StartAll(ctx, options...)
	if err != nil {
		return nil, err
	}
	a := &clusterFleet{}
	for i, cluster := range started {
		p := &clusterProgram{Cluster: cluster}
		if i == 0 {
			a.hub = p
		} else {
			a.workers = append(a.workers, p)
		}
	}
	if err := a.install(ctx, c, programs); err != nil {
		return nil, errors.Join(err, a.stop())
	}
	return a, nil
}

func workerName(i int) string { return fmt.Sprintf("w%d", i+1) }

func (a *clusterFleet) clusterPrograms() []*clusterProgram {
	return append([]*clusterProgram{a.hub}, a.workers...)
}

// install starts one program after the other: by that their processes are told apart.
func (a *clusterFleet) install(ctx context.Context, c fleetSpec, programs string) error {
	scheme, err := schemeWith(c.kinds)
	if err != nil {
		return err
	}
	for _, p := range a.clusterPrograms() {
		of := c.worker
		if p == a.hub {
			of = c.hub
		}
		config, err := userConfig(p.Cluster, runnerUser)
		if err != nil {
			return err
		}
		if p.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
			return fmt.Errorf("client of the runner on %s: %w", p.Name, err)
		}
		if p.runningController, err = of.start(ctx, p.Cluster, programs); err != nil {
			return fmt.Errorf("start the program of %s: %w", p.Name, err)
		}
	}
	for _, w := range a.workers {
		if err := a.register(ctx, w, c); err != nil {
			return err
		}
	}
	return a.waitConnected(ctx)
}

// register makes a worker known to the hub: to ours with the rights that it needs, to any other with all.
func (a *clusterFleet) register(ctx context.Context, w *clusterProgram, c fleetSpec) error {
	if c.hub.command == "" {
		return installation.Register(ctx, a.hub.Cluster, w.Cluster, "", integrations(c.kinds)...)
	}
	kubeconfig, err := w.UserKubeconfig(afarUser, "system:masters")
	if err != nil {
		return err
	}
	return createAll(ctx, a.hub.Cluster, append([]client.Object{programsNamespace()}, installation.Registration(w.Name, kubeconfig)...))
}

func (a *clusterFleet) waitConnected(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, w := range a.workers {
			cluster := &kueue.MultiKueueCluster{}
			last = a.hub.client.Get(ctx, client.ObjectKey{Name: w.Name}, cluster)
			if last != nil || !meta.IsStatusConditionTrue(cluster.Status.Conditions, kueue.MultiKueueClusterActive) {
				return false, nil //nolint:nilerr // not yet
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("the hub is not connected to its workers: %w", errors.Join(err, last))
	}
	return nil
}

// exitedProgram tells of programs that have ended.
func (a *clusterFleet) exitedProgram() error {
	var result *multierror.Error
	for _, p := range a.clusterPrograms() {
		result = multierror.Append(result, p.runningController.died())
	}
	return result.ErrorOrNil()
}

// stop ends the programs, then the clusters.
func (a *clusterFleet) stop() error {
	var result *multierror.Error
	var all []*clusters.Cluster
	for _, p := range a.clusterPrograms() {
		if p.runningController != nil {
			result = multierror.Append(result, p.runningController.stop())
		}
		all = append(all, p.Cluster)
	}
	return multierror.Append(result, clusters.StopAll(all...)).ErrorOrNil()
}

// createObjects creates the queues, the hub's last: its check wants clusters.
func (a *clusterFleet) createObjects(ctx context.Context) error {
	var names []string
	for _, w := range a.workers {
		if err := createAll(ctx, w.Cluster, hubObjects(nil)); err != nil {
			return err
		}
		names = append(names, w.Name)
	}
	return createAll(ctx, a.hub.Cluster, hubObjects(names))
}
