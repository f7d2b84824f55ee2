package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-multierror"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/e2e/bench/procfs"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// result is what a load cost with one controller.
type result struct {
	controller string
	wall       time.Duration
	// waits are the times from creation to the first admission, by class.
	waits     [][]time.Duration
	evictions int
	// writes are all that were made on the cluster, the runner's creations left out.
	writes []cost
	user   string
	// cpu is by program: the controller, kube-apiserver, etcd and the runner.
	cpu  map[string]time.Duration
	peak int64
}

const (
	runnerUser = "bench-runner"
	programOwn = "controller"
	// stuckAfter bounds a run.
	stuckAfter = 30 * time.Minute
)

// measureAll measures the controllers one after the other. The error names those that failed; the results are of the others.
func measureAll(ctx context.Context, list []controllerSpec, measure func(context.Context, controllerSpec) (result, error)) ([]result, error) {
	var results []result
	var failed *multierror.Error
	for _, c := range list {
		r, err := measure(ctx, c)
		if err != nil {
			failed = multierror.Append(failed, fmt.Errorf("with %s: %w", c.name, err))
			continue
		}
		results = append(results, r)
	}
	return results, failed.ErrorOrNil()
}

// measure runs the load on a control plane of its own with one controller.
func measure(ctx context.Context, c controllerSpec, l load, programs string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, stuckAfter)
	defer cancel()
	cluster, err := clusters.Start(ctx, clusters.Options{Name: "bench", OperatorCRDs: operatorsOf(l.kinds())})
	if err != nil {
		return result{}, err
	}
	r, err := measureOn(ctx, cluster, c, l, programs)
	return r, errors.Join(err, cluster.Stop())
}

func measureOn(ctx context.Context, cluster *clusters.Cluster, c controllerSpec, l load, programs string) (result, error) {
	e, err := c.start(ctx, cluster, programs)
	if err != nil {
		return result{}, err
	}
	r, err := e.run(ctx, cluster, l)
	r.controller = c.name
	return r, errors.Join(err, e.died(), e.stop())
}

func (e *runningController) run(ctx context.Context, cluster *clusters.Cluster, l load) (result, error) {
	if err := createAll(ctx, cluster, l.objects()); err != nil {
		return result{}, err
	}
	before, err := e.meter(cluster)
	if err != nil {
		return result{}, err
	}
	config, err := userConfig(cluster, runnerUser)
	if err != nil {
		return result{}, err
	}
	b := newWorkloadLog(len(l.classes), l.workloads())
	wall, err := runBenchmark(ctx, config, l, b)
	if err != nil {
		return result{}, err
	}
	after, err := e.meter(cluster)
	if err != nil {
		return result{}, err
	}
	r := result{wall: wall, waits: b.waits, evictions: b.evictions, user: e.user, peak: after.peak, cpu: map[string]time.Duration{}}
	for name, cpu := range after.cpu {
		r.cpu[name] = cpu - before.cpu[name]
	}
	r.writes = writesBetween(before.writes, after.writes)
	return r, nil
}

// meter is what the counters show at one time.
type meter struct {
	writes []clusters.WriteCount
	cpu    map[string]time.Duration
	peak   int64
}

func (e *runningController) meter(cluster *clusters.Cluster) (meter, error) {
	m := meter{cpu: map[string]time.Duration{}}
	var err error
	if m.writes, err = cluster.WriteCounts(); err != nil {
		return m, err
	}
	for _, pid := range append(cluster.PIDs(), os.Getpid(), e.pid) {
		if pid == 0 {
			continue
		}
		p, err := procfs.Read(pid)
		if err != nil {
			return m, err
		}
		switch pid {
		case os.Getpid():
			p.Name = "runner"
		case e.pid:
			p.Name, m.peak = programOwn, p.Peak
		}
		m.cpu[p.Name] += p.CPU
	}
	return m, nil
}

// createAll creates the objects, side by side. A controller's webhooks may not answer yet.
func createAll(ctx context.Context, cluster *clusters.Cluster, list []client.Object) error {
	c, err := installation.Client(cluster)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i, object := range list {
		create := func() error {
			var last error
			err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				last = c.Create(ctx, object)
				return last == nil || apierrors.IsAlreadyExists(last) || apierrors.IsInvalid(last) || apierrors.IsForbidden(last), nil
			})
			return errors.Join(err, client.IgnoreAlreadyExists(last))
		}
		if i == 0 { // the namespace
			if err := create(); err != nil {
				return fmt.Errorf("create the namespace: %w", err)
			}
			continue
		}
		group.Go(create)
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("create the queues: %w", err)
	}
	return nil
}
